package pages_test

import (
	"context"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"headroom/internal/account"
	"headroom/internal/derived"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/testwait"
)

// postAs sends a form as a browser does.
func postAs(s *sitetest.Site, path, token string, form url.Values) sitetest.Answer {
	return s.Call("POST", path, token, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
}

// settled waits until the study's simulated lab rests, and returns the study's trials.
func rested(t *testing.T, s *sitetest.Site, study string) []any {
	t.Helper()
	testwait.Eventually(t, "the simulated lab rests", func() bool {
		return !strings.Contains(s.Page(study+"/parts/lab"), "at work")
	})
	return s.API("GET", study+"/trials?limit=100", nil).Want(200).JSON()["trials"].([]any)
}

// A fresh server makes the demo: through the service, as everybody's events, with a slip, an
// exclusion and nothing waiting; the list shows it.
func TestDemoIsMadeAsStudiesAre(t *testing.T) {
	s := sitetest.Beside(t)
	list := s.Page("/studies")
	sitetest.Says(t, list, "Make the demo study", "/studies/new?template=reaction", "/studies/new?template=formulation", "/studies/new?template=machine", "welded-beam")
	form := url.Values{"key": {"once"}}
	sitetest.Same(t, "a viewer making the demo meets", postAs(s, "/studies/demo", s.Token(account.Viewer, ""), form).Status, http.StatusForbidden)
	made := postAs(s, "/studies/demo", s.Admin, form).Want(303).Header.Get("Location")
	study, _, _ := strings.Cut(made, "?")
	if again := postAs(s, "/studies/demo", s.Admin, form).Want(303).Header.Get("Location"); !strings.HasPrefix(again, study) {
		t.Errorf("pressed twice, the button made %s and %s", made, again)
	}
	trials := rested(t, s, study)
	if len(trials) != 24 {
		t.Fatalf("the demo has %d trials", len(trials))
	}
	sixth, eleventh := trials[5].(map[string]any), trials[10].(map[string]any)
	yield := sixth["metrics"].(map[string]any)["yield"].(map[string]any)
	if yield["corrected"] != true || math.Abs(yield["original"].(float64)*10-yield["value"].(float64)) > 1e-9 || eleventh["excluded"] != true {
		t.Errorf("trial 6 reads %v, trial 11 is excluded: %v", yield, eleventh["excluded"])
	}
	sitetest.Same(t, "the ledger names", yield["by"], "Test admin (token) (simulated lab)")
	for _, one := range trials {
		sitetest.Same(t, "trial is", one.(map[string]any)["status"], "completed")
	}
	s.API("POST", study+"/verify", nil).Want(200).Has("ok", true)
	list = s.Page("/studies")
	sitetest.Says(t, list, "simulated", "impurity ≤\u202f2", "best reading of yield ", " within every limit")
	s.Call("GET", study, s.Admin, nil).Want(200).Says("Nobody measures here", "Simulated: the readings come from")
}

// TestTheDemoIsMadeWhileAllLabsAreAtWork: whoever made it is led to it, and told no more than is so.
func TestTheDemoIsMadeWhileAllLabsAreAtWork(t *testing.T) {
	s := sitetest.Beside(t, func(o *server.Options) {
		for i := range 4 {
			must.Do(t, o.Studies.Derived.Begin(derived.Task{Kind: "simulated lab", Limit: time.Hour}, strconv.Itoa(i), 1, func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			}))
		}
	})
	made := postAs(s, "/studies/demo", s.Admin, url.Values{"key": {"once"}}).Want(303).Header.Get("Location")
	sitetest.Says(t, s.Page(made), "The study is made.", "Nobody measures here")
}

// leaving is a store whose studies are made while whoever asked for them leaves.
type leaving struct {
	study.Store
	leave context.CancelFunc
}

func (l leaving) Create(ctx context.Context, id string, cmd study.Command, parts iter.Seq2[study.Append, error]) error {
	defer l.leave()
	return l.Store.Create(ctx, id, cmd, parts)
}

