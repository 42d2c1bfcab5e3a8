// Package templates draws the pages: templ components, and the view models that they take. View
// models hold finished text; packages view and http/pages fill them in.
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
	Viewer account.Identity // who looks at the page, without a name when nobody is signed in
	Now    time.Time
	Width  string // "narrow", "medium", or "" for the whole window
	Live   Live
	Switch string // address at which another user of this browser signs in by PIN
	Charts bool   // the page has charts
	Error  string // of the last action, for a notice at the top
	Done   string // by the last action, likewise
	Undo   string // the page that takes that back, "" if it is not offered
}

// person identifies the owner of what is typed in the page's forms, "" when nobody is signed in.
func (p Page) person() string {
	if p.Viewer.Name == "" {
		return ""
	}
	return p.Viewer.Caller()
}

func (p Page) hasSession() bool { return p.Viewer.Kind == account.BySession }

// Live is the stream that a page listens to.
type Live struct {
	URL     string
	Version int64
}

// Form is what a person typed, and what is wrong with it by field name.
type Form struct {
	Inputs  []Input // empty if the page draws them in several parts
	Values  url.Values
	Errors  map[string]string
	Meant   map[string][]Option // buttons that say which of two readings of a number is meant
	First   string              // field or button that gets the focus: the first fault, else what was asked for
	General string              // what is wrong with the whole form
	Sent    bool                // the values are those that were just sent
}

// Value returns the text typed into a field.
func (f Form) Value(name string) string { return f.Values.Get(name) }

// Fault returns what is wrong with a field, "" if nothing is.
func (f Form) Fault(name string) string { return f.Errors[name] }

// Like returns f with the fields of another form.
func (f Form) Like(other Form) Form {
	f.Inputs = other.Inputs
	return f
}

// AnyFault tells whether one of the fields is faulty.
func (f Form) AnyFault(inputs []Input) bool {
	return slices.ContainsFunc(inputs, func(in Input) bool { return f.Fault(in.Name) != "" })
}

// Touched tells whether one of the fields is filled in or faulty.
func (f Form) Touched(inputs []Input) bool {
	return f.AnyFault(inputs) || slices.ContainsFunc(inputs, func(in Input) bool { return f.Value(in.Name) != "" })
}

// Faulty tells whether anything is wrong with the form.
func (f Form) Faulty() bool { return len(f.Errors) > 0 || f.General != "" }

// Option is one choice of a list.
type Option struct{ Value, Label string }

// Input is one field of a form.
type Input struct {
	Name               string
	Of                 string // prefix of the id, where several forms of a page have fields of that name
	Label, Help, Unit  string
	Kind               string // "text" (default), "number", "result" of an entry form, "area", "select", "check", "date"
	Options            []Option
	Placeholder, Class string
	Required           bool
	Refreshes          bool // changing it redraws the form, since other fields depend on it
	Optional           bool // a result that nobody waits for
	Signed             bool // may be negative: the decimal keypad of some phones has no minus
	Uncertain          bool // may have a ±, which such keypads lack too
}

// helpClass is the class of the help text; limits stand out where results are entered.
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

// Stamp is a moment in three forms: relative or short, exact for people, and for programs.
type Stamp struct{ Ago, Exact, ISO string }

// Table is a table of finished texts.
type Table struct {
	Head   []Column
	Rows   [][]string
	Stacks bool // on a phone its cells are below each other, each with its column's name
}

// Column is a table's column; one without a name holds buttons.
type Column struct {
	Name, Unit string
	Number     bool
}

func textColumns(names ...string) []Column {
	return lists.Map(names, func(name string) Column { return Column{Name: name} })
}

// Chart is a drawing with the text under it and the table behind it.
type Chart struct {
	ID             string
	Title, Caption string
	Notes          []string // further sentences of the caption
	Beside         bool     // the caption is beside the plot if there is room
	Drawing        chart.Drawing
	Table          Table
	Later          string // address of the table, if it is fetched only when unfolded
	Paper          bool   // it is part of a file, where nothing can be unfolded or saved
	Printed        bool   // the table is below it there
}

// longestWhole is how long a word in a table may be without being broken. Longer ones could make
// the table too wide for a sheet of paper.
const longestWhole = 12

// cell has the classes of a table's cell: whether it is a number, and whether its words may be
// broken.
func cell(number bool, text string) templ.Attributes {
	var classes []string
	if number {
		classes = append(classes, "number")
	}
	if hasLongWord(text) {
		classes = append(classes, "long")
	}
	if classes == nil {
		return nil
	}
	return templ.Attributes{"class": strings.Join(classes, " ")}
}

// labelled is cell in a stacked table, where on a phone no head is above it, nor a cell without text.
func labelled(name string, number bool, text string) templ.Attributes {
	class, _ := cell(number, text)["class"].(string)
	if text == "" {
		class += " missing"
	}
	return templ.Attributes{"class": class, "data-label": name}
}

