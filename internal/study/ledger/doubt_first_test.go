package ledger

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study/design"
)

func limited(unit string, thresholds ...float64) design.MetricInfo {
	m := design.MetricInfo{Unit: unit}
	for _, t := range thresholds {
		m.Constraints = append(m.Constraints, design.Constraint{Threshold: t})
	}
	return m
}

// TestTheFirstReadingsAreJudged: what nobody would take for the metric's, though no model is there.
func TestTheFirstReadingsAreJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value   float64
		about   design.MetricInfo
		before  []float64
		doubted bool
	}{
		{-72, limited(""), []float64{61.7, 75.8, 58.4}, true}, {-72, limited(""), []float64{61.7, 75.8}, true}, {72, limited(""), []float64{61.7, 75.8, 58.4}, false},
		{-72, limited("%"), nil, true}, {721, limited("%"), nil, true}, {721, limited("%"), []float64{61.7}, true}, {72.1, limited("%"), nil, false},
		{-72, limited("mV"), nil, false}, {104, limited("%"), []float64{71, 103}, false}, {-3, limited("%", -5), nil, false}, {-0.1, limited("%", 0.5), nil, false}, {-0.3, limited("%", 0.5), nil, true},
		{310, limited("mg", 0.5), nil, false}, {510, limited("mg", 0.5), nil, true}, {0.0001, limited("mg", 0.5), nil, false},
		{31, limited("mg", 0.5), []float64{0.3}, true}, {-0.31, limited("mg", 0.5), []float64{0.3, 0.32}, true}, {1.1, limited("mg", 0.5), []float64{0.3}, false},
		{-7.5, limited("", 7, 8), nil, true}, {6.1, limited("", 7, 8), nil, false},
		{1.2, limited(""), []float64{-0.4, 0.9, -2}, false}, {-1.2, limited(""), []float64{0.4, 0.9}, false}, {75, limited(""), []float64{61.7, 61.9}, false},
		{200, limited(""), []float64{61.7, 75.8, 58.4}, false}, {2000, limited(""), []float64{61.7, 75.8, 58.4}, true},
	} {
		if got := judge(c.value, c.about, nil, RangeOf(c.before...)); (got != nil) != c.doubted {
			t.Errorf("%v after %v (%s, limits %+v): %+v", c.value, c.before, c.about.Unit, c.about.Constraints, got)
		}
	}
	if got := judge(-72, limited(""), nil, RangeOf(61.7, 75.8, 58.4)); got == nil || got.Meant == nil || got.Meant.Meant != 72 {
		t.Errorf("a sign too many: %+v", got)
	}
	if got := judge(721, limited("%"), nil, RangeOf()); got == nil || got.Meant == nil || math.Abs(got.Meant.Meant-72.1) > 1e-9 {
		t.Errorf("a decimal point left out of the first reading: %+v", got)
	}
}

// Programs make no slips: only what is far from all readings, or ten deviations from its
// prediction, is grave when they tell it.
func TestWhatIsGraveNoMatterWhoTells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value    float64
		about    design.MetricInfo
		expected *Expected
		before   []float64
		grave    bool
	}{
		{30, limited(""), &Expected{70, 5, ""}, []float64{20, 75, 60, 66}, false}, {19, limited(""), &Expected{70, 5, ""}, []float64{20, 75, 60, 66}, true}, {30, limited(""), &Expected{70, 3, ""}, []float64{20, 75, 60, 66}, true},
		{190, limited(""), &Expected{70, 25, ""}, []float64{20, 75, 60, 66}, true}, {6.1, limited(""), nil, []float64{58, 75, 60, 66}, true}, {6.1, limited(""), nil, []float64{30, 75, 60, 66}, false},
		{-72, limited(""), nil, []float64{61.7, 75.8, 58.4}, true}, {721, limited("%"), nil, nil, true}, {510, limited("mg", 0.5), nil, nil, true},
	} {
		if got := judge(c.value, c.about, c.expected, RangeOf(c.before...)); got == nil || got.Grave != c.grave {
			t.Errorf("%v after %v, expected %+v: %+v", c.value, c.before, c.expected, got)
		}
	}
}

func TestExchangedReadingsAreSeen(t *testing.T) {
	t.Parallel()
	yields, impurities := RangeOf(61.7, 75.8), RangeOf(0.31)
	if !exchanged(0.4, 58, yields, impurities) || exchanged(58, 0.4, yields, impurities) || exchanged(0.4, 0.3, yields, impurities) {
		t.Error("yield and impurity are told apart wrongly")
	}
	if exchanged(63, 59, RangeOf(58, 61), RangeOf(62, 60)) || exchanged(0.4, 58, yields, RangeOf()) {
		t.Error("metrics alike, or one without readings, are taken for exchanged")
	}
}

