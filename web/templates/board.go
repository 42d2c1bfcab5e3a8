package templates

import (
	"strconv"

	"github.com/a-h/templ"
)

// BoardPage is the reviewer's board.
type BoardPage struct {
	Page
	Board
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

// awaits lets an element fetch itself when the model is there.
func (b Board) awaits(name string) templ.Attributes {
	if b.Work.Part == "" {
		return templ.Attributes{}
	}
	url := b.Study.URL("/board/" + name)
	if b.Past {
		url += "?at=" + strconv.FormatInt(b.At, 10)
	}
	return refreshed(url, "model-ready from:body, again")
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
