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
	Find     string // the words searched for, "" for all studies
	Hides    bool   // there are archived ones, which are not shown
	Later    bool   // this is not the first page
	Next     string // mark after which the next page begins, "" at the end
	Start    Start  // for those who may make studies
}

// unlisted returns what to say where no study is listed: none, or that there are only archived ones.
func (p StudiesPage) unlisted(none, archived string) string {
	if p.Hides {
		return archived
	}
	return none
}

// findFrom is the number of studies from which the list can be searched.
const findFrom = 10

// Searched tells whether the page offers a search.
func (p StudiesPage) Searched() bool {
	return p.Find != "" || p.Later || p.Next != "" || len(p.Lines) >= findFrom
}

// From is the address of the page of the list that begins after mark, "" for the first.
func (p StudiesPage) From(mark string) string { return p.address("after", mark) }

// WithArchived is the address of the list with archived studies.
func (p StudiesPage) WithArchived() string { return p.address("archived", "yes") }

// address is that of the list as it is chosen, with one thing more.
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
	Best, Feasible  string   // "best 81.4 % at trial 17", "14 of 19 within every limit"
	FeasibleMark    string   // the mark beside the latter
	Limits          []string // "impurity ≤ 0.5 %"
	Simulated       bool
}

// TrialPage is the page of one trial.
type TrialPage struct {
	Page
	Study               StudyHead
	Card                Card
	State, Mark         string
	Excluded            bool
	Doubtful            *Doubtful
	Reason              string
	Facts               []Fact // the decision, number by number
	Model               Table
	Waiting             bool
	Ended               bool // failed or not run
	Closing             Form // a faulty attempt to close or exclude it
	History             []LedgerEntry
	Earlier             string // how many entries History leaves out
	Previous, Following int
	Key                 string // Idempotency-Key for a replicate
	NotAgain            string // why it cannot be repeated, "" where it can
	Saved               []Saved
}

// sent is what was sent to close or exclude the trial, for the form that sends one of these kinds,
// else an empty form.
func (p TrialPage) sent(kinds ...string) Form {
	if !slices.Contains(kinds, p.Closing.Value("kind")) {
		return Form{}
	}
	return p.Closing
}

// MetricFact is a reading with its prediction.
type MetricFact struct {
	Name, Value, Original, By, CorrectedBy string
	Predicted, Limit, Headroom             string // "" where there is none
	At                                     Stamp
	Broken                                 bool
}

// mark is that of the reading alone.
func (m MetricFact) mark() string {
	switch {
	case m.Headroom == "":
		return "unknown"
	case m.Broken:
		return "violated"
	}
	return "feasible"
}

// Fact is a named value with its meaning.
type Fact struct{ Name, Value, Meaning string }

// OwnPage is the form for settings of a person's own choice.
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

// Forecast is what is expected of a person's own settings before the trial is begun.
type Forecast struct {
	Metrics []ForecastLine
	Chance  string // to stay within every limit
	Shown   string // identifies the settings that it is for
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

// Consequences is the preview of a correction or another change.
type Consequences struct {
	Summary string
	Changes []BeforeAfter
	Doubts  Doubts
	Shown   string // identifies what was previewed
	Again   string // why it is shown again
}

// BeforeAfter is one thing that would change.
type BeforeAfter struct{ Name, Before, After string }

// ImportPage imports results from a spreadsheet.
type ImportPage struct {
	Page
	Study            StudyHead
	Form             Form
	Rows             Input
	How              []Input // how the rows are read
	Columns, Example string
	Faults           []FileFault
	Unknown          []string
	Ready            string // what would be imported
	Doubts           Doubts
	Found            []study.Finding
}

// Draft is the name under which the browser keeps what is typed in the form.
func (p ImportPage) Draft() string { return p.Study.ID + "/import" }

// UndoPage takes back what was written in one request.
type UndoPage struct {
	Page
	Study           StudyHead
	Event           int64
	By              string
	At              Stamp
	Entries, Trials string // "entries 12 to 203", "trials 25, 26, 27, 28 and 92 more"
	Form            Form
	Reason          Input
	Preview         *Consequences
}

// Draft is the name under which the browser keeps the reason.
func (p UndoPage) Draft() string { return p.Study.ID + "/undo/" + strconv.FormatInt(p.Event, 10) }

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

// PersonLine is a person in the list.
type PersonLine struct {
	account.Person
	Seen Stamp
	Self bool
	Gave string // the links and tokens of theirs that disabling them ends, in words
}

// InviteLine is an open invite.
type InviteLine struct {
	account.Link
	Expires Stamp
}

// TokenLine is a token in the list.
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
	PINs     []SessionLine // browsers in which the person can sign in by PIN
	ByPIN    bool          // the present session was begun by PIN
	Secret   *Secret
}

