package pages_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// screened is a study of two limits with enough results for a model.
const screened = `{"name": "Two limits",
	"parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}, {"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"}],
	"algorithm": {"name": "log-cei", "horizon": 20}, "seed": 7}`

// curve imports n results of screened; metrics names the columns told.
func curve(s *sitetest.Site, id string, n int, shift float64, metrics ...string) {
	csv := "x," + strings.Join(metrics, ",") + "\n"
	for i := range n {
		x := float64(i) / float64(n)
		values := map[string]float64{"yield": 60 + 30*x + float64(i%3)*0.3, "impurity": 0.1 + 0.6*x + shift + float64(i%2)*0.01, "pressure": 1 + x + shift}
		csv += strconv.FormatFloat(x, 'g', -1, 64)
		for _, metric := range metrics {
			csv += "," + strconv.FormatFloat(values[metric], 'g', 5, 64)
		}
		csv += "\n"
	}
	s.API("POST", "/studies/"+id+"/import", csv, "Content-Type", "text/csv").Want(200)
}

// settled asks once, so that the model is fitted, and takes the trial away again.
func settled(s *sitetest.Site, id string, n int) {
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", fmt.Sprintf("/studies/%s/trials/%d/abandon", id, n+1), `{"reason": "not run"}`).Want(200)
}

func page(s *sitetest.Site, path string) string {
	return string(s.Call("GET", path, s.Admin, nil, "Accept", "text/html").Want(200).Body)
}

