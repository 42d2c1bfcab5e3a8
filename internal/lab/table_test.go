package lab

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/mutation"
	"headroom/internal/study/design"
)

const recordedRows = "\ufeffrun,tool,speed,finish ,mrr,ra\n" +
	"1,new,100,fine,10,1.5\n" +
	"2,new,100,fine,10,1.9\n" +
	"3,worn,100,fine,10,9\n" +
	"4,new,200,rough,20,2\n" +
	"5,new,200,fine,20,oops\n"

const recordedSpec = `{"name": "lathe", "where": {"tool": "new", "finish": "fine", "speed": 100},
	"parameters": [{"name": "speed", "low": 50, "high": 250, "scale": "log"}, {"name": "finish"}],
	"objective": {"metric": "mrr", "direction": "maximize"}, "constraints": [{"metric": "ra", "op": "<=", "threshold": 1.8}]}`

func read(t testing.TB, table, spec string) (*Problem, error) {
	t.Helper()
	s, err := ReadSpec(strings.NewReader(spec))
	if err != nil {
		return nil, err
	}
	return ReadTable(strings.NewReader(table), s)
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	p := must.Get(read(t, recordedRows, recordedSpec))(t)
	if len(p.Study.Candidates) != 1 || p.Study.Candidates[0]["speed"].Number != 100 || p.Study.Candidates[0]["finish"].Text != "fine" {
		t.Fatalf("the candidates are %v", p.Study.Candidates)
	}
	if speed := p.Study.Parameters[0]; speed.Type != design.Real || speed.Scale != "log" || *speed.High != 250 {
		t.Errorf("the speed is %+v", speed)
	}
	if got := p.truth(p.Study.Candidates[0]); math.Abs(got["ra"]-1.7) > 1e-15 || got["mrr"] != 10 {
		t.Errorf("the truth is %v, want the mean of two readings", got)
	}
	if !p.feasible(p.truth(p.Study.Candidates[0])) || p.feasible(Values{"ra": 1.81}) {
		t.Error("a mean of 1.7 is within 1.8, and 1.81 is not")
	}
	drawn := map[float64]int{}
	for seed := range uint64(200) {
		drawn[p.reading(p.Study.Candidates[0], 0, Noise{Kind: OwnNoise}, seed)["ra"]]++
	}
	if len(drawn) != 2 || drawn[1.5] < 60 || drawn[1.9] < 60 {
		t.Errorf("readings drawn: %v, want both real ones", drawn)
	}
}

func TestReadTableRefusals(t *testing.T) {
	t.Parallel()
	for reason, change := range map[string][2]string{
		`no column "spede"`:    {`"name": "speed"`, `"name": "spede"`},
		`no column "yield"`:    {`"metric": "mrr"`, `"metric": "yield"`},
		"where: there is no":   {`"tool": "new"`, `"tol": "new"`},
		"no row has":           {`"tool": "new"`, `"tool": "lost"`},
		"row 6, column ra":     {`"fine", "speed": 100`, `"fine", "speed": 200`},
		"unknown field":        {`"where"`, `"were"`},
		"name is missing":      {`"name": "lathe",`, ``},
		"type categorical":     {`{"name": "finish"}`, `{"name": "finish", "type": "real"}`},
		"has the value 100 in": {`"low": 50, "high": 250, `, ``},
		"constraints[0].op":    {`"<="`, `"<"`},
		"is above the highest": {`250`, `90`},
	} {
		spec := strings.Replace(recordedSpec, change[0], change[1], 1)
		if spec == recordedSpec {
			t.Fatalf("%q is not in the spec", change[0])
		}
		if _, err := read(t, recordedRows, spec); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s → %s gives %v, want a word about %q", change[0], change[1], err, reason)
		}
	}
	if _, err := read(t, strings.Replace(recordedRows, "run", "ra", 1), recordedSpec); err == nil || !strings.Contains(err.Error(), `two columns are called "ra"`) {
		t.Errorf("two columns of one name give %v", err)
	}
	if _, err := read(t, "speed\n", recordedSpec); err == nil || !strings.Contains(err.Error(), "at least one row") {
		t.Errorf("an empty table gives %v", err)
	}
}

