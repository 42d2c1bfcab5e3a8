// Package templates draws the pages: templ components and the view models they take. View models
// hold text that is ready to be read; the handlers in package pages fill them in.
package templates

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"headroom/internal/account"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
)

// Page is what every page needs around its content.
type Page struct {
	Title  string
	Viewer account.Identity // who looks at the page, nobody in particular when not signed in
	Now    time.Time
	Width  string // "narrow", "medium" or "" for all there is
	Live   Live
	Switch string // where somebody else who uses this browser comes back by PIN
	Charts bool   // the page draws charts
	Error  string // what went wrong with the last thing done, for a notice on top
	Done   string // what has just been done
}

// person names whose forms the page has, "" when not signed in.
func (p Page) person() string {
	if p.Viewer.Name == "" {
		return ""
	}
	return p.Viewer.Caller()
}

// hasSession tells whether the viewer has one that can be ended.
func (p Page) hasSession() bool { return p.Viewer.Kind == account.BySession }

// Live is the stream a page listens to.
type Live struct {
	URL     string
	Version int64
}

// Form is what a person typed, and what is wrong with it by field name.
type Form struct {
	Inputs []Input // its fields; none where the page has them part by part
	Values url.Values
	Errors map[string]string
	// Meant are, by field, the buttons that say which of two readings of a number is meant.
	Meant map[string][]Option
	// First is the name of the first faulty field, or else of what was asked for, which gets the focus.
	First string
	// General is what is wrong with the whole.
	General string
	// Sent tells that the page holds what was sent.
	Sent bool
}

// Value returns the text typed into a field.
func (f Form) Value(name string) string { return f.Values.Get(name) }

// Fault returns what is wrong with a field, "" when nothing is.
func (f Form) Fault(name string) string { return f.Errors[name] }

// Like is what was typed into a form with the fields of another.
func (f Form) Like(other Form) Form {
	f.Inputs = other.Inputs
	return f
}

// AnyFault tells whether something is wrong with one of the fields.
func (f Form) AnyFault(inputs []Input) bool {
	return slices.ContainsFunc(inputs, func(in Input) bool { return f.Fault(in.Name) != "" })
}

// Touched tells whether something is typed into one of the fields, or wrong with it.
func (f Form) Touched(inputs []Input) bool {
	return f.AnyFault(inputs) || slices.ContainsFunc(inputs, func(in Input) bool { return f.Value(in.Name) != "" })
}

// Faulty tells whether anything is wrong.
func (f Form) Faulty() bool { return len(f.Errors) > 0 || f.General != "" }

// Option is one choice of a list.
type Option struct{ Value, Label string }

// Input is one field of a form.
type Input struct {
	Name               string
	Of                 string // begins the id, where several forms of a page have fields of that name
	Label, Help, Unit  string
	Kind               string // "text" (default), "number", "result" of an entry form, "area", "select", "check", "date"
	Options            []Option
	Placeholder, Class string
	Required           bool
	Refreshes          bool // changing it redraws the form, since other fields depend on it
	Optional           bool // a result that is kept, and not waited for
	Signed             bool // may be below 0: of decimals, some phones have no minus
	Uncertain          bool // may have a ± with it, which such phones have not either
}

// helpClass lets limits stand out where results are entered.
func (i Input) helpClass() string {
	if i.Kind == "result" && !i.Optional {
		return "limit"
	}
	return "help"
}

// ID is the input's id in the page.
func (i Input) ID() string {
	return i.Of + "f-" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, i.Name)
}

// Stamp is a moment, as it reads now and exactly.
type Stamp struct{ Ago, Exact, ISO string }

// Table is a table with everything in it already text.
type Table struct {
	Head []Column
	Rows [][]string
}

// Column is a table's column, of buttons where it has no name.
type Column struct {
	Name, Unit string
	Number     bool
}

func worded(names ...string) []Column {
	return lists.Map(names, func(name string) Column { return Column{Name: name} })
}

