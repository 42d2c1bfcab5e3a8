package pages_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"rsc.io/qr"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
)

// fact is a named number on a page of a trial.
func fact(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)>` + regexp.QuoteMeta(name) + `</\w+>\s*<[^>]*>([^<]*)<`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no %q on the page", name)
	}
	return strings.TrimSpace(found[1])
}

// TestAnUndoneTrialIsAsItWas: what had failed has failed again, as whoever said so had said, and waits for
// nothing; and what cannot be undone is not blamed on others.
func TestAnUndoneTrialIsAsItWas(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(sitetest.Screen)
	s.API("POST", study+"/ask", nil).Want(201)
	s.Call("POST", "/api/v1"+study+"/trials/1/fail", s.Token(account.Operator, ""), `{"reason": "pump"}`).Want(200)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 71}}`).Want(200)
	to := post(s, study+"/trials/1/undo", url.Values{}).Want(303).Header.Get("Location")
	sitetest.Says(t, s.Page(to), "Undone: results and settings are as they were.", "failed")
	sitetest.Says(t, s.Page(study+"/trials/1"), "Failed because of its settings: Test operator (token) said: pump")
	refused := string(post(s, study+"/trials/1/undo", url.Values{}).Want(409).Body)
	sitetest.Says(t, refused, "This cannot be done now", "there is nothing to undo")
	sitetest.Lacks(t, refused, "gone on meanwhile")
}

// TestAResultThatCannotBeSavedComesBack on a page of its own too: where others were quicker with all
// of it, or the study has been archived.
func TestAResultThatCannotBeSavedComesBack(t *testing.T) {
	s := sitetest.Beside(t)
	typed := url.Values{"metric.0": {"66.6"}, "metric.1": {"0.11"}, "note": {"foamed"}}
	study := newTrial(s)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 50, "impurity": 0.2}}`).Want(200)
	post(s, study+"/trials/1/tell", typed).Want(422).Says("Nothing of yours is saved yet", `value="66.6"`, `value="0.11"`, `value="foamed"`)
	study = newTrial(s)
	s.API("PATCH", study, `{"state": "archived"}`).Want(200)
	post(s, study+"/trials/1/tell", typed).Want(422).Says("is archived", `value="66.6"`, `value="0.11"`, `value="foamed"`)
}

// TestACorrectionIsPreviewedBesideWhatOthersChange: what is doubted of it since its form came is no
// fault here.
func TestACorrectionIsPreviewedBesideWhatOthersChange(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 71.2}}`).Want(200)
	s.Another().API("POST", study+"/reconfigure", `{"objective": {"metric": "yield", "direction": "maximize", "unit": "%", "plausible": [0, 73]}, "reason": "no more is there"}`).Want(200)
	post(s, study+"/trials/1/correct?seen=1", url.Values{"metric.0": {"75"}, "used.0": {"30"}, "used.1": {"A"}, "reason": {"typo"}, "do": {"preview"}}).Want(200).Says("Trial 1 would be")
}

// TestWhatRepeatsATrialIsNotSaidToHaveItsSettings, which may have been put right since.
func TestWhatRepeatsATrialIsNotSaidToHaveItsSettings(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/trials/1/replicates", nil).Want(201)
	s.API("POST", study+"/trials/1/corrections", `{"parameters": {"temperature": 31.5, "catalyst": "A"}, "reason": "the probe was off"}`).Want(200)
	for _, page := range []string{s.Page(study), s.Page(study + "/trials/2")} {
		sitetest.Says(t, page, "</time>, to repeat")
		sitetest.Lacks(t, page, ", same settings as")
	}
}

// TestWhoChangesAPartOfAMixtureChangesWhatIsLeft: the form asks for what was different alone, and
// shows the remainder filled in.
func TestWhoChangesAPartOfAMixtureChangesWhatIsLeft(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(`{"name": "Mixture", "objective": {"metric": "yield", "direction": "maximize"}, "parameters": [
		{"name": "a", "type": "real", "low": 0, "high": 80}, {"name": "b", "type": "real", "low": 0, "high": 80}, {"name": "water", "type": "remainder", "total": 100, "of": ["a", "b"], "low": 10, "high": 90}]}`)
	s.API("POST", study+"/trials", `{"parameters": {"a": 30.49104914, "b": 5.58024709}}`).Want(201)
	form := url.Values{"metric.0": {"7"}}
	fillIn(form, s.Page(study))
	form.Set("used.0", "31.5")
	post(s, study+"/trials/1/tell", form).Want(303)
	used := func() string { return fmt.Sprint(s.API("GET", study+"/trials/1", nil).JSON()["parameters"]) }
	if got, want := used(), "map[a:31.5 b:5.58024709 water:62.91975291]"; got != want {
		t.Errorf("used is %s, want %s", got, want)
	}
	form = url.Values{"reason": {"typo"}, "do": {"correct"}}
	fillIn(form, s.Page(study+"/trials/1/correct"))
	form.Set("used.1", "6.5")
	fillIn(form, string(post(s, study+"/trials/1/correct", form).Want(200).Body))
	post(s, study+"/trials/1/correct", form).Want(303)
	if got, want := used(), "map[a:31.5 b:6.5 water:62]"; got != want {
		t.Errorf("corrected is %s, want %s", got, want)
	}
	form.Set("used.2", "60")
	post(s, study+"/trials/1/correct", form).Want(422).Says("must be 62, what the others leave of 100; it may be left out")
}

