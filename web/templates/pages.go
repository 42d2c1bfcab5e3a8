package templates

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"headroom/internal/account"
	"headroom/internal/study"
)

// StudiesPage lists the studies.
type StudiesPage struct {
	Page
	Lines    []StudyLine
	Archived bool   // archived ones are shown too
	Find     string // what somebody looks for; "" for all
	Hides    bool   // there are archived ones, which are not shown
	Later    bool   // this is not the first page
	Next     string // where the next page goes on; "" at the end
	Start    Start  // for those who may make studies
}

// findFrom is from how many studies on the list can be searched.
const findFrom = 10

// Searched tells whether the page offers to look for a study.
func (p StudiesPage) Searched() bool {
	return p.Find != "" || p.Later || p.Next != "" || len(p.Lines) >= findFrom
}

// From is the address of the page of the list that goes on at mark, "" for the first.
func (p StudiesPage) From(mark string) string { return p.address("after", mark) }

// WithArchived is the address of the list with those that are archived.
func (p StudiesPage) WithArchived() string { return p.address("archived", "yes") }

// address is that of the list, with what is chosen of it and one thing more.
func (p StudiesPage) address(name, value string) string {
	values := url.Values{name: {value}, "find": {p.Find}}
	if p.Archived {
		values.Set("archived", "yes")
	}
	maps.DeleteFunc(values, func(_ string, v []string) bool { return v[0] == "" })
	return "/studies?" + values.Encode()
}

// StudyLine is one study of the list.
type StudyLine struct {
	ID, Name, State string
	Trials, Waiting string
	Oldest          Stamp
	Algorithm       string
	Updated         Stamp
	Best, Feasible  string   // "best 81.4 % at trial 17", "feasible 14 of 19"
	FeasibleMark    string   // the mark beside the latter
	Limits          []string // "impurity ≤ 0.5 %"
	Simulated       bool
}

// TrialPage is one trial with everything behind it.
type TrialPage struct {
	Page
	Study               StudyHead
	Card                Card
	State, Mark         string
	Excluded            bool
	Doubtful            *Doubtful
	Reason              string
	Metrics             []MetricFact
	Facts               []Fact // the decision, number by number
	Model               Table
	Waiting             bool
	Ended               bool // failed or not run
	Closing             Form // what was typed to end it or set it aside, when something was wrong with it
	History             []LedgerEntry
	Earlier             string // what History leaves out
	Previous, Following int
	Key                 string // Idempotency-Key for a replicate
	NotAgain            string // why it cannot be repeated, "" where it can
	Saved               []Saved
}

// sent is what was sent to end the trial or set it aside, for the form that sends these kinds; others
// do not have it.
func (p TrialPage) sent(kinds ...string) Form {
	if !slices.Contains(kinds, p.Closing.Value("kind")) {
		return Form{}
	}
	return p.Closing
}

// MetricFact is one reading with what was predicted for it.
type MetricFact struct {
	Name, Value, Original, Limit, Headroom, Predicted, By, CorrectedBy string
	At                                                                 Stamp
	Broken                                                             bool
}

// Fact is a named number with what it means.
type Fact struct{ Name, Value, Meaning string }

// OwnPage is a person's own point.
type OwnPage struct {
	Page
	Study                      StudyHead
	Form                       Form
	Settings, Metrics, Context []Input
	Note                       Input
	Key                        string
	Forecast                   *Forecast
	Doubts                     Doubts
}

// Forecast is what is expected of a person's own point before it is begun.
type Forecast struct {
	Metrics []ForecastLine
	Chance  string // to stay within every limit
	Shown   string // names what it was made for
}

// ForecastLine is what is expected of one metric.
type ForecastLine struct{ Name, Reading, Limit string }

// CorrectPage corrects a trial.
type CorrectPage struct {
	Page
	Study             StudyHead
	Number            int
	Form              Form
	Metrics, Settings []Input
	Reason            Input
	Preview           *Consequences
}

// Consequences is what a correction would change.
type Consequences struct {
	Summary string
	Changes []BeforeAfter
	Doubts  Doubts
	Shown   string // names what was previewed
	Again   string // why it is shown once more
}

// BeforeAfter is one thing that would change.
type BeforeAfter struct{ Name, Before, After string }

// ImportPage brings results in from a spreadsheet.
type ImportPage struct {
	Page
	Study            StudyHead
	Form             Form
	Rows, Ignore     Input // the field of the rows, and whether columns that belong to nothing are left out
	Columns, Example string
	Faults           []FileFault
	Unknown          []string
	Ready            string // what would be imported
	Doubts           Doubts
	Found            []study.Finding
}