// Chart is one chart: what is drawn, the sentence under it, and the table behind it.
type Chart struct {
	ID             string
	Title, Caption string
	Notes          []string // further sentences of the caption
	Beside         bool     // the caption stands beside the plot where there is room
	Drawing        chart.Drawing
	Table          Table
	Later          string // address of the table, when it is fetched once somebody opens it
	Paper          bool   // it stands in a file, where nothing can be unfolded or saved
	Printed        bool   // the table stands below it there
}

// longestWhole is how long a word in a table may be so that it is never broken: more, and a sheet
// of paper could be too narrow for it.
const longestWhole = 12

// cell is the class of a cell of a table: a number, or words so long that they may be broken.
func cell(number bool, text string) templ.Attributes {
	var classes []string
	if number {
		classes = append(classes, "number")
	}
	if slices.ContainsFunc(strings.Fields(text), func(word string) bool { return utf8.RuneCountInString(word) > longestWhole }) {
		classes = append(classes, "long")
	}
	if classes == nil {
		return nil
	}
	return templ.Attributes{"class": strings.Join(classes, " ")}
}

// StudyHead names the study a page is about.
type StudyHead struct {
	ID, Name string
	State    ledger.State
	Operates bool // the viewer may ask, tell and correct
	Shares   bool // the viewer may make read-only links
	Clones   bool // the viewer may make studies
}

// URL is an address under the study.
func (h StudyHead) URL(rest string) string { return "/studies/" + h.ID + rest }

// TrialURL is an address under a trial of the study.
func (h StudyHead) TrialURL(number int, rest string) string {
	return h.URL("/trials/" + strconv.Itoa(number) + rest)
}

// StudyPage is the study page.
type StudyPage struct {
	Page
	Study       StudyHead
	Description string // HTML made from Markdown, safe
	Status      Status
	Lab         Lab
	Verdict     Verdict
	Next        Next
	Work        Work
	Whole       *Whole  // everything below, where it is asked for at once
	Later       []Later // what is fetched when it is seen
}

// Work is how the work on a long study's model stands; nothing is said of a study that is not long.
type Work struct {
	Part    string // where the page asks whether the model is there
	Follows bool   // it is asked again whenever the study changes
	Going   bool   // the model is being worked out: what waits for it is fetched when it is there
	Words   string
	Whole   string // the page that waits for everything
}

func (w Work) trigger() string {
	var when []string
	if w.Follows {
		when = append(when, "changed from:body")
	}
	if w.Going {
		when = append(when, "every 1s")
	}
	return strings.Join(when, ", ")
}

// Whole is what lies below the next trial, on a study's page as on its board.
type Whole struct {
	Progress Progress
	Beliefs  Beliefs
	Trials   Trials
	Ledger   Ledger
}

// Later is a section that is fetched when it is seen.
type Later struct {
	Name, Title string
	Query       url.Values // what to show of it, as the page was asked
}

// Status is the strip on top.
type Status struct {
	Study        StudyHead
	Trial        string          // "trial 23 of 60"
	Waiting      string          // "4 waiting"
	Oldest       Stamp           // of the waiting ones
	Feasible     string          // "14 of 19 within every limit"
	Notes        []string        // what a reader has to know of the figures
	Found        []study.Finding // scales that keep the study from doing as well as it could
	Doubtful     []Doubtful
	MoreDoubtful string
	Still        bool // the page does not follow changes
	Version      int64
	Ledger       string // where it stands, for paper
}

// Doubtful is a trial of which something looks odd, and nobody has confirmed it.
type Doubtful struct {
	Number   int
	URL      string
	Means    string // what its being in doubt does
	Says     []string
	Reason   string // for excluding it
	Sure     string // for confirming what is said
	Operates bool
}

