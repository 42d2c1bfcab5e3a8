package templates

import "strconv"

// DefinePage makes a study or reconfigures one.
type DefinePage struct {
	Page
	Study       StudyHead // zero for a new study
	Reconfigure bool
	Offered     string // what was filled in for the reader, "" when nothing was
	Form        Form
	Parameters  []string // the types of the rows
	Scales      []Scale  // what is to be said of the scales of the rows
	Constraints []string // "learned", "known" or "sampled" for each row
	Recorded    int
	Algorithms  []Option
	Summary     string // of the chosen algorithm
	Source      string
	Settings    []SettingGroup
	Kernels     []Option
	Advanced    bool // the fold is open
	Key         string
	Preview     *Consequences // of a change
	Draft       string        // what the browser calls its copy of the unfinished form
	Ways        []Option      // answers to how the experiment goes
	Why         string        // the present answer leads to this algorithm
	Asked       []Input       // settings that the present answer asks for
	Labs        []Option      // who measures, where a simulated lab could
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
	Name    string
	Title   string
	Meaning string
	Inputs  []Input
}

func rowName(list string, row int, field string) string {
	return list + "." + strconv.Itoa(row) + "." + field
}