func hasLongWord(text string) bool { return hasWordBeyond(longestWhole, text) }

func hasWordBeyond(letters int, text string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(word string) bool { return utf8.RuneCountInString(word) > letters })
}

// StudyHead identifies the study that a page is about, and says what the viewer may do with it.
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
	Whole       *Whole  // everything below, if it is wanted at once
	Later       []Later // else the sections, which are fetched when they are scrolled to
}

// Work is how far the computation of a long study's model is; it is empty for other studies.
type Work struct {
	Part    string // address that says whether the model is there
	Follows bool   // the page asks again whenever the study changes
	Going   bool   // the model is being computed; what needs it is fetched when it is there
	Words   string
	Whole   string // address of the page that waits for everything
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

// Whole is everything below the next trial, on a study's page and on its board.
type Whole struct {
	Progress Progress
	Beliefs  Beliefs
	Trials   Trials
	Ledger   Ledger
}

// Later is a section that is fetched when it is scrolled to.
type Later struct {
	Name, Title string
	Query       url.Values // what to show of it, as the page was asked
}

// Status is the strip at the top.
type Status struct {
	Study        StudyHead
	Trial        string          // "trial 23 of 60"
	Waiting      string          // "4 waiting"
	Oldest       Stamp           // of the waiting ones
	Feasible     string          // "14 of 19 within every limit"
	Notes        []string        // caveats of the figures
	Found        []study.Finding // parameters that should be on another scale
	Doubtful     []Doubtful
	MoreDoubtful string
	Still        bool   // the page does not follow changes
	Ledger       string // its version and head, for paper
}

// Doubtful is a trial with a doubt that nobody has confirmed.
type Doubtful struct {
	Number   int
	URL      string
	Means    string   // what follows from the doubt
	Says     []string // what is doubted
	Reason   string   // for excluding it
	Sure     string   // confirms what Says says
	Operates bool
}

// Next is what to do next.
type Next struct {
	Study     StudyHead
	Cards     []Card
	More      string // says how many waiting trials have no card
	Any       bool   // there are trials at all
	Idle      string // how the trials ended, if none is waiting
	First     int    // trials of the first design, if there are none yet
	AskKey    string
	AskID     string // id of the fields for asking, as view's askID has it
	Ask       Form
	Context   []Input // values that a computed limit needs with each ask
	Candidate bool    // a limit's values are needed for each candidate, so only the API can ask
	Nothing   string  // what becomes of it that no trial so far is known to be within the limits
	Saved     []Saved // by the viewer, in the last minute
	Kept      string  // says what became of typed text that has no form any more
}

// asks tells whether the viewer can ask for trials here.
func (n Next) asks() bool {
	return n.Study.Operates && n.Study.State == ledger.Open && !n.Candidate
}

// Setting is a setting of a trial, as needed at the bench.
type Setting struct {
	Name, Value, Unit string
	Was               string // the value chosen, if another was used
}

// IsLong tells whether the value is a choice with a long name, which need not be readable from
// afar.
func (s Setting) IsLong() bool { return utf8.RuneCountInString(s.Value) > 28 }

// mostInColumn is how many letters of one word fit into a column of settings.
const mostInColumn = 8

// fitColumns tells whether settings fit into columns with no number or word broken.
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
	Why                 string // why it was chosen
	Since               string // what has changed since
	Told                []MetricFact
	Entry               Entry
	Ended               *Ended // set if it no longer waits and is shown for what was typed in it
}

// by begins to say whose a trial is: whoever asked for a suggestion did not choose it.
func (c Card) by() string {
	if c.Origin == string(ledger.Suggested) {
		return c.Origin + ", asked for by "
	}
	return c.Origin + " by "
}

// Ended says how a trial stopped waiting.
type Ended struct {
	Mark  string
	Words string // "Completed by Ana", "Failed: column broke"
	At    Stamp
}

// Entry is the form in which results are typed.
type Entry struct {
	ID        string // changes with what is asked for; until then a refresh keeps a half-typed form
	Keep      bool   // let a refresh keep the form that is in the page
	Form      Form
	Key       string // Idempotency-Key of this saving
	Fields    []Input
	Used      []Input     // settings actually used
	Other     bool        // those differ from the trial's
	Done      bool        // the trial is completed, so that other settings are a correction
	Doubts    Doubts      // values that look wrong and have to be confirmed
	Meanwhile []Meanwhile // results that are saved already, with what was typed for them
}

// Meanwhile is a result that somebody saved, with what the viewer typed for it, "" if nothing.
type Meanwhile struct {
	Field, Name, Theirs, By, Mine string
	Saved                         string // the result as a plain number, if the viewer saved it
	At                            Stamp
}