// TestAProgramsExchangedReadingsStandInDoubt: they lie as far from the others as each would alone.
func TestAProgramsExchangedReadingsStandInDoubt(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	for number, yield := range []float64{70.1, 71.2, 68, 72, 69, 0.3} {
		impurity := 0.31 + 0.01*float64(number)
		if yield < 1 {
			impurity = 70.9
		}
		b.add(Chosen, b.chosen(1))
		b.add(Told, ToldData{Number: number + 1, Telling: Telling{Metrics: map[string]Reading{"yield": {Value: yield}, "impurity": {Value: impurity}}}})
	}
	for _, trial := range b.snap.Trials {
		if doubted := trial.Doubted("yield") && trial.Doubted("impurity"); doubted != (trial.Number == 6) {
			t.Errorf("trial %d has the doubts %+v", trial.Number, trial.Doubts)
		}
	}
}

// TestWhatASimulatedLabTellsIsRight, and what others tell in its study is doubted as anywhere.
func TestWhatASimulatedLabTellsIsRight(t *testing.T) {
	t.Parallel()
	d := must.Get(oven(t).Check())(t)
	d.SimulatedLab = "made"
	for by, doubted := range map[string]bool{"Ana": true, "Ana" + SimulatedBy: false} {
		b := &bench{TB: t}
		b.add(Created, CreatedData{Definition: d})
		b.choose(2)
		for number := 1; number <= 2; number++ {
			told := ToldData{Number: number, Telling: Telling{Metrics: map[string]Reading{"yield": {Value: 712}}}}
			events := must.Get(Next(b.snap, b.clock, by, Draft{Told, told}))(t)
			b.snap = must.Get(Fold("bench", b.snap, events, nil))(t)
		}
		if got := b.snap.Trial(1).Doubted("yield"); got != doubted {
			t.Errorf("a yield of 712 %% told by %s is doubted: %t", by, got)
		}
	}
}

// TestADoubtNamesTheUnitOfWhatItComparesWith, which may not be that of the reading; then no slip is
// suspected.
func TestADoubtNamesTheUnitOfWhatItComparesWith(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	for number, impurity := range []float64{0.31, 0.32, 0.3, 0.33} {
		b.add(Chosen, b.chosen(1))
		b.add(Told, ToldData{Number: number + 1, Telling: Telling{Metrics: map[string]Reading{"impurity": {Value: impurity}}}})
	}
	b.reconfigure(func(d *design.Definition) { d.Constraints[0].Threshold, d.Constraints[0].Unit = 5000, "ppm" })
	b.add(Chosen, b.chosen(1))
	b.add(Told, ToldData{Number: 5, Telling: Telling{Metrics: map[string]Reading{"impurity": {Value: 3100}}}})
	doubts := b.snap.Trial(5).Doubts
	if want := "Impurity 3100\u202fppm? The highest so far is 0.33\u202f%."; len(doubts) != 1 || doubts[0].Why != want {
		t.Errorf("a reading in ppm after some in per cent: %+v, want %q", doubts, want)
	}
	expected := judge(3100, design.MetricInfo{Name: "impurity", Unit: "ppm"}, &Expected{0.31, 0.01, "%"}, RangeOf())
	if said := expected.words(); said != "Impurity 3100\u202fppm? Here a reading between 0.290 and 0.330\u202f% is expected (95\u202f%, noise included)." {
		t.Errorf("a reading in ppm where a decision foretold per cent: %s", said)
	}
}

// TestAnOlderValueIsDoubtedInItsOwnUnit: what was read or chosen before a unit was changed is judged
// and named in the unit of its time, and a power of ten between two units is no slip.
func TestAnOlderValueIsDoubtedInItsOwnUnit(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(2)
	b.tell(1, map[string]float64{"impurity": 310})
	b.reconfigure(func(d *design.Definition) {
		d.Constraints[0].Threshold, d.Constraints[0].Unit, d.Constraints[0].Plausible = 5000, "ppm", []float64{0, 9000}
	})
	before := b.snap.Trial(1).Doubts
	b.move(1, "temperature", 25)
	if after := b.snap.Trial(1).Doubts; len(before) != 1 || !reflect.DeepEqual(before, after) {
		t.Errorf("a reading in per cent, after its unit became ppm and other settings were told: %+v, before %+v", after, before)
	}
	b.reconfigure(func(d *design.Definition) {
		d.Parameters[0].Low, d.Parameters[0].High, d.Parameters[0].Unit = new(200.0), new(600.0), "d°C"
	})
	used := b.snap.Trial(2).Parameters.Clone()
	for temperature, says := range map[float64]string{220: "", 2200: "Temperature 2200\u202fd°C? That is above the highest that may be chosen, 600\u202fd°C: was it really used?"} {
		used["temperature"] = design.NumberValue(temperature)
		said := lists.Map(b.snap.DoubtSettings(2, b.snap.Trial(2).Parameters, used), func(d Doubted) string { return d.Why })
		if got := strings.Join(said, " "); got != says {
			t.Errorf("%v in tenths of a degree, where 22 °C were chosen: %q, want %q", temperature, got, says)
		}
	}
}