// TestAReasonComesBackWhereItWasGiven, in no other form: an exclusion's is none to include the trial
// again that somebody else excluded meanwhile, nor why it failed.
func TestAReasonComesBackWhereItWasGiven(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	long := strings.Repeat("Z", 3000)
	for kind, field := range map[string]string{"excluded": "exclude-f-reason", "settings": "r-1-f-reason"} {
		page := string(post(s, study+"/trials/1/close", url.Values{"kind": {kind}, "reason": {long}}).Want(422).Body)
		if inputs := regexp.MustCompile(`id="([^"]*)" name="reason" value="Z`).FindAllStringSubmatch(page, -1); len(inputs) != 1 || inputs[0][1] != field {
			t.Errorf("what was sent as %s stands in %.100q", kind, inputs)
		}
	}
	s.API("POST", study+"/trials/1/exclude", `{"reason": "contaminated"}`).Want(200)
	post(s, study+"/trials/1/close", url.Values{"kind": {"excluded"}, "reason": {"the stirrer broke"}}).Want(422).Says("include it again").Lacks(`value="the stirrer broke"`)
}

func TestALimitOnTheObjectiveIsShownWithItsOwnEstimate(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Oven", "parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60}],
		"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [{"metric": "yield", "op": ">=", "threshold": 3}],
		"algorithm": {"name": "rpol-ucb", "horizon": 20}, "model": {"fit": "fixed"}, "seed": 1}`)
	for i := range 3 {
		s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
		s.API("POST", fmt.Sprintf("/studies/%s/trials/%d/tell", id, i+1), fmt.Sprintf(`{"metrics": {"yield": %d}}`, i+1)).Want(200)
	}
	decision := s.API("GET", "/studies/"+id+"/trials/3", nil).Want(200).JSON()["decision"].(map[string]any)
	estimates := decision["estimates"].(map[string]any)
	objective, limit := estimates["yield"].(float64), estimates["yield (limit)"].(float64)
	if objective == limit {
		t.Fatalf("the test needs two different estimates, not %v", estimates)
	}
	page := s.Page("/studies/" + id + "/trials/3")
	if a, b := fact(t, page, "Estimate for the objective"), fact(t, page, "Estimate for yield"); a == b || strings.HasPrefix(b, "−") != (limit < 0) {
		t.Errorf("objective %v shown as %s, limit %v as %s", objective, a, limit, b)
	}
}

// TestATrialTellsItsPhase: where nobody knows how many trials there will be, a trial's page says
// which T it was decided with; elsewhere it says nothing of it.
func TestATrialTellsItsPhase(t *testing.T) {
	s := sitetest.Beside(t)
	for _, horizon := range []string{"planned", "doubling"} {
		id := s.NewStudy(`{"name": "` + horizon + `", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
			"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5}],
			"algorithm": {"name": "ckb-ucb", "horizon": 20, "settings": {"horizon": "` + horizon + `"}}, "model": {"fit": "fixed"}, "seed": 1}`)
		for range 5 {
			s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
		}
		page := s.Page("/studies/" + id + "/trials/5")
		if horizon == "planned" {
			sitetest.Lacks(t, page, "Horizon (T)")
		} else {
			sitetest.Same(t, "the horizon", fact(t, page, "Horizon (T)"), "4")
			sitetest.Says(t, page, "length of the phase that began with trial 4")
		}
	}
}

// TestATrialChosenBlindlyHasNoPredictions: what nobody had read when it was chosen has no number,
// no chance and no estimate; later trials have them, each ± with its name.
func TestATrialChosenBlindlyHasNoPredictions(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 60, "impurity": 0.2, "pressure": 1}}`).Want(200)
	curve(s, id, 6, 0, "yield", "impurity", "pressure")
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+id+"/trials/8/tell", `{"metrics": {"yield": 60, "impurity": 0.2, "pressure": 1}, "parameters": {"x": 0.111}}`).Want(200)
	first := s.Page("/studies/" + id + "/trials/1")
	sitetest.Lacks(t, first, " ± 1.0", "Chance to stay within every limit", "Estimate for the objective", "Estimate for impurity")
	sitetest.Same(t, "what is said of yield", fact(t, first, "Predicted yield"), "nothing")
	young := s.NewStudy(screened)
	s.API("POST", "/studies/"+young+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+young+"/trials/1/tell", `{"metrics": {"yield": 60, "impurity": 0.2, "pressure": 1}}`).Want(200)
	s.API("POST", "/studies/"+young+"/ask", nil).Want(201)
	sitetest.Lacks(t, s.Page("/studies/"+young+"/trials/2"), "Expected improvement")
	last := s.Page("/studies/" + id + "/trials/8")
	sitetest.Lacks(t, last, "Optimistic", "maximised, modelled units") // log-cei takes means, and maximises a logarithm
	sitetest.Says(t, last, "Estimate for the objective", "the logarithm of what was maximised")
	sitetest.Says(t, last, "Chance to stay within every limit", "without the noise of a reading", "noise included", "at the settings chosen")
}

