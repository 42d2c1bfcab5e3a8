package ledger

import (
	"encoding/json"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study/design"
)

// fit records hyperparameters in force from the next decision on.
func (b *bench) fit(scale float64) {
	b.Helper()
	b.add(Fitted, FittedData{From: len(b.snap.Trials) + 1, Seen: b.snap.Version, Engine: "1", Metrics: map[string]FittedMetric{"yield": {FittedMetric: optimizer.FittedMetric{Scale: scale}}}})
}

// A fit is good for as long as the data it was made from and the model it was made for stand.
func TestWhatEndsAFit(t *testing.T) {
	t.Parallel()
	used := design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(3)}
	for name, c := range map[string]struct {
		happens   func(b *bench)
		rewritten bool // the past is another than the fit knew, so that another one is due
	}{
		"nothing":                  {func(*bench) {}, false},
		"more results":             {func(b *bench) { b.tell(2, map[string]float64{"yield": 2}) }, false},
		"a failure":                {func(b *bench) { b.close(Failed, 2, "x") }, false},
		"a new name":               {func(b *bench) { b.add(Edited, EditedData{Name: new("x")}) }, false},
		"a correction":             {func(b *bench) { b.correct(1, &Reading{Value: 3}) }, true},
		"corrected settings":       {func(b *bench) { b.move(1, "temperature", 40) }, true},
		"an exclusion":             {func(b *bench) { b.close(Excluded, 1, "x") }, true},
		"other settings, measured": {func(b *bench) { b.add(Told, ToldData{Number: 1, Telling: Telling{Parameters: used}}) }, true},
		"other settings, at first": {func(b *bench) { b.add(Told, ToldData{Number: 2, Telling: Telling{Parameters: used}}) }, false},
		"another limit":            {func(b *bench) { b.reconfigure(func(d *design.Definition) { d.Constraints[0].Threshold = 0.4 }) }, false},
		"another model":            {func(b *bench) { b.reconfigure(func(d *design.Definition) { d.Model.Kernel = json.RawMessage(`"se"`) }) }, true},
		"other bounds":             {func(b *bench) { b.reconfigure(func(d *design.Definition) { d.Parameters[0].High = new(70.0) }) }, true},
		"another fit":              {func(b *bench) { b.fit(4) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, oven(t))
			b.choose(2)
			b.tell(1, map[string]float64{"yield": 70})
			b.correct(1, &Reading{Value: 71})
			if b.snap.History(b.snap.Compiled()).Rewritten {
				t.Error("nothing has been fitted yet")
			}
			b.fit(2)
			base := b.snap
			c.happens(b)
			if got := b.snap.History(b.snap.Compiled()).Rewritten; got != c.rewritten {
				t.Errorf("rewritten: %v", got)
			}
			if got, want := b.snap.SameDefinition(base), name != "another limit" && name != "another model" && name != "other bounds"; got != want {
				t.Errorf("the same definition: %v", got)
			}
		})
	}
}

func TestFitsOfOneLedgerAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	for scale := range 3 { // leaves room behind the list
		b.fit(float64(scale + 1))
	}
	base, events := b.snap, b.events
	b.fit(4)
	one := b.snap
	b.snap, b.events = base, events
	b.fit(5)
	if len(base.Fits) != 3 || one.Fits[3].Metrics["yield"].Scale != 4 || b.snap.Fits[3].Metrics["yield"].Scale != 5 {
		t.Errorf("%v\n%v\n%v", base.Fits, one.Fits, b.snap.Fits)
	}
}

func TestFitsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	for name, data := range map[string]FittedData{
		"from the past":   {From: 1, Seen: 1},
		"from the future": {From: 3, Seen: 1},
		"sees itself":     {From: 2, Seen: b.snap.Version + 1},
	} {
		data.Metrics = map[string]FittedMetric{"yield": {FittedMetric: optimizer.FittedMetric{Scale: 1}}}
		b.refuses(name, Draft{Fitted, data})
	}
}

// TestTheFormOfFits: they are hashed as they were written, whatever the optimizer calls what they hold.
func TestTheFormOfFits(t *testing.T) {
	t.Parallel()
	scaled := FittedMetric{Kernel: "se", Inputs: "unit", Outputs: "standardize"}
	scaled.FittedMetric = optimizer.FittedMetric{Set: true, Centre: 5, Scale: 2, Warp: warp.Identity, Count: 3}
	whole := FittedMetric{Kernel: "anova", Inputs: "unit", Outputs: "standardize"}
	whole.FittedMetric = optimizer.FittedMetric{Set: true, Centre: 5, Scale: 2, Lengthscales: []float64{0.1, 0.2}, Lambda: 0.01, Variance: 1.5, Interaction: 0.3, Told: 0.4, Inflation: 1.2, Freedom: 8, Count: 9,
		Warp: warp.Warp{Centre: 0.1, Scale: 1.1, Origin: -2, Unit: 3}, Settings: []optimizer.NoiseAt{{Round: 2, Lambda: 0.03}}, Wrong: []optimizer.NoiseAt{{Round: 4, Lambda: 9}}}
	written := must.Get(json.Marshal(FittedData{From: 7, Seen: 9, Engine: "11", Metrics: map[string]FittedMetric{"cost": scaled, "yield": whole}}))(t)
	const form = `{"from":7,"seen":9,"engine":"11","metrics":{` +
		`"cost":{"kernel":"se","inputs":"unit","outputs":"standardize","centre":5,"scale":2,"count":3},` +
		`"yield":{"kernel":"anova","inputs":"unit","outputs":"standardize","centre":5,"scale":2,"lengthscales":[0.1,0.2],"lambda":0.01,"variance":1.5,"interaction":0.3,` +
		`"warp":{"power":0,"centre":0.1,"scale":1.1,"origin":-2,"unit":3},"told":0.4,"inflation":1.2,"freedom":8,` +
		`"noise_by_setting":[{"number":2,"lambda":0.03}],"wrong_readings":[{"number":4,"lambda":9}],"count":9}}}`
	if string(written) != form {
		t.Errorf("a fit is written as\n%s\nnot as\n%s", written, form)
	}
}