// SessionLine is one signed-in browser.
type SessionLine struct {
	ID, Device string
	Seen       Stamp
	This       bool
}

// SwitchPage lets another user of this browser sign in by PIN.
type SwitchPage struct {
	Page
	People     []SwitchLine
	To, Chosen string
}

// SwitchLine is a user of this browser.
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

// Start is what the list of studies offers beginners.
type Start struct {
	Key      string // Idempotency-Key of the demo
	Examples []Example
	Problems []Option // of the simulator
}

// Example is a template of a study, made from a problem of the simulator.
type Example struct{ Problem, Title, Text string }

// Lab is a study's simulated laboratory; Problem is empty where a real one measures.
type Lab struct {
	Study            StudyHead
	Problem, Summary string
	Noise            []string // standard deviation of the readings' noise, by metric
	Going            bool
	AtOnce           int    // trials of one run
	Text             string // how far the run is, or how it ended
	Fault            string
}

// openCards is how many cards of waiting trials stand open on a study's page, which says more below
// them. More are a plate, whose results come as a table.
const openCards = 8

// MostWells is how many trials a page asks for at once: a plate of the largest usual kind.
const MostWells = 384

// SheetPage is a trial on paper.
type SheetPage struct {
	Page
	Study   StudyHead
	Card    Card
	Lines   []SheetLine
	Used    []Setting // to be written down, in today's units, in which forms ask for them
	Address string    // of the trial's page
	Code    string    // the address as the path of a QR code, Size modules wide
	Size    int
	Printed string
}

// WaitingSheet is all waiting trials on paper, a row each.
type WaitingSheet struct {
	Page
	Study    StudyHead
	Trials   Trials
	Statuses string // of the trials, as exports name them
	Gone     string // trials that need not be run, in a sentence
	Printed  string
}

// SheetLine is a metric to be written down. Value is there, with a note, if it was saved already or
// is known beforehand.
type SheetLine struct{ Name, Unit, Limit, Value, Note string }

// Verdict is the answer of a study.
type Verdict struct {
	Heading   string
	None      string // why nothing is recommended, "" if something is
	Answer    *Answer
	Doubt     string  // why the answer may not hold, "" if nothing speaks against it
	Undecided *Answer // settings that look better but are not known to be within the limits
	More      string  // what would decide that for Undecided or, without it, for Answer
	Closest   *Answer // if no trial is within the limits, the one that breaks them least
	Lucky     *Lucky
	Limits    []LimitLine
	Risk      *Risk // granted for all limits together; nil if none was
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
	Brought  string // says in which context, if limits depend on a trial's context
	Works    *Value // chance that a trial works there; nil if none has failed because of its settings
	Words    string
}

// Value is a number as people read it, and for programs.
type Value struct{ Text, Raw string }

// Expected is what the model expects of a metric.
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

// LimitLine says how a limit stands.
type LimitLine struct {
	Name, Asks string
	Count      string // "broken in 2 of 19 trials"
	Before     string // its former thresholds, on paper
	Mark       string
	Violation  *Value // sum of the excesses; nil if there is none
	Largest    *Value // the largest excess; nil if it is the only one
	Risk       *Risk  // nil if none was granted
	Headroom   *Value // expected at the recommended settings
	Room       string // follows Headroom: "inside, as the model expects"
}

// Risk is the account of a granted risk: how many trials may break a limit, are expected to have
// done so, and have.
type Risk struct {
	Words                    string
	Allowed, Expected, SoFar Value
	Next                     string // why the next trial may take a smaller risk, "" if it may not
}

