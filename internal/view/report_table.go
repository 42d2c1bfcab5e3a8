package view

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// reportedTrials are the trials that the report lists: all, or the newest and those of which something is to be said.
func (v reporting) reportedTrials() []*ledger.Trial {
	trials := v.Snap.Trials
	if len(trials) <= mostReportTrials {
		return trials
	}
	recommended := v.recommended()
	special := func(t *ledger.Trial) bool {
		best := v.Snap.Best()
		return t.Excluded || t.SettingsChanged || corrected(t) || best != nil && best.Number == t.Number || recommended != nil && recommended.Number == t.Number
	}
	newest := len(trials) - mostReportTrials/2
	var kept []*ledger.Trial
	for _, t := range trials[:newest] {
		if len(kept) < mostReportTrials/2 && special(t) {
			kept = append(kept, t)
		}
	}
	return append(kept, trials[newest:]...)
}

// How many parameters and metrics have columns of their own on a sheet of paper, and how many letters their names may have in all where they are not
// broken.
const mostColumns, mostLetters = 7, 60

// fitsApart tells whether these columns fit on a sheet of paper beside the rest.
func fitsApart(columns []templates.Column) bool {
	letters := 0
	for _, column := range columns {
		for _, word := range strings.Fields(column.Name) {
			letters += utf8.RuneCountInString(word)
		}
	}
	return len(columns) <= mostColumns && letters <= mostLetters
}

// trialTable lists trials, newest first, as the page's table does: with what was told first where that was corrected, and what was chosen where other
// settings were used.
func (v reporting) trialTable(trials []*ledger.Trial) (table templates.Table, note string) {
	var list templates.Trials
	newestFirst := slices.Clone(trials)
	slices.Reverse(newestFirst)
	listing{Facts: v.Facts}.list(&list, newestFirst)
	columns := slices.Concat(list.Settings, list.Metrics)
	apart := fitsApart(columns)
	if !apart {
		columns = []templates.Column{{Name: "Settings"}, {Name: "Readings"}}
	}
	table = templates.Table{Head: slices.Concat([]templates.Column{{Name: "Trial", Number: true}, {Name: "Result"}}, columns, []templates.Column{{Name: "Note, reason"}})}
	for i, t := range newestFirst {
		line := list.Rows[i]
		row := []string{strconv.Itoa(t.Number), line.State}
		if apart {
			for _, cell := range slices.Concat(line.Settings, line.Metrics) {
				row = append(row, cellWords(cell, ""))
			}
		} else {
			row = append(row, cellsInWords(list.Settings, line.Settings), cellsInWords(list.Metrics, line.Metrics))
		}
		table.Rows = append(table.Rows, append(row, strings.Trim(t.Note+"; "+t.Reason, "; ")))
	}
	return table, list.Note
}

// cellWords is a cell without marks of its own, for paper.
func cellWords(cell templates.Cell, unit string) string {
	if cell.Missing {
		return "–"
	}
	text := words.With(cell.Text, unit)
	if cell.Was != "" {
		text += " (first told " + cell.Was + ")"
	}
	if cell.Chosen != "" {
		text += " (chosen " + cell.Chosen + ")"
	}
	return text
}

// cellsInWords are the cells of several columns in one line, those that are missing left out.
func cellsInWords(columns []templates.Column, cells []templates.Cell) string {
	var said []string
	for i, cell := range cells {
		if !cell.Missing {
			said = append(said, columns[i].Name+" "+cellWords(cell, columns[i].Unit))
		}
	}
	return strings.Join(said, ", ")
}
