package api_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
)

// TestWhatWasNeverReadIsNull: of a metric without a single reading there is no number anywhere, nor
// is there one of the chance to keep a limit on it. Once it is read there are both.
func TestWhatWasNeverReadIsNull(t *testing.T) {
	t.Parallel()
	for name, algorithm := range map[string]string{"paper's": `"algorithm": {"name": "rpol-ucb", "horizon": 20}`, "default": `"algorithm": {"name": "log-cei", "horizon": 20}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t)
			study := "/studies/" + s.NewStudy(strings.Replace(sitetest.Screen, `"algorithm": {"name": "rpol-ucb", "horizon": 20}`, algorithm, 1))
			s.API("POST", study+"/import", "temperature,catalyst,yield\n30,A,71\n35,A,80\n50,B,60\n45,B,66\n25,A,70\n55,B,58\n", "Content-Type", "text/csv").Want(200)
			look := func() map[string]any {
				asked := s.API("POST", study+"/ask", `{}`).Want(201).JSON()
				events := s.API("GET", study+"/ledger?limit=1000", nil).Want(200).JSON()["events"].([]any)
				rounds := s.API("GET", study+"/history", nil).Want(200).JSON()["rounds"].([]any)
				return map[string]any{
					"trial":     sitetest.At(t, asked, "trials/0"),
					"stored":    sitetest.At(t, events[len(events)-1], "data"),
					"state":     s.API("GET", study+"/state", nil).Want(200).JSON(),
					"posterior": s.API("POST", study+"/posterior", `{"points": [{"temperature": 40, "catalyst": "A"}, {"temperature": 41, "catalyst": "B"}]}`).Want(200).JSON(),
					"history":   rounds[len(rounds)-1],
				}
			}
			ofMetric := []string{"trial/decision/mean/%s", "trial/decision/sd/%s", "stored/decision/mean/%s", "stored/decision/sd/%s",
				"posterior/metrics/%s/mean/1", "posterior/metrics/%s/sd/1", "posterior/metrics/%s/lower/0", "posterior/metrics/%s/upper/0", "posterior/metrics/%s/lower95/1", "posterior/metrics/%s/upper95/1",
				"history/ahead/%s"}
			ofLimits := []string{"trial/decision/feasibility_probability", "stored/decision/feasibility_probability", "posterior/feasibility_probability/0", "posterior/feasibility_probability/1",
				"state/violation/impurity/estimated", "history/violation/impurity/estimated", "state/recommendation"}
			before := look()
			for _, path := range ofMetric {
				if got := sitetest.At(t, before, fmt.Sprintf(path, "impurity")); got != nil {
					t.Errorf("%s is %v", fmt.Sprintf(path, "impurity"), got)
				}
				if sitetest.At(t, before, fmt.Sprintf(path, "yield")) == nil {
					t.Errorf("%s is null, and it was read", fmt.Sprintf(path, "yield"))
				}
			}
			for _, path := range ofLimits {
				if got := sitetest.At(t, before, path); got != nil {
					t.Errorf("%s is %v", path, got)
				}
			}
			if got := sitetest.At(t, before, "state/undecided"); got != nil {
				t.Errorf("state/undecided is %v", got)
			}
			because := s.API("POST", study+"/compare", `{"algorithms": [{"name": "cei"}, {"name": "rpol-ucb"}]}`).Want(200).JSON()
			for i := range 2 {
				sitetest.Lacks(t, sitetest.At(t, because, fmt.Sprintf("choices/%d/because", i)).(string), "chance to stay within", "impurity 0")
			}
			for i, impurity := range []float64{0.3, 0.31, 0.2, 0.25, 0.28, 0.33} {
				s.API("POST", fmt.Sprintf("%s/trials/%d/tell", study, i+1), fmt.Sprintf(`{"metrics": {"impurity": %g}}`, impurity)).Want(200)
			}
			after := look()
			for _, path := range append(ofLimits, ofMetric...) {
				if strings.Contains(path, "%s") {
					path = fmt.Sprintf(path, "impurity")
				}
				if sitetest.At(t, after, path) == nil {
					t.Errorf("%s stays null after impurity was read", path)
				}
			}
			s.API("POST", study+"/verify", `{}`).Want(200).Has("ok", true)
		})
	}
}

// TestNoViolationIsEstimatedWithoutAScale: before a limit's metric has a scale, nothing is known of its
// unit, so what the model thinks of its violation is no number.
func TestNoViolationIsEstimatedWithoutAScale(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(sitetest.Screen)
	estimated := func() any {
		rounds := s.API("GET", study+"/history", nil).Want(200).JSON()["rounds"].([]any)
		state := s.API("GET", study+"/state", nil).Want(200).At("violation/impurity/estimated")
		sitetest.Same(t, "the last row's estimate", sitetest.At(t, rounds[len(rounds)-1], "violation/impurity/estimated"), state)
		return state
	}
	own := `{"parameters": {"temperature": 45, "catalyst": "B"}, "metrics": {"yield": 77.4, "impurity": 0.44}}`
	s.API("POST", study+"/trials", own).Want(201)
	if got := estimated(); got != nil {
		t.Errorf("after one reading it is %v", got)
	}
	for range 4 {
		s.API("POST", study+"/trials", strings.Replace(own, "0.44", "0.61", 1)).Want(201)
	}
	if estimated() == nil {
		t.Error("after five readings there is none")
	}
}

// TestADryRunHasWhoeverMakesIt: what would come with a correction is by whoever asks what would.
func TestADryRunHasWhoeverMakesIt(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Rig", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "load", "op": "<=", "threshold": 0.8, "expression": "x"}]}`)
	s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"x": 0.5}, "metrics": {"yield": 1}}`).Want(201)
	correct := "/studies/" + id + "/trials/1/corrections"
	const correction = `{"parameters": {"x": 0.6}, "reason": "typo"}`
	would := s.API("POST", correct+"?dry_run=true", correction).Want(200).At("impact/trial/metrics/load/by")
	if is := s.API("POST", correct, correction).Want(200).At("metrics/load/by"); would != is {
		t.Errorf("it would be by %q, and is by %q", would, is)
	}
}

// TestAChangedFormulaDecidesWhatIsRecommended: what happened stays as it was recorded, and what is to
// be done goes by the formula in force, as far as what it depends on was brought with a trial.
func TestAChangedFormulaDecidesWhatIsRecommended(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Formula", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "load", "op": "<=", "threshold": 0.8, "expression": "x"}, {"metric": "heat", "op": "<=", "threshold": 0.9, "expression": "x"}], "algorithm": {"name": "log-cei", "horizon": 30}, "seed": 1}`)
	table := "x,yield\n"
	for i := range 11 {
		table += fmt.Sprintf("%g,%g\n", float64(i)/10, 50+float64(3*i))
	}
	s.API("POST", "/studies/"+id+"/import", table, "Content-Type", "text/csv").Want(200)
	recommended := func(query string) float64 {
		state := s.API("GET", "/studies/"+id+"/state?without_gain=true"+query, nil).Want(200).JSON()
		return state["recommendation"].(map[string]any)["parameters"].(map[string]any)["x"].(float64)
	}
	reconfigure := func(constraint map[string]any) {
		constraint["metric"], constraint["op"], constraint["threshold"] = "load", "<=", 0.8
		s.API("POST", "/studies/"+id+"/reconfigure", map[string]any{"reason": "two pumps", "constraints": []any{constraint}}).Want(200)
	}
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201) // fits the model
	before := int(version(t, s, id))
	if x := recommended(""); x != 0.8 {
		t.Fatalf("of what keeps x ≤ 0.8, x = %g is recommended", x)
	}
	reconfigure(map[string]any{"expression": "2*x"})
	if x := recommended(""); x != 0.4 {
		t.Errorf("of what keeps 2x ≤ 0.8, x = %g is recommended", x)
	}
	if x := recommended(fmt.Sprintf("&at=%d", before)); x != 0.8 {
		t.Errorf("before the change, x = %g was recommended", x)
	}
	sixth := s.API("GET", "/studies/"+id+"/trials/6", nil).Want(200).JSON()
	if load := sixth["metrics"].(map[string]any)["load"].(map[string]any)["value"]; load != 0.5 || sixth["feasible"] != true {
		t.Errorf("of x = 0.5 the load was %v, within the limit: %v", load, sixth["feasible"])
	}
	next := s.API("POST", "/studies/"+id+"/ask", nil).Want(201).JSON()
	chosen := next["trials"].([]any)[0].(map[string]any)
	if x, outdo := chosen["parameters"].(map[string]any)["x"].(float64), chosen["decision"].(map[string]any)["incumbent"]; x > 0.4 || outdo != 5. {
		t.Errorf("x = %g is asked for, to outdo trial %v", x, outdo)
	}
	reconfigure(map[string]any{"expression": "omega*x", "context": []any{"omega"}})
	if x := recommended(""); x != 0.8 {
		t.Errorf("where nobody brought omega, x = %g is recommended", x)
	}
	s.API("POST", "/studies/"+id+"/reconfigure", map[string]any{"reason": "one more", "constraints": []any{
		map[string]any{"metric": "heat", "op": "<=", "threshold": 0.9, "expression": "3*x"}}}).Want(200)
	if x := recommended(""); x != 0.3 {
		t.Errorf("of what keeps 3x ≤ 0.9 beside that, x = %g is recommended", x)
	}
	s.API("POST", "/studies/"+id+"/reconfigure", map[string]any{"reason": "a pole", "constraints": []any{
		map[string]any{"metric": "heat", "op": "<=", "threshold": 0.9, "expression": "3*x + 0.001/(x-0.3)/(x-0.3)"}}}).Want(200)
	if x := recommended(""); x != 0.2 {
		t.Errorf("where a formula has no value at x = 0.3, x = %g is recommended", x)
	}
	s.API("POST", "/studies/"+id+"/verify", `{}`).Want(200).Has("ok", true)
}