// Next is what to do next.
type Next struct {
	Study     StudyHead
	Cards     []Card
	More      string // that waiting trials have no card
	Any       bool   // there are trials at all
	Idle      string // how the trials ended, where none waits
	First     int    // trials of the first design, while there are none
	AskKey    string
	AskID     string // of what is typed to ask: another once the viewer has asked, or something else is to be typed
	Ask       Form
	Context   []Input // values a known limit needs with each ask
	Candidate bool    // constraint values for each candidate are needed, so asking goes through the API
	Nothing   bool    // nothing within the limits is known yet, though trials were made
	Saved     []Saved // by the viewer, in the last minute
	Kept      string  // of what the viewer has typed, where it has no place
}

// asks tells whether the viewer can ask for trials here.
func (n Next) asks() bool {
	return n.Study.Operates && n.Study.State == ledger.Open && !n.Candidate
}

// Setting is one setting of a trial as the bench needs it.
type Setting struct {
	Name, Value, Unit string
	Was               string // as chosen, when the settings used were different
}

// IsLong tells of a choice whose name is more than a word or two, and need not be read from afar.
func (s Setting) IsLong() bool { return utf8.RuneCountInString(s.Value) > 28 }

// long tells of a unit that may stand below its number where both have no room in a line.
func long(unit string) bool { return utf8.RuneCountInString(unit) > 8 }

// mostInColumn is how many letters without a place to break fit a column of settings.
const mostInColumn = 8

// fitColumns tells whether settings can stand in columns without a number or a word broken.
func fitColumns(settings []Setting) bool {
	return !slices.ContainsFunc(settings, func(s Setting) bool {
		return s.IsLong() || slices.ContainsFunc(strings.Split(s.Value, " "), func(word string) bool { return utf8.RuneCountInString(word) > mostInColumn })
	})
}

// Card is one waiting trial.
type Card struct {
	Study               StudyHead
	Number, ReplicateOf int
	Origin, By, Note    string
	Held                string // such as “, with temperature held”
	Created             Stamp
	Settings            []Setting
	Copy                string // the settings as tab-separated text
	Why                 string
	Since               string // what holds no more of that
	Told                []ToldValue
	Entry               Entry
	Ended               *Ended // when it waits no more, and is shown for what was typed in it
}

// Ended is how a trial came to wait no more.
type Ended struct {
	Mark  string
	Words string // "Completed by Ana", "Failed: column broke"
	At    Stamp
}

// ToldValue is a reading that is there.
type ToldValue struct {
	Name, Value, Mark string
	Original          string // the first value told, when corrected
}

// Entry is the form in which results are typed.
type Entry struct {
	ID     string // changes when what is asked for changes, so that a half-typed form is kept otherwise
	Keep   bool   // let a refresh keep the form that is in the page
	Form   Form
	Key    string // Idempotency-Key of this saving
	Fields []Input
	Used   []Input // settings actually used
	Other  bool    // than those of the trial stand there
	Done   bool    // the trial is completed: other settings are corrections by now
	Doubts Doubts  // values that look wrong; saving asks once more
	// Meanwhile are results that are saved already, beside what was typed for them.
	Meanwhile []Meanwhile
}

// Meanwhile is a result that somebody saved while another was being typed, "" where none was.
type Meanwhile struct {
	Field, Name, Theirs, By, Mine string
	Saved                         string // as a plain number, when it was the viewer who saved it
	At                            Stamp
}

// WasOf names the field for what another one was filled in with: as that says, nobody typed it.
func WasOf(field string) string { return "was." + field }

// mineOf names the field for what was typed for a result that is saved already.
func mineOf(field string) string { return "mine." + field }

// Saved is a result that was saved just now and can be undone.
type Saved struct {
	Number int
	Text   string // what was saved
	Left   int    // seconds in which it can be undone
	Key    string
}

// Doubt is a value that does not look right.
type Doubt struct{ Field, Text string }

// Doubts are shown together; Sure is what the button that confirms them sends.
type Doubts struct {
	List []Doubt
	Sure string
}

// label is what a button that goes on says: anyway where something is doubted, else plain.
func (d Doubts) label(anyway, plain string) string {
	if len(d.List) > 0 {
		return anyway
	}
	return plain
}

