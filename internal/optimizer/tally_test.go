package optimizer

import (
	"math"
	"testing"
)

func TestTallyForgetsNoExcess(t *testing.T) {
	t.Parallel()
	var tally Tally
	for i, step := range []struct {
		g, balance, soft, hard, largest float64
		rounds                          int
	}{{-2, -2, 0, 0, 0, 0}, {1, -1, 0, 1, 1, 1}, {0, -1, 0, 1, 1, 1}, {3, 2, 2, 4, 3, 2}, {2, 4, 4, 6, 3, 3}, {-1, 3, 3, 6, 3, 3}} {
		tally.Add(step.g)
		if tally.Balance != step.balance || tally.Soft != step.soft || tally.Hard != step.hard || tally.Largest != step.largest || tally.Rounds != step.rounds || tally.Known != i+1 {
			t.Errorf("after %d: %+v, want %+v", i+1, tally, step)
		}
	}
}

func TestExcessOfBothSides(t *testing.T) {
	t.Parallel()
	above, below := Cost{Sign: 1, Threshold: 7}, Cost{Sign: -1, Threshold: 7, Margin: 0.5}
	if above.Excess(9) != 2 || above.Excess(6) != -1 || below.Excess(9) != -2 || below.Excess(6) != 1 || math.Abs(below.given(6)-1.5) > 0 {
		t.Error("g is Sign·(value − Threshold), and the margin is the algorithm's alone")
	}
}
