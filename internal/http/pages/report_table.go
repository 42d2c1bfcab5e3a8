package pages

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// reportedTrials are the trials that the report lists: all, or the newest and those of which something is to be said.
func (v visit) reportedTrials(recommended *study.Recommendation) []*ledger.Trial {
	trials := v.snap.Trials
	if len(trials) <= mostReportTrials {
		return trials
	}
	special := func(t *ledger.Trial) bool {
		best := v.snap.Best()
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

// fitsApart tells whether columns of these names fit on a sheet of paper beside the rest.
func fitsApart(names []string) bool {
	letters := 0
	for _, name := range names {
		for _, word := range strings.Fields(name) {
			letters += utf8.RuneCountInString(word)
		}
	}
	return len(names) <= mostColumns && letters <= mostLetters
}

// trialTable lists trials, newest first, with what was told first where that was corrected.
func (v visit) trialTable(trials []*ledger.Trial) templates.Table {
	d := v.snap.Definition
	metrics := tableMetrics(d)
	names := slices.Clone(metrics)
	for _, p := range d.Parameters {
		names = append(names, p.Name)
	}
	apart := fitsApart(names)
	table := templates.Table{Head: []templates.Column{{Name: "Trial", Number: true}, {Name: "Result"}}}
	if apart {
		for _, p := range d.Parameters {
			table.Head = append(table.Head, templates.Column{Name: p.Name, Unit: p.Unit, Number: true})
		}
		for _, metric := range metrics {
			table.Head = append(table.Head, templates.Column{Name: metric, Unit: unitOf(d, metric), Number: true})
		}
	} else {
		table.Head = append(table.Head, templates.Column{Name: "Settings"}, templates.Column{Name: "Readings"})
	}
	table.Head = append(table.Head, templates.Column{Name: "Note, reason"})
	for _, t := range slices.Backward(trials) {
		row := []string{strconv.Itoa(t.Number), v.stateWords(t)}
		if apart {
			for _, p := range d.Parameters {
				row = append(row, settingIn(p, t.Parameters))
			}
			for _, metric := range metrics {
				row = append(row, readingCell(t, metric, ""))
			}
		} else {
			var readings []string
			for _, metric := range metrics {
				if _, there := t.Metrics[metric]; there {
					readings = append(readings, metric+" "+readingCell(t, metric, unitOf(d, metric)))
				}
			}
			row = append(row, settingsLine(d, t.Parameters), strings.Join(readings, ", "))
		}
		table.Rows = append(table.Rows, append(row, strings.Trim(t.Note+"; "+t.Reason, "; ")))
	}
	return table
}

func settingIn(p design.Parameter, settings design.Settings) string {
	if value, there := settings[p.Name]; there {
		return settingText(p, value)
	}
	return "–"
}

// readingCell is a trial's value of a metric, with what was told first.
func readingCell(t *ledger.Trial, metric, unit string) string {
	m, there := t.Metrics[metric]
	if !there {
		return "–"
	}
	text := quantity(m.Value, unit)
	if m.Original != nil {
		text += " (first told " + number(*m.Original) + ")"
	}
	return text
}