// Draft is the name of what is typed in it.
func (p ImportPage) Draft() string { return p.Study.ID + "/import" }

// FileFault is one thing wrong with a file.
type FileFault struct{ Where, What, Value string }

// PeoplePage is for admins: people, invites and tokens.
type PeoplePage struct {
	Page
	People        []PersonLine
	Invites       []InviteLine
	Tokens        []TokenLine
	Roles         []Option
	Invite, Token Form
	Secret        *Secret
}

// Secret is shown once.
type Secret struct{ Title, Text, Help string }

// PersonLine is one person.
type PersonLine struct {
	account.Person
	Seen Stamp
	Self bool
	Gave string // what they gave out and disabling them ends, in words
}

// InviteLine is one invite that is open.
type InviteLine struct {
	account.Link
	Expires Stamp
}

// TokenLine is one token.
type TokenLine struct {
	account.Token
	Study   string
	Used    Stamp
	Expires string
}

// SharesPage manages the read-only links to one study.
type SharesPage struct {
	Page
	Study  StudyHead
	Shares []ShareLine
	Form   Form
	Secret *Secret
}

// ShareLine is one read-only link.
type ShareLine struct {
	account.Share
	Expires, Used Stamp
}

// AccountPage shows a person their devices.
type AccountPage struct {
	Page
	Sessions []SessionLine
	PINs     []SessionLine // where a PIN brings the person back
	ByPIN    bool          // so did it here
	Secret   *Secret
}

// SessionLine is one signed-in browser.
type SessionLine struct {
	ID, Device string
	Seen       Stamp
	This       bool
}

// SwitchPage lets somebody else who uses this browser come back.
type SwitchPage struct {
	Page
	People     []SwitchLine
	To, Chosen string
}

// SwitchLine is somebody who uses this browser.
type SwitchLine struct {
	ID, Name, Initials string
	Now, Locked        bool // is signed in, has tried too many wrong PINs
}

// LinkPage asks before a single-use link is used up.
type LinkPage struct {
	Page
	Heading, Text, Button, Action string
	Usable                        bool
	Secure                        string // where the link has to be opened instead
}

// ProblemPage is an error.
type ProblemPage struct {
	Page
	Heading, Detail string
	Faults          []string
	Back, BackText  string
}

// Start is what the list of studies offers to begin with.
type Start struct {
	Key      string // Idempotency-Key of the demo
	Examples []Example
	Problems []Option // of the simulator
}

// Example is a template of a study, made of a problem of the simulator.
type Example struct{ Problem, Title, Text string }

// Lab is a study's simulated laboratory; Problem is empty where a real one measures.
type Lab struct {
	Study            StudyHead
	Problem, Summary string
	Noise            []string // what a reading adds, by metric
	Going            bool
	AtOnce           int    // trials that it runs when asked
	Text             string // how far it is, or how it ended
	Fault            string
}

// SheetPage is a trial on paper.
type SheetPage struct {
	Page
	Study   StudyHead
	Card    Card
	Lines   []SheetLine
	Address string // of the trial's page
	Code    string // the address as the path of a QR code, Size modules wide
	Size    int
	Printed string
}

// SheetLine is a metric to be written down; Value is there, with a note on it, when it was saved
// already or is known beforehand.
type SheetLine struct{ Name, Unit, Limit, Value, Note string }

// Verdict is the answer of a study, above everything else.
type Verdict struct {
	Heading string
	// None says why nothing is recommended, "" when something is.
	None      string
	Answer    *Answer
	Doubt     string  // why the answer may not hold any more, "" where nothing speaks against it
	Undecided *Answer // looks better, and is not known to be within the limits
	More      string  // what would tell of these, or of the answer where there are none; "" where that is known to be
	Closest   *Answer // nothing is within the limits: the point that breaks them least, as it was read
	Lucky     *Lucky
	Limits    []LimitLine
	Risk      *Risk // of all limits together; nil where none was asked for
	Gain      Gain
	Next      string
}

// Answer is settings with what is expected of them.
type Answer struct {
	Number   int
	URL      string
	Settings []Setting
	Copy     string
	Expected []Expected
	Chance   *Value // to be within every limit; nil without limits
	Brought  string // what that chance is said with, where limits depend on what a trial brings
	Works    *Value // the chance that a trial works there; nil while none has failed because of its settings
	Words    string
}

// Value is a number as people read it, with the number itself for programs.
type Value struct{ Text, Raw string }

// Expected is what the model expects of one metric at some settings.
type Expected struct {
	Metric, Unit    string
	Mean, ReadingSD Value
	Low, High       Value // of the band
}