// TestPriceOfALimit reads the curve as programs do: it rises as the limit is loosened, its slope is
// its finite difference, each step is what the posterior says of its settings, and it can be looked
// back at.
func TestPriceOfALimit(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	table := "temperature,catalyst,yield,impurity\n"
	for i := range 16 {
		x := 20 + 2.5*float64(i)
		table += fmt.Sprintf("%g,%s,%g,%g\n", x, "AB"[i%2:i%2+1], 60+0.4*x+float64(i%3)*0.2, 0.01*x+0.05*float64(i%2))
	}
	s.API("POST", "/studies/"+id+"/import", table, "Content-Type", "text/csv").Want(200)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201) // fits the model
	price := s.Call("GET", "/api/v1/studies/"+id+"/price?constraint=Impurity", s.Token(account.Viewer, id), nil).Want(200).JSON()
	curve := price["curve"].([]any)
	if price["metric"] != "impurity" || price["op"] != "<=" || price["threshold"] != 0.5 || price["unit"] != "%" || len(curve) != 11 {
		t.Fatalf("%v", price)
	}
	at := func(i int, field string) float64 {
		value, known := curve[i].(map[string]any)[field].(float64)
		if !known {
			t.Fatalf("step %d has no %s: %v", i, field, curve[i])
		}
		return value
	}
	for i := 1; i < len(curve); i++ {
		if at(i, "threshold") <= at(i-1, "threshold") || at(i, "best") < at(i-1, "best") || at(i, "sd") <= 0 {
			t.Errorf("step %v follows %v", curve[i], curve[i-1])
		}
	}
	if want := (at(6, "best") - at(4, "best")) / (at(6, "threshold") - at(4, "threshold")); math.Abs(price["slope"].(float64)-want) > 1e-9 || want <= 1 {
		t.Errorf("slope %v, want %g", price["slope"], want)
	}
	settings := curve[5].(map[string]any)["parameters"]
	posterior := s.API("POST", "/studies/"+id+"/posterior", map[string]any{"points": []any{settings}}).Want(200).JSON()
	mean := posterior["metrics"].(map[string]any)["yield"].(map[string]any)["mean"].([]any)[0].(float64)
	if chance := posterior["feasibility_probability"].([]any)[0].(float64); math.Abs(mean-at(5, "best")) > 1e-3 || chance < 0.899 {
		t.Errorf("%v is expected to give %g with a chance of %g, the curve says %g", settings, mean, chance, at(5, "best"))
	}
	if early := s.API("GET", "/studies/"+id+"/price?constraint=impurity&at=1", nil).Want(200).JSON(); len(early["curve"].([]any)) != 0 || early["slope"] != nil {
		t.Errorf("before any reading: %v", early)
	}
	s.API("GET", "/studies/"+id+"/price?constraint=purity", nil).Want(422).Says("did you mean")
	unlimited := s.NewStudy(`{"name": "Free", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "y", "direction": "maximize"}}`)
	s.API("GET", "/studies/"+unlimited+"/price?constraint=purity", nil).Want(422).Says("the study has none")
	s.API("GET", "/studies/"+id+"/price", nil).Want(422)
	s.API("GET", "/studies/"+id+"/price?constraint=impurity&at=1000", nil).Want(422)
}