// WasOf names the field that holds what another field was filled in with; as long as both are
// equal, nobody has typed in the other.
func WasOf(field string) string { return "was." + field }

// UnitOf names the field that holds the unit beside which another field is shown.
func UnitOf(field string) string { return "unit." + field }

// mineOf names the field for what the viewer typed for a result that is saved already.
func mineOf(field string) string { return "mine." + field }

// Saved is a result that was saved just now and can be undone.
type Saved struct {
	Number int
	Text   string // what was saved
	Left   int    // seconds in which it can be undone
	Key    string
}

// Doubts are shown together, with the names of fields as their locations; Sure is what the button
// that confirms them sends.
type Doubts struct {
	List []study.Doubt
	Sure string
}

// label is the label of the button that goes on: anyway if something is doubted, else plain.
func (d Doubts) label(anyway, plain string) string {
	if len(d.List) > 0 {
		return anyway
	}
	return plain
}

// First is the field of the first doubt that has one, "" if none has.
func (d Doubts) First() string {
	return cmp.Or(lists.Map(d.List, func(doubt study.Doubt) string { return doubt.Field })...)
}

// Progress is the section on how well the study does.
type Progress struct {
	Empty      string // what will appear here, if there is nothing yet
	Chart      Chart
	More       *Chart // of the limits that were broken least, if there are many
	MoreLimits string // which those are
}

// Beliefs is the section on what the model believes.
type Beliefs struct {
	Empty               string
	Through             string // the point that the slices pass through
	Slices, Map, Prices *Chart
	Trust               Trust
	Others              []Fact // what other algorithms would do next
	OthersPart          string // address that adds them
	Form                Form
	Set                 bool // the viewer chose what is shown
	Pins                []Input
	Axes                [2]Input
	Metric              Input
	At                  int64
	Action              string // of the form that chooses what is drawn, "" if nothing can be chosen
	Part                string // address of the section alone, "" if the whole page has to be fetched
}

// Trust says how far the model's bands can be trusted, and whether the process has drifted.
type Trust struct {
	Summary      string
	Open         bool // something needs attention
	Calibrations []string
	Drifts       []Drift
	Chart        *Chart
	Theorem      *Theorem // nil where no bound is drawn
}

// Drift is the drift test of a metric.
type Drift struct {
	Text  string
	Offer string // address of the form that offers an algorithm for drift, "" if there is no reason
}

// Theorem is what the bounds on violation and regret rest on.
type Theorem struct {
	Summary     string
	Source      string   // number, paper, year
	Said        []string // what it bounds, the figures, and what they are worth
	Assumptions Table
}

// Trials is the table of trials.
type Trials struct {
	Filters           []Filter
	Settings, Metrics []Column
	Rows              []TrialRow
	Older, Newer      Filter // the next page and the first; URL is "" where there is none
	Show              string // the current filter
	Below             int
	Shown             string // "1–50 of 312"
	Note              string // explains the ± of readings, if some have one
	Total             int
	Paper             bool // in a file, where nothing can be chosen
	Folded            bool // all settings share a column, and all readings another
}

func (t Trials) columns() []Column {
	columns := []Column{{Name: "No.", Number: true}, {Name: "Result"}}
	if t.Folded {
		columns = append(columns, textColumns("Settings", "Readings")...)
	} else {
		columns = slices.Concat(columns, t.Settings, t.Metrics)
	}
	if columns = append(columns, Column{Name: "Note"}); !t.Paper {
		columns = append(columns, Column{Name: "When"})
	}
	return columns
}

// Filter is a choice of what to list.
type Filter struct {
	Label, URL string
	Part       string // address of the section alone, "" if the whole page has to be fetched
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

// Cell is a value in the table, with the one it replaced.
type Cell struct {
	Text, Was string
	Chosen    string // the setting that was chosen, if another was used
	Broken    bool   // outside a limit
	Missing   bool
}

// Ledger is what happened, in plain words.
type Ledger struct {
	Entries []LedgerEntry
	Older   Filter
	Paper   bool   // in a file, where each entry shows its number and hash
	Note    string // how many other entries there are, in a file
}

// LedgerEntry is one event.
type LedgerEntry struct {
	Seq                    int64
	At                     Stamp
	By, Text, Reason, Hash string
	Outcome                string // what has become of many trials that were written about in the same request
	Together               int    // how many there are
	TakeBack               string // the page that takes that back, "" where it is not offered
	Others                 int    // how many entries written before it in the same request it stands for
	OthersIn               Filter // the list of them
}

// Sentence is what was done, with a colon if the reason follows.
func (e LedgerEntry) Sentence() string {
	if e.Reason == "" {
		return e.Text
	}
	return e.Text + ":"
}