// shown reads the number that programs find in the page after a mark.
func shown(t *testing.T, page, mark string) float64 {
	t.Helper()
	_, rest, there := strings.Cut(page, mark)
	found := regexp.MustCompile(`<data value="([^"]*)">`).FindStringSubmatch(rest)
	if !there || found == nil {
		t.Fatalf("no %s on the page", mark)
	}
	x, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func number(t *testing.T, in any, path ...string) float64 {
	t.Helper()
	for _, name := range path {
		in = in.(map[string]any)[name]
	}
	x, ok := in.(float64)
	if !ok {
		t.Fatalf("%v is no number", path)
	}
	return x
}

func TestVerdictEqualsTheAPI(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	curve(s, id, 12, 0, "yield", "impurity", "pressure")
	settled(s, id, 12)
	state := s.API("GET", "/studies/"+id+"/state", nil).Want(200).JSON()
	r := state["recommendation"].(map[string]any)
	verdict := page(s, "/studies/"+id+"/parts/verdict")
	if !strings.Contains(verdict, fmt.Sprintf("the settings of <a href=\"/studies/%s/trials/%v\">", id, r["number"])) {
		t.Errorf("the verdict names another trial than %v", r["number"])
	}
	for _, metric := range []string{"yield", "impurity", "pressure"} {
		_, row, _ := strings.Cut(verdict, `data-expected="`+metric+`"`)
		raw := regexp.MustCompile(`<data value="([^"]*)">`).FindAllStringSubmatch(row, 4)
		for i, field := range []string{"mean", "lower95", "upper95", "reading_sd"} {
			if got, want := raw[i][1], strconv.FormatFloat(number(t, r, field, metric), 'g', -1, 64); got != want {
				t.Errorf("%s of %s is %s on the page, %s in the API", field, metric, got, want)
			}
		}
	}
	if got, want := shown(t, verdict, "data-chance"), number(t, r, "feasibility_probability"); got != want {
		t.Errorf("chance %v, want %v", got, want)
	}
	_, limit, _ := strings.Cut(verdict, `data-limit="impurity"`)
	if got, want := shown(t, limit, "data-violation"), number(t, state, "violation", "impurity", "hard"); got != want || got == 0 {
		t.Errorf("violation %v, want %v", got, want)
	}
	if got, want := shown(t, limit, "data-largest"), number(t, state, "violation", "impurity", "largest"); got != want || got == 0 {
		t.Errorf("largest excess %v, want %v", got, want)
	}
	if got, want := shown(t, limit, "data-headroom"), 0.5-number(t, r, "mean", "impurity"); got != want {
		t.Errorf("headroom %v, want %v", got, want)
	}
	if !strings.Contains(limit, "broken in 3 of 12 trials") && !strings.Contains(limit, "broken in 4 of 12 trials") {
		t.Errorf("limit: %.300s", limit)
	}
	if strings.Count(verdict, "mark recommended") != 1 {
		t.Errorf("%d stars in the verdict", strings.Count(verdict, "mark recommended"))
	}
	_, gain, _ := strings.Cut(verdict, `class="verdict-gain"`)
	ends := regexp.MustCompile(`<data value="([^"]*)">`).FindAllStringSubmatch(gain, 2)
	for i, end := range []string{"low", "high"} {
		if want := strconv.FormatFloat(number(t, state, "gain", "best", end), 'g', -1, 64); ends[i][1] != want {
			t.Errorf("the best is shown from or to %s, the API says %s", ends[i][1], want)
		}
	}
	if number(t, state, "gain", "best", "level") != 0.9 || !(number(t, state, "gain", "best", "high") >= number(t, r, "mean", "yield")) {
		t.Errorf("%v, though %v is expected of what is recommended", state["gain"], r["mean"])
	}
}

// TestWhenToStop follows the target that the owner sets: the chance of the API is of that share, and held against that risk.
func TestWhenToStop(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	base := "/studies/" + id
	if state := s.API("GET", base+"/state", nil).Want(200).JSON(); state["gain"] != nil || state["stop"] != nil {
		t.Errorf("before a model: gain %v, stop %v", state["gain"], state["stop"])
	}
	curve(s, id, 12, 0, "yield", "impurity", "pressure")
	settled(s, id, 12)
	usual := s.API("GET", base+"/state", nil).Want(200).JSON()["stop"]
	if number(t, usual, "within") != 0.01 || number(t, usual, "risk") != 0.05 {
		t.Errorf("the usual target is %v", usual)
	}
	s.API("POST", base+"/reconfigure", `{"stop": {"within": 0.9, "risk": 0.1}, "reason": "a rough answer will do"}`).Want(200)
	state := s.API("GET", base+"/state", nil).Want(200).JSON()
	left := state["gain"].(map[string]any)["chance_left"].([]any)[0]
	stop := state["stop"]
	if number(t, stop, "within") != 0.9 || number(t, left, "more_than") != 0.9 || number(t, stop, "chance") != number(t, left, "chance") || stop.(map[string]any)["reached"] != true {
		t.Errorf("stop %v, left %v", stop, left)
	}
	verdict := page(s, base+"/parts/verdict")
	if !strings.Contains(verdict, "Little is left to gain: the chance") || !strings.Contains(verdict, "You could stop here") {
		t.Errorf("it is not said that the target is reached: %s", verdict)
	}
	if form := page(s, base+"/reconfigure"); !strings.Contains(form, `name="stop.within"`) || !strings.Contains(form, `value="90"`) {
		t.Error("the form does not show the target")
	}
	for said, field := range map[string]string{`{"risk": 0.1}`: "body.stop.within", `{"within": 0, "risk": 0.1}`: "body.stop.within", `{"within": 0.1, "risk": 0}`: "body.stop.risk"} {
		if faults := s.API("POST", base+"/reconfigure", `{"stop": `+said+`, "reason": "x"}`).Faults(422); faults[field] == "" {
			t.Errorf("a stop %s: %v, want one at %s", said, faults, field)
		}
	}
	if faults := s.API("POST", base+"/reconfigure", `{"stop": {"within": 0.01, "risk": 1.5}, "reason": "x"}`).Faults(422); faults["body.stop.risk"] == "" {
		t.Errorf("a risk of 1.5: %v", faults)
	}
}

// TestNothingIsShownOfAMetricWithoutAReading: no number, no chance, no chart from the prior alone.
// TestRiskAccountEqualsTheAPI: what may be beyond each limit, or any, is said on the page as the API has it, of the trials that the model chose.
func TestRiskAccountEqualsTheAPI(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	for most, limits := range map[string][]string{`{"impurity": 0.1, "pressure": 0.5}`: {"impurity", "pressure"}, `0.2`: {""}} {
		id := s.NewStudy(strings.Replace(screened, `"horizon": 20`, `"horizon": 20, "settings": {"most_risk": `+most+`}`, 1))
		curve(s, id, 12, 0, "yield", "impurity", "pressure")
		for n := 13; n < 16; n++ {
			s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
			if n < 15 {
				s.API("POST", fmt.Sprintf("/studies/%s/trials/%d/tell", id, n), `{"metrics": {"yield": 70, "impurity": 0.7, "pressure": 1.5}}`).Want(200)
			}
		}
		state := s.API("GET", "/studies/"+id+"/state", nil).Want(200).JSON()
		verdict := page(s, "/studies/"+id+"/parts/verdict")
		for _, limit := range limits {
			in, part := []string{"violation", limit, "risk"}, verdict
			if limit == "" {
				in = in[2:]
			} else {
				_, part, _ = strings.Cut(verdict, `data-limit="`+limit+`"`)
			}
			of := func(field string) float64 { return number(t, state, append(slices.Clone(in), field)...) }
			for mark, field := range map[string]string{"data-allowed": "allowed", "data-expected-beyond": "expected", "data-so-far": "so_far"} {
				if got := shown(t, part, mark); got != of(field) {
					t.Errorf("%s: %s of %q is %v on the page, %v in the API", most, field, limit, got, of(field))
				}
			}
			beyond := 2.0
			if limit == "pressure" {
				beyond = 0
			}
			if of("trials") != 8 || of("allowed") != 8*of("most") || of("so_far") != beyond || !(of("expected") > 0) || (beyond > 0) != (of("now") < of("most")) {
				t.Errorf("%s: the account of %q is %v", most, limit, state["violation"])
			}
		}
		if _, told := state["violation"].(map[string]any)["pressure"].(map[string]any)["risk"]; told != (limits[0] != "") || (state["risk"] == nil) != told {
			t.Errorf("%s: risk %v beside %v", most, state["risk"], state["violation"])
		}
	}
}

// TestTheChanceThatATrialWorks stands beside the recommendation once settings have failed, as the API has it.
func TestTheChanceThatATrialWorks(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	curve(s, id, 8, 0, "yield", "impurity", "pressure")
	settled(s, id, 8)
	const words = "Chance that a trial works there"
	if shown := page(s, "/studies/"+id+"?whole=yes"); strings.Contains(shown, words) {
		t.Error("nothing failed, and the page speaks of it")
	}
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+id+"/trials/10/fail", `{"reason": "gelled"}`).Want(200)
	settled(s, id, 10)
	chance := s.API("GET", "/studies/"+id+"/state", nil).Want(200).JSON()["works"].(map[string]any)["chance"].(float64)
	verdict := page(s, "/studies/"+id+"/parts/verdict")
	if want := `data-works><data value="` + strconv.FormatFloat(chance, 'g', -1, 64) + `">`; chance >= 1 || !strings.Contains(strings.Join(strings.Fields(verdict), " "), want) {
		t.Errorf("%s is not on the page: %s", want, verdict)
	}
	if !strings.Contains(reportOf(s, id), words) {
		t.Error("the report does not say it")
	}
}

// TestWhoMayOnlyLookIsNotToldToWork: the reader of a study hears how it stands, not what to press or enter.
func TestWhoMayOnlyLookIsNotToldToWork(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	reader := s.API("POST", "/tokens", `{"name": "reader", "role": "viewer"}`).Want(201).JSON()["token"].(string)
	next := func(want string) {
		t.Helper()
		verdict := string(s.Call("GET", "/studies/"+id+"/parts/verdict", reader, nil, "Accept", "text/html").Want(200).Body)
		if !strings.Contains(verdict, `class="verdict-todo">`+want+"<") {
			t.Errorf("it does not say %q: %s", want, verdict)
		}
	}
	next("The first trial has not been asked for.")
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	next("Trial 1 waits for results.")
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	next("2 trials wait for results, trial 1 for the longest time.")
}