// TestTheDemoIsFilledForWhoLeaves the page while it is made.
func TestTheDemoIsFilledForWhoLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	s := sitetest.Beside(t, sitetest.Asking(t, func(store study.Store) study.Store { return leaving{store, leave} }))
	request := s.Request(ctx, "POST", "/studies/demo", s.Admin, url.Values{"key": {"once"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	request.RequestURI = request.URL.Path
	s.Router.ServeHTTP(httptest.NewRecorder(), request)
	studies := s.API("GET", "/studies", nil).Want(200).JSON()["studies"].([]any)
	if len(studies) != 1 {
		t.Fatalf("there are the studies %v", studies)
	}
	if trials := rested(t, s, "/studies/"+studies[0].(map[string]any)["id"].(string)); len(trials) != 24 {
		t.Errorf("the demo has %d trials", len(trials))
	}
}

// The simulated lab first answers what waits, then asks; it runs 5 trials, only in a study that has
// one, only for those who may, and only while the study is open.
func TestSimulatedLabRuns(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Beam", "simulated_lab": "gramacy", "parameters": [{"name": "x1", "type": "real", "low": 0, "high": 1}, {"name": "x2", "type": "real", "low": 0, "high": 1}],
		"objective": {"metric": "reward", "direction": "maximize"}, "constraints": [{"metric": "wave", "op": "<=", "threshold": 0}, {"metric": "disk", "op": "<=", "threshold": 0}], "seed": 3}`)
	study := "/studies/" + id
	s.API("POST", study+"/ask", `{"count": 2}`).Want(201)
	s.API("POST", study+"/trials/2/tell", `{"metrics": {"wave": 0.25}}`).Want(200)
	sitetest.Same(t, "a viewer running the lab meets", postAs(s, study+"/simulate", s.Token(account.Viewer, ""), nil).Status, http.StatusForbidden)
	postAs(s, study+"/simulate", s.Admin, url.Values{"do": {"run"}}).Want(303)
	trials := rested(t, s, study)
	if len(trials) != 5 {
		t.Fatalf("%d trials after a run of 5, of which 2 waited", len(trials))
	}
	told := trials[1].(map[string]any)["metrics"].(map[string]any)
	if told["wave"].(map[string]any)["value"] != 0.25 || told["reward"] == nil || told["disk"] == nil {
		t.Errorf("of trial 2 only wave was told; the lab left %v", told)
	}
	s.API("PATCH", study, `{"state": "paused"}`).Want(200)
	postAs(s, study+"/simulate", s.Admin, nil).Want(422).Says("The study is paused")
	real := "/studies/" + s.NewStudy(sitetest.Screen)
	postAs(s, real+"/simulate", s.Admin, nil).Want(422).Says("real laboratory")
	if s.API("GET", real, nil).Want(200).JSON()["version"] != 1.0 {
		t.Error("something was told in a study of a real laboratory")
	}
}

// A run ends when somebody stops it, with the trial that it is at, and a second one is refused while
// one is under way.
func TestSimulatedLabStops(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	giveBack := take()
	made := postAs(s, "/studies/demo", s.Admin, nil).Want(303).Header.Get("Location")
	study, _, _ := strings.Cut(made, "?")
	postAs(s, study+"/simulate", s.Admin, nil).Want(422).Says("at work already")
	postAs(s, study+"/simulate", s.Admin, url.Values{"do": {"stop"}}).Want(303)
	giveBack()
	if trials := rested(t, s, study); len(trials) != 1 || trials[0].(map[string]any)["status"] != "completed" {
		t.Errorf("stopped at its first trial, it left %v", trials)
	}
	s.Call("GET", study+"/parts/lab", s.Admin, nil).Want(200).Says("It was stopped after 1 of 24 trials.")
}

var field = regexp.MustCompile(`(?s)name="([^"]+)"[^>]*? value="([^"]*)"`)

// Every template and simulated lab makes a study as it stands.
func TestTemplatesMakeStudies(t *testing.T) {
	s := sitetest.Beside(t)
	for _, query := range []string{"template=reaction", "template=formulation", "template=machine", "simulated=welded-beam", "simulated=rkhs-100",
		"simulated=sine-pocket-delayed", "simulated=sine-pocket-drift", "simulated=queue"} {
		page := s.Page("/studies/new?" + query)
		if way, made := map[string]string{"simulated=sine-pocket-delayed": "each", "simulated=sine-pocket-drift": "drift", "simulated=queue": "known"}[query]; made {
			sitetest.Same(t, query+" is", chosenWay(page), way)
		}
		form := url.Values{}
		for _, found := range field.FindAllStringSubmatch(page, -1) {
			if !strings.HasSuffix(found[1], ".sampled") && found[1] != "way" { // an empty check box, and answers of which one is chosen
				form.Set(found[1], htmlText(found[2]))
			}
		}
		for _, chosen := range regexp.MustCompile(`(?s)<select[^>]*name="([^"]+)".*?</select>`).FindAllStringSubmatch(page, -1) {
			if option := regexp.MustCompile(`<option value="([^"]*)" selected>`).FindStringSubmatch(chosen[0]); option != nil {
				form.Set(chosen[1], htmlText(option[1]))
			}
		}
		for _, area := range regexp.MustCompile(`(?s)<textarea[^>]*name="([^"]+)"[^>]*>(.*?)</textarea>`).FindAllStringSubmatch(page, -1) {
			form.Set(area[1], htmlText(area[2]))
		}
		form.Set("way", chosenWay(page))
		form.Set("do", "save")
		answer := postAs(s, "/studies/new", s.Admin, form)
		if answer.Status != 303 {
			t.Errorf("%s: %d %.3000s", query, answer.Status, regexp.MustCompile(`(?s)class="error".*?</p>`).Find(answer.Body))
			continue
		}
		study, _, _ := strings.Cut(answer.Header.Get("Location"), "?")
		lab, _ := s.API("GET", study, nil).Want(200).JSON()["simulated_lab"].(string)
		if want := strings.HasPrefix(query, "simulated"); (lab != "") != want {
			t.Errorf("%s: simulated lab %q", query, lab)
		}
	}
	s.Call("GET", "/studies/new?template=moonshot", s.Admin, nil).Want(422)
}

