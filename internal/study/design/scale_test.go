package design

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
)

func number(kind ParameterType, low, high float64) Parameter {
	return Parameter{Name: "x", Type: kind, Low: &low, High: &high}
}

func TestWhyLog(t *testing.T) {
	t.Parallel()
	stepped := number(Real, 1, 1000)
	stepped.Step = new(float64)
	for name, c := range map[string]struct {
		parameter Parameter
		levels    []float64
		want      string
	}{
		"a narrow range":               {number(Real, 20, 60), nil, ""},
		"decades":                      {number(Real, 0.1, 100), nil, "100 is 1000 times 0.1"},
		"just decades":                 {number(Real, 1, 100), nil, "100 is 100 times 1"},
		"not quite":                    {number(Real, 1, 99), nil, ""},
		"whole numbers":                {number(Integer, 1, 4096), nil, "4096 is 4096 times 1"},
		"from zero":                    {number(Real, 0, 100), nil, ""},
		"below zero":                   {number(Real, -100, 100), nil, ""},
		"even steps":                   {stepped, nil, ""},
		"a choice":                     {Parameter{Name: "x", Type: Categorical}, nil, ""},
		"doubled":                      {number(Real, 1, 16), []float64{16, 2, 4, 8, 1, 2}, "its 5 values from 1 to 16 are spaced by factors rather than by differences"},
		"1, 2, 5":                      {number(Real, 1, 100), []float64{1, 2, 5, 10, 20, 50, 100}, "its 7 values from 1 to 100 are spaced by factors rather than by differences"},
		"doubled, too few":             {number(Real, 1, 4), []float64{1, 2, 4}, ""},
		"doubled, less than a decade":  {number(Real, 1, 8), []float64{1, 2, 4, 8}, ""},
		"even, over decades":           {number(Real, 1, 500), []float64{1, 100, 200, 300, 400, 500}, ""},
		"even, over decades, only few": {number(Real, 1, 500), []float64{1, 250, 500}, ""},
		"crowded at the low end":       {number(Real, 1, 50), []float64{1, 1.1, 1.2, 1.3, 50}, ""},
		"two, over decades":            {number(Real, 1, 500), []float64{1, 500}, "500 is 500 times 1"},
		"with a zero":                  {number(Real, 1, 1000), []float64{0, 1, 10, 100, 1000}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Definition{}).WhyLog(c.parameter, c.levels); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Neither the unit nor the order of levels, nor how often they stand in a table, changes how they
// are spaced; and a step that is repeated is found.
func TestSpacingHasNoUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfNDistinct(rapid.Float64Range(1, 1e4), 4, 12, rapid.ID[float64]).Draw(t, "levels")
		unit := math.Exp2(float64(rapid.IntRange(-30, 30).Draw(t, "unit"))) // exact
		low, high := slices.Min(levels), slices.Max(levels)
		measured := make([]float64, 0, 2*len(levels))
		for _, x := range append(levels, levels[0]) {
			measured = append(measured, unit*x)
		}
		shuffled := rapid.Permutation(measured).Draw(t, "shuffled")
		if one, other := (Definition{}).WhyLog(number(Real, low, high), levels), (Definition{}).WhyLog(number(Real, unit*low, unit*high), shuffled); (one == "") != (other == "") {
			t.Errorf("%q and, in another unit, %q", one, other)
		}
		n, factor := rapid.IntRange(4, 9).Draw(t, "n"), rapid.Float64Range(2.2, 20).Draw(t, "factor")
		byFactor, byStep := []float64{low}, []float64{low}
		for i := 1; i < n; i++ {
			byFactor, byStep = append(byFactor, byFactor[i-1]*factor), append(byStep, low+float64(i)*factor*low)
		}
		if (Definition{}).WhyLog(number(Real, low, byFactor[n-1]), byFactor) == "" {
			t.Errorf("%v are spaced by a factor", byFactor)
		}
		if why := (Definition{}).WhyLog(number(Real, low, byStep[n-1]), byStep); why != "" {
			t.Errorf("%v: %s", byStep, why)
		}
	})
}

// A scale that nobody said is chosen once, when the study is made, and written out; what somebody
// said, or described a model on, stays.
func TestAScaleThatNobodySaid(t *testing.T) {
	t.Parallel()
	d := Definition{Name: "x", Objective: Objective{Metric: "y", Direction: "maximize"}}
	wide, narrow, said := number(Real, 0.1, 100), number(Integer, 1, 12), number(Real, 0.1, 100)
	wide.Name, narrow.Name, said.Name, said.Scale = "wide", "narrow", "said", "linear"
	d.Parameters = []Parameter{wide, narrow, said}
	scales := func(d Definition) (list []string) {
		t.Helper()
		checked := must.Get(d.Check())(t)
		if again, err := checked.Check(); err != nil || again.Parameters[0].Scale != checked.Parameters[0].Scale {
			t.Errorf("checked again: %v, %v", again.Parameters, err)
		}
		for _, p := range checked.Parameters {
			list = append(list, p.Scale)
		}
		return list
	}
	want := func(d Definition, want ...string) {
		t.Helper()
		if got := scales(d); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	want(d, "log", "linear", "linear")
	for _, model := range []Model{{Fit: "fixed"}, {Inputs: "raw"}, {Kernel: []byte(`"se"`)}, {Lengthscales: []byte(`0.3`)}} {
		described := d
		described.Model = model
		want(described, "linear", "linear", "linear")
	}
	listed := d
	for i := range 5 {
		listed.Candidates = append(listed.Candidates, Settings{"wide": NumberValue(20 * float64(i+1)), "narrow": NumberValue(float64(1 + i)), "said": NumberValue(math.Pow10(i - 1 - i/4))})
	}
	want(listed, "linear", "linear", "linear")
	total := 100.0
	mixed := d
	mixed.Parameters = append(slices.Clone(d.Parameters), Parameter{Name: "rest", Type: Remainder, Total: &total, Of: []string{"wide"}})
	want(mixed, "linear", "linear", "linear", "")
	checked := must.Get(d.Check())(t)
	wider := wide
	wider.High = new(1000.0)
	after, _ := Reconfiguration{Parameters: []Parameter{wider, {Name: "said", Type: Real, Low: said.Low, High: said.High, Scale: "log"}}}.Apply(checked)
	want(after, "log", "linear", "log")
	silent, _ := Reconfiguration{Parameters: []Parameter{{Name: "said", Type: Real, Low: said.Low, High: said.High}}}.Apply(checked)
	want(silent, "log", "linear", "linear")
}