// TestWhyATrialFailed: one press says whether the settings or bad luck made a trial fail, the page
// says so, and it can be said otherwise afterwards.
func TestWhyATrialFailed(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	address := study + "/trials/1"
	page := func() string {
		return s.Page(address)
	}
	for _, step := range []struct{ kind, reason, shown, ledger, cause string }{
		{"settings", "it leaked", "Failed because of its settings: it leaked", "said that trial 1 failed because of its settings", "settings"},
		{"chance", "a fuse blew", "Failed by chance: a fuse blew", "said that trial 1 failed by chance", "chance"},
		{"abandoned", "never begun", "Not run: never begun", "gave up trial 1", ""},
	} {
		sitetest.Says(t, page(), `value="settings">These settings failed`, `value="chance">Bad luck`, `value="abandoned">It will not be run`)
		post(s, address+"/close", url.Values{"kind": {step.kind}, "reason": {step.reason}}).Want(303)
		sitetest.Says(t, page(), step.shown, step.ledger, "Nothing was measured.")
		sitetest.Lacks(t, page(), "Each result will appear here")
		trial := s.API("GET", address, nil).Want(200).JSON()
		if got, _ := trial["cause"].(string); got != step.cause {
			t.Errorf("%s: cause %q", step.kind, got)
		}
	}
	again := string(post(s, address+"/close", url.Values{"kind": {"abandoned"}, "reason": {"as I said"}}).Want(422).Body)
	sitetest.Says(t, again, "abandoned already", "as I said")
	post(s, address+"/close", url.Values{"kind": {"failed"}, "reason": {"x"}}).Want(400)
}