// Lucky is the best single reading, which may owe much to luck.
type Lucky struct {
	Number    int
	URL, What string
	Value     Value
}

// LimitLine is how one limit stands.
type LimitLine struct {
	Name, Asks string
	Count      string // "broken in 2 of 19 trials"
	Before     string // how it stood, on paper
	Mark       string
	Violation  *Value // sum of excesses; nil while there is none
	Largest    *Value // excess; nil where it is the sum
	Risk       *Risk  // nil where none was asked for
	Headroom   *Value // of the recommended settings, as expected
	Room       string // "0.06 % inside", in words
}

// Risk is the account of the risk that was asked for: trials that may be beyond, are to be expected
// there, and are.
type Risk struct {
	Words                    string
	Allowed, Expected, SoFar Value
	Next                     string // why the next trial may take less, "" where it does not
}

// Gain is how much better it could still get.
type Gain struct {
	Best  *Range // what the best value may be, nil where it cannot be said
	Words string
	// Enough tells that the risk of stopping is within the target.
	Enough bool
	Later  string // address to fetch it from, when it takes long
}

// Range is an interval that holds a value with a probability.
type Range struct {
	Low, High   Value
	Of          string // what lies there
	Level, Unit string
}

// Board is what of the board follows the slider and the study.
type Board struct {
	Study       StudyHead
	Description string
	Status      Status
	Work        Work
	Keeps       bool   // what the page shows of the model stays until a newer one is there
	At, Last    int64  // ledger entries
	Past        bool   // it stays at At
	Hash        string // of entry At
	Moment      Stamp
	Event       string // what event At was
	Verified    Verified
	Verdict     Verdict
	Whole
	Amends Amends
}

// section lets a section of the board fetch itself when the model is there, and stay as it is when
// the board around it is put in place, where what it shows of the model is to stay until then.
func (b Board) section(name string) templ.Attributes {
	attributes := withForm(name, b.awaits(name))
	if b.Keeps && name != "trials" {
		attributes["hx-preserve"] = "true"
	}
	return attributes
}

// moment is an address under the study as it was at the moment shown.
func (b Board) moment(rest string) string {
	if b.Past {
		rest += "?at=" + strconv.FormatInt(b.At, 10)
	}
	return b.Study.URL(rest)
}

// awaits lets an element fetch itself when the model is there.
func (b Board) awaits(name string) templ.Attributes {
	if b.Work.Part == "" {
		return templ.Attributes{}
	}
	return refreshed(b.moment("/board/"+name), "model-ready from:body, again")
}

// Verified is the outcome of the last verification.
type Verified struct {
	Study         StudyHead
	Known         bool
	OK            bool
	Partly        bool // some decisions could not be replayed
	At            Stamp
	Text          string
	Hash          string // of the last entry verified
	Since         string // how many entries have been added since
	Different     []string
	Going, Walked int64  // a verification up to entry Going is under way and at Walked; 0 for none
	Trouble       string // why the last one came to no outcome
	Head          string // hash of the ledger's last entry now
	Events        int64  // entries now
}

// outcome is that in short.
func (v Verified) outcome() string {
	switch {
	case !v.OK:
		return "does not verify ✗"
	case v.Partly:
		return "verified in part"
	}
	return "verified"
}

// Amends are what was changed afterwards.
type Amends struct {
	Lines []Amend
	More  string // how many earlier ones are not shown, and where they are
}

// Amend is one thing changed, with what was there before.
type Amend struct {
	Number              int
	URL                 string
	What, Before, After string
	By, Reason          string
	At                  Stamp
}

// Report is a study in one file: the sections of its board, and how it is defined. Nothing in it
// needs a script, another file or a network.
type Report struct {
	Board
	Parameters Table
	Facts      []Fact
	Made, For  string // when the report was made, and for whom
}

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
	About, Stop, Algorithm, Model     []Input
	Parameters, Constraints, Recorded []FormLine
	Objective                         FormLine
	Candidates, Rules                 Input
	Reason                            Input    // of a change
	Lab                               []Input  // who measures, where a simulated lab could
	Ways                              []Option // answers to how the experiment goes
	Why                               string   // the present answer leads to this algorithm
	Asked                             []Input  // settings that the present answer asks for
	Chosen                            Option   // the algorithm
	Summary, Source                   string   // of it
	Settings                          []SettingGroup
	Advanced                          bool // the fold is open
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
	Title, Meaning string
	Inputs         []Input
}

func (l FormLine) id() string { return l.List + "." + strconv.Itoa(l.Number) }
