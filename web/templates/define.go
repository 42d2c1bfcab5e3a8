package templates

import "strconv"

// DefinePage makes a study or reconfigures one.
type DefinePage struct {
	Page
	Study       StudyHead // zero for a new study
	Reconfigure bool
	Offered     string // what was filled in for the reader, "" when nothing was
	Form        Form
	Draft       string // what the browser calls its copy of the unfinished form
	Preview     *Consequences
	// The form, part by part.
	About       []Input
	Parameters  []FormLine
	Candidates  Input
	Objective   FormLine
	Stop        []Input
	Constraints []FormLine
	Recorded    []FormLine
	Lab         []Input  // who measures, where a simulated lab could
	Ways        []Option // answers to how the experiment goes
	Why         string   // the present answer leads to this algorithm
	Asked       []Input  // settings that the present answer asks for
	Chosen      Option   // the algorithm
	Summary     string   // of it
	Source      string
	Advanced    bool // the fold is open
	Algorithm   []Input
	Settings    []SettingGroup
	Model       []Input
	Rules       Input
	Reason      Input // of a change
}

// The lists of the form, whose lines come and go.
const Parameters, Constraints, Recorded = "parameters", "constraints", "recorded_metrics"

// FormLine is a line of a form.
type FormLine struct {
	List       string // that it is a line of
	Number     int    // by which its fields are named
	Kind, Name string
	Class      string   // of what is said of it where it cannot be changed
	Fixed      []string // fields that cannot be changed
	Inputs     []Input
	Plausible  []Input // folded away: the ends between which a metric's values need no second look
	Calculated []Input // folded away: where a limit is calculated
	Scale      Scale   // what is to be said of the scale
}

// Scale says on which scale a number should be, and offers another than it is on; zero where
// nothing is to be said.
type Scale struct {
	Says  string
	Offer string // log or linear
	Label string // of the button
}

// SettingGroup is one setting of the algorithm with its inputs.
type SettingGroup struct {
	Title   string
	Meaning string
	Inputs  []Input
}

func (l FormLine) id() string { return l.List + "." + strconv.Itoa(l.Number) }
