package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Past is what a report takes from the ledger: limits as they stood, what was changed afterwards,
// and the entries in words.
type Past struct {
	teller  teller
	version int64 // up to which it is read
	last    ledger.Event
	chosen  int // trials begun so far
	// limits are the thresholds of each constraint, each from the trial that was the next when it
	// was set.
	limits map[string][]threshold
	amends [][]string
	missed int        // amends that are not kept
	recent [][]string // lines of the ledger, oldest first
}

type threshold struct {
	from  int // trial
	value float64
	unit  string
}

// NewPast is the ledger up to the moment shown, of which nothing has been read yet.
func (v Facts) NewPast() *Past {
	return &Past{teller: v.teller(), version: v.Snap.Version, limits: map[string][]threshold{}}
}

// Take adds one event, of those up to the moment shown in their order.
func (p *Past) Take(event ledger.Event) error {
	p.last = event
	if event.Seq > p.version-mostReportLedger {
		entry, err := p.teller.entryOf(event)
		if err != nil {
			return err
		}
		text := entry.Text
		if entry.Reason != "" {
			text += ": " + entry.Reason
		}
		p.recent = append(p.recent, []string{strconv.FormatInt(entry.Seq, 10), words.Unbroken(event.At.UTC().Format("2 Jan 2006 15:04:05")), inOneLine(entry.By), text, entry.Hash[:12]})
	}
	switch event.Kind {
	case ledger.Created:
		data, err := eventData[ledger.CreatedData](event)
		p.define(data.Definition)
		return err
	case ledger.Chosen:
		p.chosen++
	case ledger.Reconfigured:
		data, err := eventData[ledger.ReconfiguredData](event)
		if err != nil {
			return err
		}
		p.define(data.Definition)
		p.amend(event, "–", "the study", "", changesWords(data.Definition, data.Changes), data.Reason)
	}
	lines, err := p.teller.amendsOf(event) // none of other kinds
	for _, line := range lines {
		p.amend(event, strconv.Itoa(line.Number), line.What, line.Before, line.After, line.Reason)
	}
	return err
}

// amend keeps a line of what was changed, up to a bound.
func (p *Past) amend(event ledger.Event, trial, what, before, after, reason string) {
	if len(p.amends) >= mostReportAmends {
		p.missed++
		return
	}
	p.amends = append(p.amends, []string{trial, what, before, after, reason, inOneLine(event.By), words.Unbroken(event.At.UTC().Format("2 Jan 2006 15:04"))})
}

// longestName is how many letters a name may have to stay in one line of a table's cell.
const longestName = 20

// inOneLine keeps a name in one line where it is short.
func inOneLine(name string) string {
	if utf8.RuneCountInString(name) > longestName {
		return name
	}
	return words.Unbroken(name)
}

// define notes the limits that hold from the next trial on.
func (p *Past) define(d design.Definition) {
	for _, c := range d.Constraints {
		list := p.limits[c.Name]
		if len(list) == 0 || list[len(list)-1].value != c.Threshold {
			p.limits[c.Name] = append(list, threshold{p.chosen + 1, c.Threshold, c.Unit})
		}
	}
}

// limitsChanged tells whether any limit is not what it was at first.
func (p *Past) limitsChanged() bool {
	for _, steps := range p.limits {
		if len(steps) > 1 {
			return true
		}
	}
	return false
}

func (p *Past) amendTable() templates.Table {
	table := templates.Table{Rows: p.amends, Head: []templates.Column{{Name: "Trial", Number: true}, {Name: "What"}, {Name: "As first told"}, {Name: "Now"}, {Name: "Why"}, {Name: "By"}, {Name: "When (UTC)"}}}
	if p.missed > 0 {
		table.Rows = append(table.Rows, []string{"", fmt.Sprintf("and %d more, in the ledger", p.missed), "", "", "", "", ""})
	}
	return table
}

func (p *Past) ledgerTable() templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Entry", Number: true}, {Name: "When (UTC)"}, {Name: "Who"}, {Name: "What"}, {Name: "Hash"}}}
	for _, line := range slices.Backward(p.recent) {
		table.Rows = append(table.Rows, line)
	}
	return table
}

func (p *Past) ledgerNote() string {
	note := "Everything that was done, newest first, each with the beginning of its hash."
	if int64(len(p.recent)) < p.last.Seq {
		note += fmt.Sprintf(" The newest %d of %d entries; the export has all of them.", len(p.recent), p.last.Seq)
	}
	return note
}

// limitTable says how each limit stands, and how it stood.
func (v reporting) limitTable() templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Limit"}, {Name: "Now"}, {Name: "Before"}, {Name: "Broken in, as it is now"}, {Name: "Largest excess", Number: true}, {Name: "Excess in sum", Number: true}}}
	running := v.Snap.ViolationSoFar()
	for j, c := range v.Snap.Definition.Constraints {
		row := []string{c.Name, asks(c), "", "no reading yet", "", ""}
		list := v.past.limits[c.Name]
		for i := 0; i+1 < len(list); i++ {
			row[2] = strings.TrimPrefix(row[2]+"; "+fmt.Sprintf("%s before trial %d", words.Quantity(list[i].value, list[i].unit), list[i+1].from), "; ")
		}
		if len(running) > 0 && running[len(running)-1][j].Known > 0 {
			now := running[len(running)-1][j]
			row[3] = fmt.Sprintf("%d of %s", now.Rounds, words.Count(now.Known, "trial", "trials"))
			row[4], row[5] = words.With(words.Rough(now.Largest), c.Unit), words.With(words.Rough(now.Hard), c.Unit)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}
