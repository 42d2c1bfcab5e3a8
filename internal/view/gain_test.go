package view

import (
	"strings"
	"testing"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
)

// TestWordsOfGain: little is left only where the chance that more is left is no larger than the target, which is named with it.
func TestWordsOfGain(t *testing.T) {
	t.Parallel()
	left := func(chance, atMost float64) []study.ChanceLeft {
		return []study.ChanceLeft{{MoreThan: 0.01, Of: 79, Chance: chance, AtMost: atMost}}
	}
	usual := design.UsualStop()
	best := study.BestRange{Low: 74.2, High: 81.04, Level: 0.9}
	for _, c := range []struct {
		name   string
		stop   design.Stop
		gain   *study.Gain
		words  string
		enough bool
	}{
		{"no model", usual, nil, "As far as the model knows, no settings are within every limit.", false},
		{"nothing recommended", usual, &study.Gain{Best: best}, "Nothing is recommended yet, so all of that is left to gain.", false},
		{"much left", usual, &study.Gain{Best: best, ChanceLeft: left(0.65, 0.7)}, "The chance that more than 1 % of what is recommended, 0.79 %, is left is 65 %. Stopping now risks up to 70 %; the target is 5 %.", false},
		{"nearly all left", usual, &study.Gain{Best: best, ChanceLeft: left(0.98, 0.999)}, "The chance that more than 1 % of what is recommended, 0.79 %, is left is 98 %. Stopping now risks over 99 %; the target is 5 %.", false},
		{"not known well enough", usual, &study.Gain{Best: best, ChanceLeft: left(0.04, 0.07)}, "The chance that more than 1 % of what is recommended, 0.79 %, is left is 4 %. Stopping now risks up to 7 %; the target is 5 %.", false},
		{"at the target", usual, &study.Gain{Best: best, ChanceLeft: left(0.02, 0.05)},
			"Little is left to gain: the chance that more than 1 % of what is recommended, 0.79 %, is left is 2 %. Stopping now risks up to 5 %, no more than the target of 5 %.", true},
		{"a target of one's own", design.Stop{Within: 0.005, Risk: 0.7}, &study.Gain{Best: best, ChanceLeft: left(0.65, 0.7)},
			"Little is left to gain: the chance that more than 0.5 % of what is recommended, 0.4 %, is left is 65 %. Stopping now risks up to 70 %, no more than the target of 70 %.", true},
	} {
		d := design.Definition{Objective: design.Objective{Metric: "yield", Direction: "maximize", Unit: "%"}, Constraints: []design.Constraint{{Metric: "impurity"}}, Stop: &c.stop}
		shown := gainOf(d, c.gain)
		if said := strings.ReplaceAll(shown.Words, words.Thin, " "); said != c.words || shown.Enough != c.enough {
			t.Errorf("%s: %q, enough %v", c.name, said, shown.Enough)
		}
		if c.gain != nil && (shown.Best.Low.Text != "74" && shown.Best.Low.Text != "74.2" || shown.Best.Low.Raw != "74.2") {
			t.Errorf("%s: from %+v", c.name, shown.Best)
		}
	}
}