// TestNoise adds as much as it says, in the spread of each metric.
func TestNoise(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	at := p.Study.Candidates[4]
	if v := p.reading(at, 0, Noise{Kind: NoNoise}, 1); v["yield"] != 50 {
		t.Errorf("without noise 50 reads %v", v)
	}
	for kind, want := range map[string]float64{Gaussian: 0.5, Outliers: 0.5 * math.Sqrt(0.9+0.1*100)} {
		sum, square, n := 0.0, 0.0, 4000.0
		for seed := range uint64(n) {
			z := (p.reading(at, 3, Noise{kind, 0.5}, seed)["yield"] - 50) / p.Spread["yield"]
			sum, square = sum+z, square+z*z
		}
		if got := math.Sqrt(square / n); math.Abs(got/want-1) > 0.1 || math.Abs(sum/n) > 5*want/math.Sqrt(n) {
			t.Errorf("%s noise has mean %v and deviation %v, want 0 and %v", kind, sum/n, got, want)
		}
	}
	slipped := 0.0
	for seed := range uint64(4000) {
		if v := p.reading(at, 3, Noise{Slips, 1e-9}, seed)["yield"]; math.Abs(v-5) < 0.01 || math.Abs(v-500) < 0.01 {
			slipped++
		}
	}
	if share := slipped / 4000; math.Abs(share-slipShare) > 0.01 {
		t.Errorf("the decimal point slips in %g of the readings", share)
	}
	if spread := p.Spread["yield"]; math.Abs(spread-10*math.Sqrt(99./12)) > 1e-9 {
		t.Errorf("the spread of 10, 20, … 100 is %v", spread)
	}
}

// TestReadingsDiffer from visit to visit of a setting, from setting to setting and from seed to
// seed, and are the same otherwise.
func TestReadingsDiffer(t *testing.T) {
	t.Parallel()
	p := ladder(t, "maximize")
	noise := func(x, visit int, seed uint64) float64 {
		b := studyWorld{Game: Game{Problem: p, Noise: Noise{Gaussian, 1}, Seed: seed}, visits: map[string]int{}}
		var read Trial
		for range visit {
			read = b.measure(p.Study.Candidates[x-1])
		}
		return read.Read["yield"] - read.Truth["yield"]
	}
	first := noise(5, 1, 1)
	if again := noise(5, 1, 1); first != again {
		t.Errorf("the same reading is off by %v and by %v", first, again)
	}
	for what, other := range map[string]float64{"visit": noise(5, 2, 1), "setting": noise(6, 1, 1), "seed": noise(5, 1, 2)} {
		if math.Abs(first-other) < 1e-6 {
			t.Errorf("another %s is off by %v as well", what, other)
		}
	}
}

func TestMadeTables(t *testing.T) {
	t.Parallel()
	for _, k := range tableKinds {
		for _, suffix := range []string{"", "-2", "-3"} {
			p := problem(t, k.name+suffix)
			if again, err := Find(k.name + suffix); err != nil || p.fingerprint != again.fingerprint {
				t.Errorf("%s%s is drawn otherwise each time", k.name, suffix)
			}
			if suffix != "" && p.fingerprint == problem(t, k.name).fingerprint {
				t.Errorf("draw %s of %s is the first again", suffix, k.name)
			}
			checkFeasible(t, k, p)
		}
	}
}