// chosenWay is the answer that the form stands at.
func chosenWay(page string) string {
	found := regexp.MustCompile(`name="way" value="([^"]+)" checked`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return found[1]
}

func htmlText(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(text)
}

// Each answer to how an experiment goes sets its algorithm and settings and says why; what a person
// chose under Advanced stays.
func TestWaysChooseAlgorithms(t *testing.T) {
	s := sitetest.Beside(t)
	form := url.Values{"do": {"refresh"}, "way.was": {"usual"}, "algorithm.name": {"log-cei"}, "algorithm.drawn": {"log-cei"},
		"parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "settings.beta.schedule": {"constant"}, "settings.beta.value": {"3"}}
	for way, wants := range map[string][]string{
		"usual": {"(log-cei)", "fewest trials"}, "late": {"(log-cei)", "any order"}, "drift": {"(rpol-sw-ucb)", `name="settings.window" value="30"`},
		"safe": {"(stageopt)", `name="settings.safe_seeds"`, "spreadsheet"}, "average": {"(ckb-ucb)", "make up for those beyond", "in many trials, where mixing settings from both sides of it pays"}, "many": {"(scbo)"},
		"each": {"(rpol-ucb)", "does not make up for"}, "censored": {"(rpol-censored-ucb)", `name="settings.delay_window"`, `name="settings.response_bound" value="0"`, "Trials to wait for a result"},
		"known": {"(scgp-ucb)", "as a formula"},
	} {
		form.Set("way", way)
		page := string(postAs(s, "/studies/new", s.Admin, form).Want(200).Body)
		sitetest.Same(t, "is chosen", chosenWay(page), way)
		sitetest.Says(t, page, wants...)
		for _, once := range []string{"settings.window", "settings.delay_window", "settings.safe_seeds"} {
			if strings.Count(page, `name="`+once+`"`) > 1 {
				t.Errorf("%s: two fields %s", way, once)
			}
		}
	}
	form.Set("way", "usual")
	form.Set("algorithm.name", "epbo")
	page := string(postAs(s, "/studies/new", s.Admin, form).Want(200).Body)
	if chosenWay(page) != "own" || !strings.Contains(page, "(epbo)") || !strings.Contains(page, `id="advanced" open`) {
		t.Error("what was chosen under Advanced did not stay")
	}
	form.Set("way", "safe")
	form.Set("way.was", "safe")
	form.Set("algorithm.name", "stageopt")
	form.Set("do", "save")
	for name, text := range map[string]string{"name": "Safe", "parameters.0.low": "0", "parameters.0.high": "1", "objective.metric": "y", "objective.direction": "maximize",
		"constraints.0.metric": "g", "constraints.0.op": "<=", "constraints.0.threshold": "1"} {
		form.Set(name, text)
	}
	for name := range form {
		if strings.HasPrefix(name, "settings.") {
			form.Del(name)
		}
	}
	postAs(s, "/studies/new", s.Admin, form).Want(422).Says(`id="f-settings_safe_seeds-fault"`)
	form.Set("settings.safe_seeds", "x\n0.5")
	postAs(s, "/studies/new", s.Admin, form).Want(303)
}

// TestACloneHasTheCandidates as they could have been pasted: a line of names, and one for each.
func TestACloneHasTheCandidates(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Listed", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 2}, {"name": "base", "type": "categorical", "choices": ["K", "Cs"]}],
		"candidates": [{"x": 0.5, "base": "K"}, {"x": 2, "base": "Cs"}], "objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "log-cei", "horizon": 20}}`)
	sitetest.Says(t, s.Page("/studies/new?from="+id), ">x\tbase\n0.5\tK\n2\tCs</textarea>")
}

// TestWhatStandsAgainstAChangeIsSaid: also where it is about what the form shows as text, or not at all.
func TestWhatStandsAgainstAChangeIsSaid(t *testing.T) {
	s := sitetest.Beside(t)
	const rest = `"objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "log-cei", "horizon": 20}}`
	for _, c := range []struct{ has, says string }{
		{`"parameters": [{"name": "x", "type": "real", "low": 0, "high": 2}], "candidates": [{"x": 0.5}, {"x": 1.5}, {"x": 2}], `,
			"there are candidates down to 0.5, which stay; instead, a rule such as x &gt;= 1 leaves them out"},
		{`"parameters": [{"name": "x", "type": "real", "low": 0, "high": 4, "step": 3}], `, "step 3 is wider than the range from 1 to 2"},
	} {
		study := s.NewStudy(`{"name": "Narrowed", ` + c.has + rest)
		form := url.Values{"parameters.0.low": {"1"}, "parameters.0.high": {"2"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"20"}, "reason": {"the pump"}, "do": {"preview"}}
		postAs(s, "/studies/"+study+"/reconfigure", s.Admin, form).Want(422).Says(c.says)
	}
}

// TestANumberOfAListRunsOutOnThePage, without the API's having named one before.
func TestANumberOfAListRunsOutOnThePage(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(`{"name": "Listed", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 2}], "candidates": [{"x": 0.5}, {"x": 1.5}, {"x": 2}], "objective": {"metric": "yield", "direction": "maximize"}}`)
	sitetest.Says(t, s.Page(study+"/reconfigure"), `name="parameters.0.unavailable"`)
	form := url.Values{"parameters.0.low": {"0"}, "parameters.0.high": {"2"}, "parameters.0.unavailable": {"1.5"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"100"}, "reason": {"sold out"}}
	twice(t, s, study+"/reconfigure", form).Want(303)
	s.API("GET", study, nil).Has("unavailable/x/0", 1.5)
}

// TestTheExampleOfAnImportCanBeImported: a listed combination, a mixture that adds up, rules that hold,
// and cells with commas.
func TestTheExampleOfAnImportCanBeImported(t *testing.T) {
	s := sitetest.Beside(t)
	for _, space := range []string{
		`"parameters": [{"name": "x", "type": "real", "low": 0, "high": 2}, {"name": "base", "type": "categorical", "choices": ["K", "Cs"]}], "candidates": [{"x": 0.123456789012345, "base": "Cs"}], "unavailable": {"base": ["K"]}`,
		`"parameters": [{"name": "x", "type": "real", "low": 10, "high": 70}, {"name": "z", "type": "real", "low": 0, "high": 70}, {"name": "rest", "type": "remainder", "total": 100, "of": ["x", "z"], "low": 20, "high": 60}]`,
		`"parameters": [{"name": "x", "type": "integer", "low": 0, "high": 70}, {"name": "acid, dry", "type": "categorical", "choices": ["1,4-dioxane", "B"]}], "input_constraints": ["x >= 20"]`,
	} {
		study := "/studies/" + s.NewStudy(`{"name": "Example", `+space+`, "objective": {"metric": "yield", "direction": "maximize"}}`)
		example := regexp.MustCompile(`(?s)aria-label="Example">(.*?)</pre>`).FindStringSubmatch(s.Page(study + "/import"))
		if at := strings.Index(space, "0.123456789012345"); at > 0 {
			page := string(postAs(s, study+"/import", s.Admin, url.Values{"text": {"x,base,yield\n1,K,2"}, "do": {"check"}}).Want(422).Body)
			sitetest.Says(t, page, "<td>line 2</td><td>is not one of the 1 candidates</td>")
			sitetest.Says(t, s.Page(study+"/report"), "1 listed combination, and no others", "<dt>Unavailable</dt><dd>base K")
		}
		if imported := s.API("POST", study+"/import?dry_run=true", htmlText(example[1]), "Content-Type", "text/csv"); imported.Status != 200 {
			t.Errorf("%s: %s", example[1], imported.Body)
		}
	}
}

func wideForm(scale string) url.Values {
	return url.Values{"key": {"k" + scale}, "name": {"Flow screen"}, "description": {"half a sentence"}, "parameters.0.name": {"flow"}, "parameters.0.type": {"real"}, "parameters.0.low": {"0,1"}, "parameters.0.high": {"100"},
		"parameters.0.scale": {scale}, "objective.metric": {"y"}, "objective.direction": {"maximize"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"20"}}
}

// TestTheFormSaysWhichScaleSuits while it is filled in, and a button beside the scale does what it
// says and leaves the rest as it was typed.
func TestTheFormSaysWhichScaleSuits(t *testing.T) {
	s := sitetest.Beside(t)
	press := func(form url.Values, do string) string {
		t.Helper()
		form.Set("do", do)
		return string(post(s, "/studies/new", form).Want(200).Body)
	}
	const will, should = "This will be on a logarithmic scale: 100 is 1000 times 0.1.", "This belongs on a logarithmic scale: 100 is 1000 times 0.1."
	for name, c := range map[string]struct {
		form url.Values
		do   string
		says string
		now  string // the scale chosen
	}{
		"nothing said":      {wideForm(""), "refresh", will, ""},
		"linear":            {wideForm("linear"), "refresh", should, "linear"},
		"log":               {wideForm("log"), "refresh", "", "log"},
		"made logarithmic":  {wideForm("linear"), "log-parameters.0", "", "log"},
		"kept linear":       {wideForm(""), "linear-parameters.0", should, "linear"},
		"with a model":      {with(wideForm(""), "model.kernel", "se"), "refresh", should, ""},
		"fixed":             {with(wideForm(""), "model.fit", "fixed"), "refresh", "", ""},
		"a narrow one":      {with(wideForm(""), "parameters.0.high", "9"), "refresh", "", ""},
		"levels by factors": {with(with(wideForm(""), "candidates", "flow\n1\n3\n9\n27"), "parameters.0.high", "27"), "refresh", "This will be on a logarithmic scale: its 4 values from 1 to 27 are spaced by factors", ""},
	} {
		page := press(c.form, c.do)
		if !strings.Contains(page, c.says) || c.says == "" && strings.Contains(page, "on a logarithmic scale:") {
			t.Errorf("%s: the form does not say %q", name, c.says)
		}
		sitetest.Says(t, page, `<option value="`+c.now+`" selected>`+map[string]string{"": "automatic", "linear": "linear", "log": "logarithmic"}[c.now])
		sitetest.Says(t, page, "half a sentence", `value="0,1"`)
	}
}

func with(form url.Values, name, value string) url.Values {
	form.Set(name, value)
	return form
}

// TestAScaleIsPutRight: a study whose scale does not suit says so on top, to those who can change
// it; the way from there leads to a form that is filled in.
func TestAScaleIsPutRight(t *testing.T) {
	s := sitetest.Beside(t)
	made := func(scale string) string {
		path, _, _ := strings.Cut(post(s, "/studies/new", wideForm(scale)).Want(303).Header.Get("Location"), "?")
		return path
	}
	scaleOf := func(study string) any {
		return s.API("GET", study, nil).Want(200).JSON()["parameters"].([]any)[0].(map[string]any)["scale"]
	}
	page := func(path, token string) string { return string(s.Call("GET", path, token, nil).Want(200).Body) }
	if study := made(""); scaleOf(study) != "log" || strings.Contains(page(study, s.Admin), "on a linear scale") {
		t.Errorf("the scale is %v", scaleOf(study))
	}
	study := made("linear")
	const says = "flow is on a linear scale, but 100 is 1000 times 0.1"
	if scaleOf(study) != "linear" || strings.Count(page(study, s.Admin), says) != 1 {
		t.Errorf("linear as said: %v, said %d times", scaleOf(study), strings.Count(page(study, s.Admin), says))
	}
	sitetest.Lacks(t, page(study, s.Token(account.Viewer, "")), says)
	if check := post(s, study+"/import", url.Values{"text": {"flow,y\n1,2\n"}, "do": {"check"}}).Want(200); !strings.Contains(string(check.Body), says) {
		t.Error("the check of an import does not say it")
	}
	form := page(study+"/reconfigure?log=flow", s.Admin)
	sitetest.Says(t, form, `<option value="log" selected>`, "Filled in below, and not changed yet: flow", `value="`+says)
	sitetest.Lacks(t, page(study+"/reconfigure?log=none", s.Admin), "Filled in below")
	sitetest.Says(t, page(study+"/reconfigure?way=drift", s.Admin), "Filled in below, and not changed yet", "here the last 30.")
	twice(t, s, study+"/reconfigure", url.Values{"parameters.0.low": {"0.1"}, "parameters.0.high": {"100"}, "parameters.0.scale": {"log"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"20"}, "reason": {"decades"}}).Want(303)
	if scaleOf(study) != "log" || strings.Contains(page(study, s.Admin), says) {
		t.Errorf("after it was put right: %v", scaleOf(study))
	}
}