// TestADoubtAboutASettingFollowsTheBounds: it says what may be chosen now, and goes with the bounds
// that it was about, but not with others, nor where a slip is likely.
func TestADoubtAboutASettingFollowsTheBounds(t *testing.T) {
	t.Parallel()
	for high, want := range map[float64][2]string{
		50:  {"Temperature 70\u202f°C? That is above the highest that may be chosen, 50\u202f°C: was it really used?", "Temperature 220\u202f°C? That is above the highest that may be chosen, 50\u202f°C: was it really used? 22\u202f°C was chosen: was the decimal point or the sign mistyped?"},
		65:  {"Temperature 70\u202f°C? That is above the highest that may be chosen, 65\u202f°C: was it really used?", "Temperature 220\u202f°C? That is above the highest that may be chosen, 65\u202f°C: was it really used? 22\u202f°C was chosen: was the decimal point or the sign mistyped?"},
		80:  {"", "Temperature 220\u202f°C? That is above the highest that may be chosen, 80\u202f°C: was it really used? 22\u202f°C was chosen: was the decimal point or the sign mistyped?"},
		300: {"", "Temperature 220\u202f°C? 22\u202f°C was chosen: was the decimal point or the sign mistyped?"},
	} {
		b := newBench(t, oven(t))
		b.choose(3)
		b.move(1, "temperature", 70)
		b.move(2, "temperature", 220)
		b.move(3, "temperature", 59)
		b.reconfigure(func(d *design.Definition) { d.Constraints[0].Threshold = 0.3 })
		b.reconfigure(func(d *design.Definition) { d.Parameters[0].High = new(high) })
		for i, says := range append(want[:], "") {
			said := lists.Map(b.snap.Trial(i+1).Doubts, func(d Doubted) string { return d.Why })
			if got := strings.Join(said, " "); got != says {
				t.Errorf("up to %v, trial %d: %q, want %q", high, i+1, got, says)
			}
		}
	}
}

// TestFirstReadingsAreSeldomDoubted: of honest studies' first four readings, drawn from
// distributions of all kinds, it is counted how often one is asked about. The levels that the rule
// is made from hold exactly for the normal one.
func TestFirstReadingsAreSeldomDoubted(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 17))
	const studies = 20000
	for n, most := range fewReadingSteps {
		odd, slip := 0, 0
		for range studies {
			var known []float64
			for range n {
				known = append(known, r.NormFloat64())
			}
			steps := RangeOf(known...).stepsTo(r.NormFloat64())
			if steps > most.odd {
				odd++
			}
			if steps > most.slip {
				slip++
			}
		}
		if odd > studies/100 || slip > studies/10 {
			t.Errorf("after %d readings, of %d normal ones %d are odd, and %d odd enough with a slip", n, studies, odd, slip)
		}
	}
	for _, f := range []struct {
		name string
		draw func() float64
		most float64 // share of the metrics of which any of the first four readings is asked about
	}{
		{"normal, a tenth around", func() float64 { return 60 + 6*r.NormFloat64() }, 0.02},
		{"normal, a third around", func() float64 { return 60 + 20*r.NormFloat64() }, 0.02},
		{"normal around 0", func() float64 { return r.NormFloat64() }, 0.12},
		{"uniform", func() float64 { return 100 * r.Float64() }, 0.04},
		{"lognormal, within a decade", func() float64 { return math.Exp(0.5 * r.NormFloat64()) }, 0.02},
		{"lognormal, over decades", func() float64 { return math.Exp(2 * r.NormFloat64()) }, 0.1},
		{"exponential", func() float64 { return r.ExpFloat64() }, 0.05},
		{"Laplace", func() float64 { return math.Copysign(r.ExpFloat64(), r.Float64()-0.5) }, 0.14},
	} {
		for _, limit := range []bool{false, true} {
			asked := 0
			for range studies {
				about := limited("")
				if limit {
					about = limited("", f.draw())
				}
				var known []float64
				for range 4 {
					value := f.draw()
					if judge(value, about, nil, RangeOf(known...)) != nil {
						asked++
						break
					}
					known = append(known, value)
				}
			}
			t.Logf("%s, limit %v: %.1f %%", f.name, limit, 100*float64(asked)/studies)
			if share := float64(asked) / studies; share > f.most {
				t.Errorf("%s, limit %v: %.3f of the metrics are asked about, more than %v", f.name, limit, share, f.most)
			}
		}
	}
}