// checkFeasible counts the settings within each limit, whose truth is the mean of readings where
// there are several.
func checkFeasible(t *testing.T, k tableKind, p *Problem) {
	t.Helper()
	n := len(p.Study.Candidates)
	for j, c := range p.Study.Constraints {
		count, met := 0, 0 // of those within, settings that meet a limit on a count
		for i := range n {
			if excess := c.Excess(p.truth(p.Study.Candidates[i])[c.Metric]); excess <= 0 {
				count++
				if k.counted && excess == 0 {
					met++
				}
			}
		}
		if want := k.limits[j].share * float64(n); k.counted && float64(count-met) < want && want < float64(count+1) {
			continue
		}
		if slack := 1 + 2*(k.readings-1)/7; math.Abs(float64(count)-k.limits[j].share*float64(n)) > float64(slack) {
			t.Errorf("%s: %d of %d settings are within %s, want a share of %v", p.Name, count, n, c.Metric, k.limits[j].share)
		}
	}
	if hopeless := k.name == "made-hopeless"; p.Scale.Any == hopeless {
		t.Errorf("%s: something is feasible: %t", p.Name, p.Scale.Any)
	}
}

// TestUnevenSpread: the settings' readings spread very differently.
func TestUnevenSpread(t *testing.T) {
	t.Parallel()
	p := problem(t, "made-uneven")
	least, most := math.Inf(1), 0.0
	for _, at := range p.Study.Candidates {
		square, n := 0.0, 100.0
		truth := p.truth(at)["yield"]
		for seed := range uint64(n) {
			d := p.read(at, rand.New(rand.NewPCG(seed, 0)))["yield"]/truth - 1
			square += d * d
		}
		least, most = math.Min(least, math.Sqrt(square/n)), math.Max(most, math.Sqrt(square/n))
	}
	if most < 8*least {
		t.Errorf("relative spreads run from %v to %v only", least, most)
	}
}

func TestFindRefuses(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{
		"made-mixed-x": "there is no problem", "7": "there is no problem", "moonshot": "made-mixed, ", "queue": "headroom simulate", "sine-pocket-drift": "headroom simulate",
	} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s gives %v, want a word about %q", name, err, reason)
		}
	}
	for _, l := range Menu() {
		problem(t, l.Name)
	}
}

// FuzzTable: a spec and its table become a problem or are refused.
func FuzzTable(plain *testing.F) {
	f := mutation.Of(plain)
	f.Add(`{"name": "s", "parameters": [{"name": "speed"}], "objective": {"metric": "y", "direction": "maximize"}}`, "speed,y\n1,2\n2,3\n")
	f.Add(`{"name": "s", "where": {"speed": 1}, "parameters": [{"name": "speed", "scale": "log", "low": 1, "high": 2}], "objective": {"metric": "y", "direction": "minimize"}, "constraints": [{"metric": "z", "op": "<=", "threshold": 0}]}`, "\ufeffspeed,y,z\n1,2,NaN\n")
	f.Add(`{"name": "s", "parameters": [{"name": "speed"}], "objective": {"metric": "y", "direction": "maximize"}}`, "speed,y\nNaN,2\n2,3\n")
	f.Fuzz(func(t *testing.T, specText, text string) {
		spec, err := ReadSpec(strings.NewReader(specText))
		if err != nil {
			return
		}
		if problem, err := ReadTable(strings.NewReader(text), spec); (problem == nil) == (err == nil) {
			t.Errorf("%v and %v", problem, err)
		}
	})
}

// A metric may be called |E|: that is no end of a cell.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	want := "| | a |\n|---|---|\n| beyond \\|E\\| | 2 |\n"
	if got := markdown([][]string{{"", "a"}, {"beyond |E|", "2"}}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAFileThatCannotBeWrittenIsOneFault: what follows from the first is not said beside it.
func TestAFileThatCannotBeWrittenIsOneFault(t *testing.T) {
	t.Parallel()
	if err := Write(filepath.Join(t.TempDir(), "nowhere", "runs.csv"), nil); err == nil || strings.Contains(err.Error(), "chmod") {
		t.Errorf("%v", err)
	}
}