// The sheet on paper has what to set, each metric with its limit and a blank or what was saved, and
// a code that opens the trial's page.
func TestThePrintSheet(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	trial := s.API("POST", study+"/ask", nil).Want(201).JSON()["trials"].([]any)[0].(map[string]any)
	path := fmt.Sprintf("%s/trials/%v", study, trial["number"])
	s.API("POST", path+"/tell", `{"metrics": {"impurity": 0.37}}`).Want(200)
	page := s.Page(path + "/sheet")
	sitetest.Says(t, page, "Buffer screen", fmt.Sprintf("Trial %v", trial["number"]), "temperature", "catalyst", trial["parameters"].(map[string]any)["catalyst"].(string), "≤\u202f0.5", "0.37", "saved already", `<span class="line">`)
	if blanks := regexp.MustCompile(`(?s)yield</th>.{0,200}<span class="line">`); !blanks.MatchString(page) {
		t.Error("there is no blank for the yield")
	}
	address := "http://headroom.test" + path
	code := must.Get(qr.Encode(address, qr.M))(t)
	drawn := regexp.MustCompile(`(?s)class="qr".*?<path d="([^"]*)"`).FindStringSubmatch(page)
	if drawn == nil || !strings.Contains(page, fmt.Sprintf(`viewBox="0 0 %d %d"`, code.Size+8, code.Size+8)) {
		t.Fatal("no code is drawn with its white margin")
	}
	black := map[[2]int]bool{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-\d+z`).FindAllStringSubmatch(drawn[1], -1) {
		var x, y, length int
		must.Get(fmt.Sscan(run[1]+" "+run[2]+" "+run[3], &x, &y, &length))(t)
		for i := range length {
			black[[2]int{x + i, y}] = true
		}
	}
	for y := -4; y < code.Size+4; y++ {
		for x := -4; x < code.Size+4; x++ {
			if black[[2]int{x + 4, y + 4}] != code.Black(x, y) {
				t.Fatalf("module %d, %d of the code for %s is wrong", x, y, address)
			}
		}
	}
	sitetest.Says(t, page, address)
}

// The theorem behind a bound stands on the page, on the board and in the report, each assumption
// with how it stands here, and in the API's description of the algorithm in the same words; API and
// pages call a bound a guarantee only while no assumption is known not to hold, else say why not in
// the same words.
func TestTheTheoremBehindABound(t *testing.T) {
	s := sitetest.Beside(t)
	proven := strings.Replace(sitetest.Screen, `"seed": 7`, `"model": {"outputs": "raw", "fit": "fixed"}, "seed": 7`, 1)
	proven = strings.Replace(proven, `"name": "rpol-ucb"`, `"name": "rpol-ucb", "settings": {"beta": {"schedule": "theory", "B": 2, "R": 0.5}}`, 1)
	study := "/studies/" + s.NewStudy(proven)
	for i := range 4 {
		s.API("POST", study+"/ask", nil).Want(201)
		s.API("POST", fmt.Sprintf("%s/trials/%d/tell", study, i+1), fmt.Sprintf(`{"metrics": {"yield": 0.%d, "impurity": 0.%d}}`, 6-i, 3+i)).Want(200)
	}
	var described map[string]any
	for _, a := range s.API("GET", "/algorithms", nil).Want(200).JSON()["algorithms"].([]any) {
		if a := a.(map[string]any); a["name"] == "rpol-ucb" {
			described = a["theorem"].(map[string]any)
		} else if a["name"] == "log-cei" && a["theorem"] != nil {
			t.Errorf("log-cei draws no bound, and has the theorem %v", a["theorem"])
		}
	}
	assumptions := described["assumptions"].([]any)
	if described["name"] != "Theorem 1 with Lemma 1" || described["year"] != 2022.0 || len(assumptions) != 16 {
		t.Fatalf("the API describes %v", described)
	}
	worth := func() map[string]any {
		return s.API("GET", study+"/state", nil).Want(200).JSON()["violation"].(map[string]any)["impurity"].(map[string]any)
	}
	if described["soft"] != false || described["for_regret"] != nil || !strings.HasPrefix(described["regret"].(string), "the regret") {
		t.Errorf("the API describes %v", described)
	}
	proof := worth()
	regret := s.API("GET", study+"/state", nil).Want(200).JSON()["regret"].(map[string]any)
	if regret["bound_kind"] != "guarantee" || regret["bound"].(float64) <= 0 || proof["left"].(float64) > proof["bound"].(float64) {
		t.Errorf("regret is bounded by %v, and of %v is left %v", regret, proof["bound"], proof["left"])
	}
	if proof["bound_kind"] != "guarantee" {
		t.Fatalf("the bound is %v", proof)
	}
	everywhere := func(want ...string) {
		t.Helper()
		for _, path := range []string{"?whole", "/board", "/report"} {
			page := html.UnescapeString(s.Page(study + path))
			if strings.Count(page, `id="theorem"`) != 1 {
				t.Errorf("%s has the theorem %d times", path, strings.Count(page, `id="theorem"`))
			}
			sitetest.Says(t, page, want...)
		}
	}
	everywhere("Theorem 1 with Lemma 1 (Guo, Zhu, Liu: Rectified Pessimistic-Optimistic Learning", "? cannot be known", "B is set to 2 for yield, 2 for impurity", "It holds if what cannot be known holds",
		proof["bound_why"].(string), assumptions[0].(string), assumptions[15].(string), "It bounds "+described["regret"].(string)+".",
		"Here, over the same trials:", "Left under it:")
	sitetest.Says(t, html.UnescapeString(s.Page(study+"?whole")), "What do the bounds on violation and regret rest on? Of 16 assumptions")
	s.API("POST", study+"/trials/2/exclude", `{"reason": "spilled"}`).Want(200)
	everywhere("✗ not met", "1 trial was taken out", "It shows how violation grows with trials, and is no promise", "It shows how regret grows with trials, and is no promise", "growth rate only, because 1 trial was taken out)")
}

// Settings typed with a result that is refused stand in sight beside it: they are sent again with the next press.
func TestSettingsTypedStayInSight(t *testing.T) {
	s := sitetest.New(t)
	study := newTrial(s)
	const shut, open = "<details><summary>settings were slightly different", "<details open><summary>settings were slightly different"
	sitetest.Says(t, s.Page(study), shut)
	post(s, study+"/trials/1/tell", url.Values{"metric.0": {"much"}, "used.0": {"27,5"}, "used.1": {"A"}}, "HX-Request", "true", "HX-Current-URL", "http://headroom.test"+study).Want(422).Says(open, `value="27,5"`)
}
