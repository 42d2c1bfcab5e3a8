package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/study/design"
)

// TestLooks: what a long game says was recommended at 12 trials is what a game of 12 recommends at its end.
func TestLooks(t *testing.T) {
	t.Parallel()
	g := Game{Problem: problem(t, "formulation"), Start: 3, Asks: 12, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: ToldTrue, Seed: 3}
	long := played(t, g)
	g.Asks = 9
	if want, got := played(t, g).end(), long.Looks[0]; !cmp.Equal(got, want) || got.Recommended == 0 || got.Best == nil {
		t.Errorf("a look at 12 trials finds %+v, a game that ends there %+v", got, want)
	}
	if len(long.Looks) != 2 || long.end().Trials != 15 {
		t.Errorf("the looks are %+v, want 12 and the end at 15", long.Looks)
	}
	if g.Start, g.Asks = 14, 2; len(played(t, g).Looks) != 1 {
		t.Error("there is a look at 12 trials of which 14 were there before the first ask")
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	at := func(x, cure float64, solvent string) design.Settings {
		return design.Settings{"x": design.NumberValue(x), "cure": design.NumberValue(cure), "solvent": design.TextValue(solvent)}
	}
	d := design.Definition{Name: "near", Parameters: []design.Parameter{numeric("x", 0, 10), logarithmic("cure", 1, 1000), choices("solvent", 2)}}
	p := &Problem{Study: d}
	from := at(5, 10, "solvent A")
	for what, c := range map[string]struct {
		at   design.Settings
		want bool
	}{
		"the same":                    {from, true},
		"a thousandth of the range":   {at(5.01, 10, "solvent A"), true},
		"three thousandths":           {at(4.97, 10, "solvent A"), false},
		"a thousandth of the decades": {at(5, 10.07, "solvent A"), true},
		"three thousandths of them":   {at(5, 10.21, "solvent A"), false},
		"another choice":              {at(5, 10, "solvent B"), false},
	} {
		if got := p.near(from, c.at); got != c.want {
			t.Errorf("%s: near is %t", what, got)
		}
	}
	p.Study.Candidates = []design.Settings{from, at(5.01, 10, "solvent A")}
	if p.near(from, p.Study.Candidates[1]) || !p.near(from, p.Study.Candidates[0]) {
		t.Error("two rows of a table are one")
	}
}
