package view

import (
	"fmt"

	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// standingMarks say how an assumption stands, by a shape before the words.
var standingMarks = map[optimizer.Standing]string{optimizer.Met: "✓ met", optimizer.NotMet: "✗ not met", optimizer.Unknown: "? cannot be known"}

// theorem is what the bounds on violation rest on, nil where none is drawn.
func (v trusting) theorem() *templates.Theorem {
	var figures []string
	for _, c := range v.Snap.Definition.Constraints {
		if now := v.Readout.Violation[c.Name]; now.Bound != nil && v.Snap.HasReading(c.Metric) {
			figures = append(figures, fmt.Sprintf("%s%s for %s", words.Rough(*now.Bound), words.UnitAfter(c.Unit), c.Name))
		}
	}
	grounds := study.GroundsOf(v.Snap, v.Readout)
	if grounds == nil || len(figures) == 0 {
		return nil
	}
	met, notMet, unknown := grounds.Tally()
	shown := templates.Theorem{
		Summary: fmt.Sprintf("What does the bound on violation rest on? Of %d assumptions %d are met here, %d are not, and %d cannot be known.",
			len(grounds.Findings), met, notMet, unknown),
		Source:      fmt.Sprintf("%s (%s, %d).", grounds.Name, grounds.Paper, grounds.Year),
		Bounds:      "It bounds " + grounds.Bounds + ".",
		Here:        "Here, over the trials that the algorithm chose itself: " + design.Listed(figures, "and") + " so far. " + verdictOn(grounds, notMet),
		Short:       grounds.Short,
		Assumptions: templates.Table{Head: []templates.Column{{Name: "Here"}, {Name: "The theorem assumes"}, {Name: "Why"}}},
	}
	for i, finding := range grounds.Findings {
		shown.Assumptions.Rows = append(shown.Assumptions.Rows, []string{standingMarks[finding.Standing], grounds.Assumptions[i].Text, words.Sentence(finding.Because)})
	}
	return &shown
}

// verdictOn says what the figure is worth.
func verdictOn(grounds *study.Grounds, notMet int) string {
	if notMet == 0 && grounds.Short == "" {
		return "It holds if what cannot be known holds."
	}
	return "It shows how violation grows with trials, and is no promise."
}

// boundKind says what a bound is worth in this study: what the API calls a guarantee is none where an assumption is known not to hold.
func boundKind(v Facts, now study.ViolationOut) string {
	if *now.BoundKind != study.BoundGuarantee {
		return *now.BoundKind
	}
	grounds := study.GroundsOf(v.Snap, v.Readout)
	if _, notMet, _ := grounds.Tally(); notMet > 0 {
		return fmt.Sprintf("no guarantee here: %s of its theorem %s not met", words.Count(notMet, "assumption", "assumptions"), words.IsOrAre(notMet))
	}
	return "a guarantee, if what its theorem assumes holds"
}