// First is the field to look at first, "" if none of them has one.
func (d Doubts) First() string {
	return cmp.Or(lists.Map(d.List, func(doubt Doubt) string { return doubt.Field })...)
}

// Progress is "how well".
type Progress struct {
	Empty string // what will appear, when there is nothing yet
	Chart Chart
	// Where there are many limits, the chart of those that matter less, and which they are.
	More       *Chart
	MoreLimits string
}

// Beliefs is "what the model believes".
type Beliefs struct {
	Empty               string
	Through             string // which point the slices pass through
	Slices, Map, Prices *Chart // the last of moving limits
	Trust               Trust
	Others              []Fact // what other algorithms would do next
	OthersPart          string // address that adds them
	Form                Form
	Set                 bool // somebody chose what is shown
	Pins                []Input
	Axes                [2]Input
	Metric              Input
	At                  int64
	Action              string // of the form that chooses what is drawn, "" where nothing can be chosen
	Part                string // address of the part alone, "" when the whole page has to be fetched
}

// Trust is how far the model's bands can be trusted, and whether the process has drifted.
type Trust struct {
	Summary      string
	Open         bool // something asks for a look
	Calibrations []string
	Drifts       []Drift
	Chart        *Chart
	Theorem      *Theorem // nil where no bound is drawn
}

// Drift is what a metric's residuals say of a drift.
type Drift struct {
	Text  string
	Offer string // address of the form that offers an algorithm which forgets, "" when there is no reason
}

// Theorem is what bounds on violation and regret rest on.
type Theorem struct {
	Summary     string
	Source      string   // number, paper, year
	Said        []string // what it bounds, the figures and what they are worth, and how far they fall short of the theorem
	Assumptions Table
}

// Trials is the trials table.
type Trials struct {
	Filters           []Filter
	Settings, Metrics []Column
	Rows              []TrialRow
	Older, Newer      Filter // the next page, and the first; the URL is "" at that end
	Show              string // the filter in force
	Below             int
	Shown             string // "1–50 of 312"
	Note              string // what the numbers' ± is, where some have one
	Total             int
	Paper             bool // in a file: nothing can be chosen
	Folded            bool // all settings stand in one column and all readings in another, as on narrow paper
}

func (t Trials) columns() []Column {
	columns := []Column{{Name: "No.", Number: true}, {Name: "Result"}}
	if t.Folded {
		columns = append(columns, worded("Settings", "Readings")...)
	} else {
		columns = slices.Concat(columns, t.Settings, t.Metrics)
	}
	if columns = append(columns, Column{Name: "Note"}); !t.Paper {
		columns = append(columns, Column{Name: "When"})
	}
	return columns
}

// Filter is one choice of what to list.
type Filter struct {
	Label, URL string
	Part       string // address of the part alone, "" when the whole page has to be fetched
	Current    bool
}

// TrialRow is one line of the table.
type TrialRow struct {
	Number                int
	URL, Mark             string
	State                 string // in words
	Excluded, Recommended bool
	Settings, Metrics     []Cell
	Note                  string
	When                  Stamp
}

// Cell is a value in a table, with the one it replaced.
type Cell struct {
	Text, Was string
	Chosen    string // the setting that was chosen, where another was used
	Broken    bool   // outside a limit
	Missing   bool
}

// Ledger is what happened, in plain words.
type Ledger struct {
	Entries []LedgerEntry
	Older   Filter
	Paper   bool   // in a file: each entry says its number and hash
	Note    string // how many others there are, in a file
}

// LedgerEntry is one event.
type LedgerEntry struct {
	Seq                    int64
	At                     Stamp
	By, Text, Reason, Hash string
}

// Sentence is what was done, with a colon where the reason follows.
func (e LedgerEntry) Sentence() string {
	if e.Reason == "" {
		return e.Text
	}
	return e.Text + ":"
}