// TestNoChanceIsMadeUp: a limit that depends on what a trial brings has no chance before that, and a
// limit of known form is broken where it has no value, and at the other points asked for by what it is.
func TestNoChanceIsMadeUp(t *testing.T) {
	s := sitetest.Beside(t)
	const asked = `{"points": [{"x": 0.2}, {"x": 0.3}, {"x": 0.9}]}`
	for limit, want := range map[string]string{
		`{"metric": "load", "op": "<=", "threshold": 3, "expression": "0.1/(x - 0.3)^2"}`:       `0 0 1`,
		`{"metric": "load", "op": "<=", "threshold": 3, "expression": "w*x", "context": ["w"]}`: `<nil> <nil> <nil>`,
		`{"metric": "load", "op": ">=", "threshold": -3, "expression": "0 - 0.1/(x - 0.3)^2"}`:  `0 0 1`,
	} {
		id := s.NewStudy(`{"name": "Known", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "y", "direction": "maximize"}, "constraints": [` + limit + `]}`)
		chances := s.API("POST", "/studies/"+id+"/posterior", asked).Want(200).JSON()["feasibility_probability"].([]any)
		if got := strings.Trim(fmt.Sprint(chances), "[]"); got != want {
			t.Errorf("%s: %s, want %s", limit, got, want)
		}
	}
}