// Gain says how much better the study could still get.
type Gain struct {
	Best   *Range // what the best value may be, nil if that is unknown
	Words  string
	None   bool   // as far as is known there is nothing to use
	Enough bool   // the risk of stopping is within the target
	Later  string // address to fetch it from, if it takes long
}

// Range is an interval that holds a value with a probability.
type Range struct {
	Low, High   Value
	Of          string // what it holds
	Level, Unit string
}

// Board is the part of the reviewer's board that follows the slider and the study.
type Board struct {
	Study       StudyHead
	Description string
	Status      Status
	Work        Work
	Keeps       bool   // the sections drawn from the model stay until a newer model is there
	At, Last    int64  // ledger entry shown, and the last there is
	Past        bool   // the page stays at entry At
	Hash        string // of entry At
	Moment      Stamp
	Event       string // what happened in entry At
	Verified    Verified
	Verdict     Verdict
	Whole
	Amends Amends
}

// section has the attributes by which a section of the board fetches itself when the model is
// there, and survives a replacement of the board around it until then.
func (b Board) section(name string) templ.Attributes {
	attributes := withForm(name, b.awaits(name))
	if b.Keeps && name != "trials" {
		attributes["hx-preserve"] = "true"
	}
	return attributes
}

// moment is an address under the study at the entry shown.
func (b Board) moment(rest string) string {
	if b.Past {
		rest += "?at=" + strconv.FormatInt(b.At, 10)
	}
	return b.Study.URL(rest)
}

// awaits has the attributes by which an element fetches itself when the model is there.
func (b Board) awaits(name string) templ.Attributes {
	if b.Work.Part == "" {
		return templ.Attributes{}
	}
	return refreshed(b.moment("/board/"+name), "model-ready from:body, again")
}

// Verified is the result of the last verification.
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
	Going, Walked int64  // last entry of the verification under way, 0 for none, and the one reached
	Trouble       string // why the last one was not completed
	Head          string // present hash of the ledger's last entry
	Events        int64  // present number of entries
}

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
	More  string // how many earlier ones are left out, and where they are
}

// Amend is one thing changed, with what was there before.
type Amend struct {
	Number              int
	URL                 string
	What, Before, After string
	By, Reason          string
	At                  Stamp
}

// Report is a study in one file: the sections of its board, and its definition. It needs no script,
// no other file and no network.
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
	Offered     string // what was filled in for the reader, "" if nothing was
	Form        Form
	Draft       string // name under which the browser keeps the unfinished form
	Preview     *Consequences
	// The form, part by part.
	About, Stop, Algorithm, Model     []Input
	Parameters, Constraints, Recorded []FormLine
	Objective                         FormLine
	Candidates, Rules                 Input
	Reason                            Input    // of a change
	Lab                               []Input  // whether the simulated lab measures, if one could
	Ways                              []Option // kinds of experiment to choose from
	Why                               string   // why the chosen kind leads to the algorithm
	Asked                             []Input  // settings that the chosen kind needs
	Chosen                            Option   // the algorithm
	Summary, Source                   string   // of the algorithm
	Settings                          []SettingGroup
	Advanced                          bool // the fold is open
}

// The lists of the form, whose lines come and go.
const Parameters, Constraints, Recorded = "parameters", "constraints", "recorded_metrics"

// FormLine is one parameter or metric of the form.
type FormLine struct {
	List       string // the list that it is a line of
	Number     int    // part of its fields' names
	Kind, Name string
	Class      string   // of Kind and Name, where they cannot be changed
	Fixed      []string // fields that cannot be changed
	Inputs     []Input
	Plausible  []Input // folded away: the range of values that need no confirmation
	Calculated []Input // folded away: the formula of a limit
	Scale      Scale
}

// Scale is advice on a parameter's scale; it is zero if there is none.
type Scale struct {
	Says  string
	Offer string // the other scale: log or linear
	Label string // of the button that takes it
}

// SettingGroup is one setting of the algorithm with its inputs.
type SettingGroup struct {
	Title, Meaning string
	Inputs         []Input
}

func (l FormLine) id() string { return l.List + "." + strconv.Itoa(l.Number) }
