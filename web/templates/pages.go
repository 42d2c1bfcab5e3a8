package templates

import (
	"net/url"

	"github.com/a-h/templ"

	"headroom/internal/account"
	"headroom/internal/study"
)

// StudiesPage lists the studies.
type StudiesPage struct {
	Page
	Lines    []StudyLine
	Archived bool   // archived ones are shown too
	Hides    bool   // there are archived ones, which are not shown
	Later    bool   // this is not the first page
	Next     string // where the next page goes on; "" at the end
	Start    Start  // for those who may make studies
}

// From is the address of the page of the list that goes on at mark, "" for the first.
func (p StudiesPage) From(mark string) templ.SafeURL {
	values := url.Values{}
	if p.Archived {
		values.Set("archived", "yes")
	}
	if mark != "" {
		values.Set("after", mark)
	}
	return templ.SafeURL("/studies?" + values.Encode())
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
	Study     StudyHead
	Card      Card
	State     string
	Mark      string
	Excluded  bool
	Doubtful  *Doubtful
	Reason    string
	Metrics   []MetricFact
	Facts     []Fact // the decision, number by number
	Model     Table
	Waiting   bool
	Ended     bool // failed or not run
	Closing   Form // what was typed to end it or set it aside, when something was wrong with it
	History   []LedgerEntry
	Earlier   string // what History leaves out
	Previous  int
	Following int
	Key       string // Idempotency-Key for a replicate
	Saved     []Saved
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
	Study    StudyHead
	Form     Form
	Settings []Input
	Metrics  []Input
	Context  []Input
	Note     Input
	Key      string
	Forecast *Forecast
	Doubts   Doubts
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
	Study    StudyHead
	Number   int
	Form     Form
	Metrics  []Input
	Settings []Input
	Reason   Input
	Preview  *Consequences
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
	Study   StudyHead
	Form    Form
	Rows    Input // the field of the rows
	Ignore  Input
	Columns string
	Example string
	Faults  []FileFault
	Unknown []string
	Ready   string // what would be imported
	Doubts  Doubts
	Found   []study.Finding
}

// Draft is the name of what is typed in it.
func (p ImportPage) Draft() string { return p.Study.ID + "/import" }

// FileFault is one thing wrong with a file.
type FileFault struct{ Where, What, Value string }

// PeoplePage is for admins: people, invites and tokens.
type PeoplePage struct {
	Page
	People  []PersonLine
	Invites []InviteLine
	Tokens  []TokenLine
	Roles   []Option
	Invite  Form
	Token   Form
	Secret  *Secret
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
}

// ProblemPage is an error.
type ProblemPage struct {
	Page
	Heading  string
	Detail   string
	Faults   []string
	Back     string
	BackText string
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
