package pages_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"headroom/internal/account"
	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// toldStudy is a study with results, and its address.
func toldStudy(s *sitetest.Site) string {
	id := s.NewStudy(strings.Replace(sitetest.Screen, `"seed": 7`, `"model": {"outputs": "raw"}, "seed": 7`, 1)) // whose model begins with the first reading
	s.API("POST", "/studies/"+id+"/import", "temperature,catalyst,yield,impurity\n30,A,71.2,0.3\n35,A,80,0.45\n50,B,60,0.9\n", "Content-Type", "text/csv").Want(200)
	return "/studies/" + id
}

// figure reads a number from /metrics.
func figure(t *testing.T, s *sitetest.Site, name string) float64 {
	t.Helper()
	var value float64
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(s.Call("GET", "/metrics", s.Admin, nil).Want(200).Body)
	if line == nil {
		t.Fatalf("no %s", name)
	}
	fmt.Sscan(string(line[1]), &value)
	return value
}

// TestJunkQueriesShareOnePart: what a part does not depend on makes no other part to keep.
func TestJunkQueriesShareOnePart(t *testing.T) {
	s := sitetest.New(t)
	study := toldStudy(s)
	get := func(query string) string {
		return s.Page(study + "/parts/" + query)
	}
	first := get("beliefs")
	before := heap()
	for i := range 200 {
		if again := get(fmt.Sprintf("beliefs?junk=%d&metric=none%d&x=%d&from=x%d&pin.77=%d&at=%d", i, i, i, i, i, i+1)); again != first && i < 20 {
			t.Fatalf("junk made another part")
		}
	}
	for _, as := range []string{"metric=yield&x=temperature&y=catalyst&usual.x=temperature&usual.y=catalyst", "from=1&pin.0=30&pin.1=A", "from=3&pin.0=50&pin.1=B", "metric=yield&from=2&pin.1=A"} {
		if get("beliefs?"+as) != first {
			t.Errorf("%s, as the form shows it, made another part", as)
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("200 junk queries hold %d bytes", grown)
	}
	sitetest.Same(t, "parts are kept", figure(t, s, `headroom_cache_entries{cache="rendered"}`), 1)
	if held := figure(t, s, `headroom_cache_bytes{cache="rendered"}`); held < float64(len(first)) || held > 4*float64(len(first)) {
		t.Errorf("%v bytes are counted for a part of %d", held, len(first))
	}
}

// heap is what is in use after everything unused was given back.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// TestPartsShowWhatTheQueryAsksFor: what a part depends on reaches it, also when another part of
// the same study was kept.
func TestPartsShowWhatTheQueryAsksFor(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	for query, sign := range map[string]string{
		"trials?show=violated": "1–1 of 1 trial", "trials": "1–3 of 3 trials", "trials?below=2": "3–3 of 3 trials", "trials?below=99&show=": "1–3 of 3 trials",
		"ledger?before=2": "made the study", "beliefs?metric=impurity": `<option value="impurity" selected`, "beliefs?pin.0=44": `value="44"`,
	} {
		s.Call("GET", study+"/parts/"+query, s.Admin, nil).Want(200).Says(sign)
	}
	for _, query := range []string{"trials?show=nosuch", "trials?below=x", "ledger?before=x", "trials?seen=-1"} {
		s.Call("GET", study+"/parts/"+query, s.Admin, nil).Want(422)
	}
	s.Call("GET", study+"/parts/nosuch", s.Admin, nil).Want(404)
	for range 10 { // in the same order each time
		kept := regexp.MustCompile(`<form id="beliefs-form" hidden>.*?</form>`).FindString(s.Page(study + "?pin.1=B&pin.0=44&metric=impurity&others=yes"))
		sitetest.Same(t, "what the page keeps for a part", strings.Join(regexp.MustCompile(`name="([^"]*)"`).FindAllString(kept, -1), " "), `name="metric" name="others" name="pin.0" name="pin.1"`)
	}
}

// TestTrialPageReadsItsOwnEvents: however much happens afterwards, the page of a trial reads what
// is about it.
func TestTrialPageReadsItsOwnEvents(t *testing.T) {
	t.Parallel()
	store := &weighedStore{}
	s := sitetest.New(t, sitetest.Asking(t, func(of study.Store) study.Store {
		store.Store = of
		return store
	}))
	at := toldStudy(s)
	for i := range 30 {
		s.API("POST", at+"/trials/2/corrections", fmt.Sprintf(`{"metrics": {"yield": %d}, "reason": "reading %d"}`, 50+i, i)).Want(200)
	}
	s.API("POST", at+"/trials/1/exclude", `{"reason": "wrong batch"}`).Want(200)
	store.events.Store(0)
	first := s.Page(at + "/trials/1")
	if read := store.events.Load(); read != 3 { // chosen, told, excluded
		t.Errorf("%d events were read", read)
	}
	sitetest.Says(t, first, "imported trial 1", "saved yield 71.2", "excluded trial 1", "wrong batch")
	sitetest.Lacks(t, first, "corrected yield")
	store.events.Store(0)
	second := s.Page(at + "/trials/2")
	if read := store.events.Load(); read != 25 || !strings.Contains(second, "reading 29") || strings.Contains(second, "reading 4<") || !strings.Contains(second, "7 earlier entries are") {
		t.Errorf("of a long history %d events were read", read)
	}
}

// weighedStore counts the events that are read.
type weighedStore struct {
	study.Store
	events atomic.Int64
}

func (w *weighedStore) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	events, err := w.Store.Events(ctx, id, after, limit)
	w.events.Add(int64(len(events)))
	return events, err
}

// screened is a study of two limits with enough results for a model.
const screened = `{"name": "Two limits",
	"parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}, {"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"}],
	"algorithm": {"name": "log-cei", "horizon": 20}, "seed": 7}`

// curve imports n results of screened; metrics names the columns told.
func curve(s *sitetest.Site, id string, n int, shift float64, metrics ...string) {
	lines := []string{"x," + strings.Join(metrics, ",")}
	for i := range n {
		x := float64(i) / float64(n)
		values := map[string]float64{"yield": 60 + 30*x + float64(i%3)*0.3, "impurity": 0.1 + 0.6*x + shift + float64(i%2)*0.01, "pressure": 1 + x + shift}
		line := strconv.FormatFloat(x, 'g', -1, 64)
		for _, metric := range metrics {
			line += "," + strconv.FormatFloat(values[metric], 'g', 5, 64)
		}
		lines = append(lines, line)
	}
	s.API("POST", "/studies/"+id+"/import", strings.Join(lines, "\n"), "Content-Type", "text/csv").Want(200)
}

// settled asks once, so that the model is fitted, and takes the trial away again.
func settled(s *sitetest.Site, id string, n int) {
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", fmt.Sprintf("/studies/%s/trials/%d/abandon", id, n+1), `{"reason": "not run"}`).Want(200)
}

// shown reads the number that programs find in the page after a mark.
func shown(t *testing.T, page, mark string) float64 {
	t.Helper()
	_, rest, there := strings.Cut(page, mark)
	found := regexp.MustCompile(`<data value="([^"]*)">`).FindStringSubmatch(rest)
	if !there || found == nil {
		t.Fatalf("no %s on the page", mark)
	}
	x := must.Get(strconv.ParseFloat(found[1], 64))(t)
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
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	curve(s, id, 12, 0, "yield", "impurity", "pressure")
	settled(s, id, 12)
	state := s.API("GET", "/studies/"+id+"/state", nil).Want(200).JSON()
	r := state["recommendation"].(map[string]any)
	verdict := s.Page("/studies/" + id + "/parts/verdict")
	sitetest.Says(t, verdict, fmt.Sprintf("the settings of <a href=\"/studies/%s/trials/%v\">", id, r["number"]))
	for _, metric := range []string{"yield", "impurity", "pressure"} {
		_, row, _ := strings.Cut(verdict, `data-expected="`+metric+`"`)
		raw := regexp.MustCompile(`<data value="([^"]*)">`).FindAllStringSubmatch(row, 4)
		for i, field := range []string{"mean", "lower95", "upper95", "reading_sd"} {
			sitetest.Same(t, "of is on the page, in the API", raw[i][1], strconv.FormatFloat(number(t, r, field, metric), 'g', -1, 64))
		}
	}
	sitetest.Same(t, "chance", shown(t, verdict, "data-chance"), number(t, r, "feasibility_probability"))
	_, limit, _ := strings.Cut(verdict, `data-limit="impurity"`)
	if got, want := shown(t, limit, "data-violation"), number(t, state, "violation", "impurity", "hard"); got != want || got == 0 {
		t.Errorf("violation %v, want %v", got, want)
	}
	if got, want := shown(t, limit, "data-largest"), number(t, state, "violation", "impurity", "largest"); got != want || got == 0 {
		t.Errorf("largest excess %v, want %v", got, want)
	}
	sitetest.Same(t, "headroom", shown(t, limit, "data-headroom"), 0.5-number(t, r, "mean", "impurity"))
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

// TestWhenToStop follows the target that the owner sets: the chance of the API is of that share,
// and held against that risk.
func TestWhenToStop(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	base := "/studies/" + id
	s.API("GET", base+"/state", nil).Want(200).Has("gain", nil, "stop", nil)
	curve(s, id, 12, 0.003, "yield", "impurity", "pressure")
	settled(s, id, 12)
	usual := s.API("GET", base+"/state", nil).Want(200).JSON()["stop"]
	if number(t, usual, "within") != 0.01 || number(t, usual, "risk") != 0.05 {
		t.Errorf("the usual target is %v", usual)
	}
	s.API("POST", base+"/reconfigure", `{"stop": {"within": 0.9, "risk": 0.1}, "reason": "a rough answer will do"}`).Want(200)
	state := s.API("GET", base+"/state", nil).Want(200).JSON()
	left := state["gain"].(map[string]any)["chance_left"].([]any)[0]
	stop := state["stop"]
	brief := maps.Clone(state)
	brief["gain"], brief["stop"] = nil, nil
	sitetest.Same(t, "the state without gain", s.API("GET", base+"/state?without_gain=true", nil).Want(200).JSON(), brief)
	if number(t, stop, "within") != 0.9 || number(t, left, "more_than") != 0.9 || number(t, stop, "chance") != number(t, left, "chance") || stop.(map[string]any)["reached"] != true {
		t.Errorf("stop %v, left %v", stop, left)
	}
	verdict := s.Page(base + "/parts/verdict")
	sitetest.Says(t, verdict, "Little is left to gain: the chance", "You could stop here")
	sitetest.Says(t, s.Page(base+"/reconfigure"), `name="stop.within"`, `value="90"`)
	for said, field := range map[string]string{`{"risk": 0.1}`: "body.stop.within", `{"within": 0, "risk": 0.1}`: "body.stop.within", `{"within": 0.1, "risk": 0}`: "body.stop.risk"} {
		s.API("POST", base+"/reconfigure", `{"stop": `+said+`, "reason": "x"}`).Faults(422, field)
	}
	s.API("POST", base+"/reconfigure", `{"stop": {"within": 0.01, "risk": 1.5}, "reason": "x"}`).Faults(422, "body.stop.risk")
}

// TestRiskAccountEqualsTheAPI: what may be beyond each limit, or any, is said on the page as the
// API has it, of the trials that the model chose.
func TestRiskAccountEqualsTheAPI(t *testing.T) {
	s := sitetest.Beside(t)
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
		verdict := s.Page("/studies/" + id + "/parts/verdict")
		for _, limit := range limits {
			in, part := []string{"violation", limit, "risk"}, verdict
			if limit == "" {
				in = in[2:]
			} else {
				_, part, _ = strings.Cut(verdict, `data-limit="`+limit+`"`)
			}
			of := func(field string) float64 { return number(t, state, append(slices.Clone(in), field)...) }
			for mark, field := range map[string]string{"data-allowed": "allowed", "data-expected-beyond": "expected", "data-so-far": "so_far"} {
				sitetest.Same(t, most+" "+limit+" "+field, shown(t, part, mark), of(field))
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

// TestTheChanceThatATrialWorks stands beside the recommendation once settings have failed, as the
// API has it.
func TestTheChanceThatATrialWorks(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	curve(s, id, 8, 0, "yield", "impurity", "pressure")
	settled(s, id, 8)
	const words = "Chance that a trial works there"
	sitetest.Lacks(t, s.Page("/studies/"+id+"?whole=yes"), words)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+id+"/trials/10/fail", `{"reason": "gelled"}`).Want(200)
	settled(s, id, 10)
	chance := s.API("GET", "/studies/"+id+"/state", nil).Want(200).JSON()["works"].(map[string]any)["chance"].(float64)
	verdict := s.Page("/studies/" + id + "/parts/verdict")
	if want := `data-works><data value="` + strconv.FormatFloat(chance, 'g', -1, 64) + `">`; chance >= 1 || !strings.Contains(strings.Join(strings.Fields(verdict), " "), want) {
		t.Errorf("%s is not on the page: %s", want, verdict)
	}
	sitetest.Says(t, reportOf(s, id), words)
}

// influenced is a study in which y depends on the second parameter far more than on the first, and
// on a choice.
const influenced = `{"name": "Influence",
	"parameters": [{"name": "weak", "type": "real", "low": 0, "high": 1}, {"name": "strong", "type": "real", "low": 0, "high": 1}, {"name": "kind", "type": "categorical", "choices": ["A", "B"]}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}, {"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "model": {"outputs": "raw"}, "seed": 7}`

func influencedStudy(s *sitetest.Site) string {
	id := s.NewStudy(influenced)
	csv := "weak,strong,kind,yield,impurity\n"
	for i := range 16 {
		weak, strong := float64(i%4)/3, float64(i/4)/3
		csv += fmt.Sprintf("%.3f,%.3f,%s,%.3f,%.3f\n", weak, strong, []string{"A", "B"}[(i+i/4)%2], 2*strong+0.1*weak, 0.1+0.2*weak)
	}
	s.API("POST", "/studies/"+id+"/import", csv, "Content-Type", "text/csv").Want(200)
	return "/studies/" + id
}

// chartIn is a chart of the page as it is drawn, with its legend.
func chartIn(t *testing.T, page, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<div class="plot" id="` + id + `.*?<figcaption`).FindString(page)
	if found == "" {
		t.Fatalf("no chart %s in %.400s", id, page)
	}
	return found
}

// TestParametersStandInOrderOfInfluence: the slices are sorted, the map opens on the first two,
// points fade, and a metric without a reading has no slice.
func TestParametersStandInOrderOfInfluence(t *testing.T) {
	s := sitetest.Beside(t)
	at := influencedStudy(s)
	beliefs := s.Page(at + "/parts/beliefs")
	slices := chartIn(t, beliefs, "chart-slices")
	along := regexp.MustCompile(`<div class="(?:title"><span|axis")>[^<]*`).FindAllString(slices, -1)
	if got, want := strings.Join(along, " "), `<div class="title"><span>Yield <div class="axis">strong <div class="axis">weak <div class="axis">kind <div class="title"><span>Impurity <div class="axis">strong <div class="axis">weak <div class="axis">kind`; got != want {
		t.Fatalf("the cells are %s", got)
	}
	sitetest.Says(t, beliefs, "Sorted by how much the expected yield changes from its lowest to its highest along each parameter")
	sitetest.Says(t, beliefs, `<option value="strong" selected`)
	first := slices[:strings.Index(slices, `class="axis"`)]
	faint, full := strings.Count(first, ` opacity="0.1"`)+strings.Count(first, ` opacity="0.2`), len(regexp.MustCompile(`<use href="[^"]*" x="[^"]*" y="[^"]*"/>`).FindAllString(first, -1))
	if faint == 0 || full == 0 {
		t.Errorf("%d faint points, %d full ones", faint, full)
	}
	sitetest.Says(t, beliefs, "Pressure is without a reading, so nothing is said of the limits.")
	sitetest.Lacks(t, beliefs, "Pressure (bar)", "hance within every limit 9")
}

// TestChoicesAreAGridOfValues: nothing is drawn between choices, which have no order.
func TestChoicesAreAGridOfValues(t *testing.T) {
	s := sitetest.Beside(t)
	at := influencedStudy(s)
	beliefs := s.Page(at + "/parts/beliefs?x=kind&y=strong")
	cells := chartIn(t, beliefs, "chart-map-")
	if rects := strings.Count(cells, "<rect"); strings.Contains(cells, "<image") || rects != 2*7+1 { // and the scale
		t.Errorf("%d cells", rects)
	}
	if smooth := chartIn(t, s.Page(at+"/parts/beliefs?x=weak&y=strong"), "chart-map-"); strings.Count(smooth, "<image") != 1 || strings.Count(smooth, "<rect") != 1 {
		t.Error("the map of two numbers is not smooth")
	}
}

// TestNobodyIsToPressWhatIsNotThere: where no trials can be asked for, there is neither the button nor
// a sentence that names it.
func TestNobodyIsToPressWhatIsNotThere(t *testing.T) {
	s := sitetest.Beside(t)
	const button = "Ask for next trial"
	study := "/studies/" + s.NewStudy(sitetest.Screen)
	sitetest.Says(t, s.Page(study), "Press “"+button+"” to begin")
	for _, state := range []string{"paused", "finished", "archived"} {
		s.API("PATCH", study, `{"state": "`+state+`"}`).Want(200)
		sitetest.Lacks(t, s.Page(study), button)
	}
	study = "/studies/" + s.NewStudy(`{"name": "Sampled", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "candidates": [{"x": 0.2}, {"x": 0.8}],
		"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [{"metric": "room", "op": ">=", "threshold": 0, "sampled": true}], "algorithm": {"name": "rpol-ucb", "horizon": 20}, "seed": 7}`)
	sitetest.Lacks(t, s.Page(study), button)
	s.API("POST", study+"/trials", `{"parameters": {"x": 0.2}, "constraint_values": {"room": [1, 2]}, "metrics": {"yield": 61}}`).Want(201)
	page := s.Page(study)
	sitetest.Lacks(t, page, button)
	sitetest.Says(t, page, "asked for through the API", "Nothing is waiting")
}

// TestWhatOnlyTheSumKeeps is said on the page and in the report of a study whose algorithm mixes,
// and on no other's.
func TestWhatOnlyTheSumKeeps(t *testing.T) {
	s := sitetest.Beside(t)
	const said = "may break a limit in many trials, where mixing settings from both sides of it pays; it keeps only the sum over all trials within the limit"
	for name, says := range map[string]func(testing.TB, string, ...string){"ckb-ucb": sitetest.Says, "rpol-ucb": sitetest.Lacks} {
		study := "/studies/" + s.NewStudy(strings.Replace(sitetest.Screen, "rpol-ucb", name, 1))
		s.API("POST", study+"/ask", nil).Want(201)
		says(t, s.Page(study), said)
		says(t, s.Page(study+"/report"), said)
	}
}

// TestHowAStudyBegins: with how many settings that are spread, one too, whatever chooses after them.
func TestHowAStudyBegins(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(`{"name": "A", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "y", "direction": "maximize"},
		"algorithm": {"name": "random", "settings": {"initial_design": 1}}}`)
	page := s.Page(study)
	sitetest.Says(t, page, "Up to trial 1 the settings are spread over the space to learn its shape; after that the algorithm chooses.")
	sitetest.Lacks(t, page, "1 trials", "the model chooses")
	sitetest.Says(t, page, "the settings to use and a field for each result.")
	s.Call("GET", study, s.Token(account.Viewer, ""), nil, "Accept", "text/html").Says("the settings to use.").Lacks("a field for each result")
	s.API("GET", study+"/state?at=2", nil).Want(422).Says("the study has only 1 event so far")
	s.API("POST", study+"/ask", nil).Want(201)
	sitetest.Says(t, s.Page(study), "Settings that failed are not suggested again while others are left, and the model learns from them where trials work, unless the algorithm is used as published.")
}

// TestOtherAlgorithmsNext are named with what they would do, and marked on the map.
func TestOtherAlgorithmsNext(t *testing.T) {
	s := sitetest.Beside(t)
	at := influencedStudy(s)
	beliefs := s.Page(at + "/parts/beliefs?others=yes&x=weak&y=strong")
	for _, name := range []string{"log-cei", "ckb-ucb", "scbo"} {
		sitetest.Says(t, beliefs, "<dt>"+name+"</dt>")
	}
	sitetest.Says(t, beliefs, `data-name="other algorithms’ next"`)
	sitetest.Lacks(t, s.Page(at+"/parts/beliefs"), "<dt>scbo</dt>")
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// A unit stands apart from its number, which a page that is read aloud or copied needs as much as one
// that is looked at.
func TestAUnitStandsApart(t *testing.T) {
	s := sitetest.New(t)
	study := toldStudy(s)
	s.API("POST", study+"/ask", nil).Want(201)
	for _, page := range []string{study, study + "/bench"} {
		if html := s.Page(page); !regexp.MustCompile(`\d <span class="unit">°C</span>`).MatchString(html) || regexp.MustCompile(`\d<span class="unit">`).MatchString(html) {
			t.Errorf("%s: a number and its unit are one word", page)
		}
	}
}

// The bench says why no trial can be asked for, as the study's page does, and who may go on.
func TestTheBenchSaysThatAStudyRests(t *testing.T) {
	s := sitetest.New(t)
	study := toldStudy(s)
	for state, says := range map[string]string{"paused": "results can still be saved, new trials cannot", "finished": "late results can still be saved", "archived": "It can be read, and copied"} {
		s.API("PATCH", study, `{"state": "`+state+`"}`).Want(200)
		viewer := s.Token(account.Viewer, "")
		for _, page := range []string{study, study + "/bench", study + "/parts/bench"} {
			sitetest.Says(t, s.Page(page), "This study is "+state, says, `Open it again under <a href="`+study+`/edit">`)
			s.Call("GET", page, viewer, nil, "Accept", "text/html").Says("This study is "+state, says, "Whoever may save results can open it again.").Lacks("/edit")
		}
		kept, typed := "This browser keeps it", s.Page(study+"/parts/bench?typed=2")
		if said := strings.Contains(typed, kept); said != (state == "archived") {
			t.Errorf("%s: what becomes of typed text is said: %t", state, said)
		}
		s.Call("GET", study+"/parts/next?typed=2", viewer, nil, "Accept", "text/html").Says(kept)
		if linked := strings.Contains(s.Page(study), study+`/import"`); linked == (state == "archived") {
			t.Errorf("%s: results can be imported: %t", state, linked)
		}
	}
}

// TestNoFormIsShownThatCanOnlyBeRefused: the page says why instead. What was typed before stays.
func TestNoFormIsShownThatCanOnlyBeRefused(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	for state, refused := range map[string][]string{"paused": {"/own"}, "finished": {"/own"}, "archived": {"/own", "/import", "/reconfigure", "/trials/1/correct"}} {
		s.API("PATCH", study, `{"state": "`+state+`"}`).Want(200)
		for _, path := range []string{"/own", "/import", "/reconfigure", "/trials/1/correct"} {
			page, says := s.Page(study+path), "This study is "+state
			said := slices.Contains(refused, path) || path == "/import"
			if is := strings.Contains(page, "data-draft="); is == slices.Contains(refused, path) || strings.Contains(page, says) != said {
				t.Errorf("%s of a study that is %s: a form %t, said %t", path, state, is, strings.Contains(page, says))
			}
			if onlyByNumber := `value="yes" checked`; path == "/import" && state != "archived" && !strings.Contains(page, onlyByNumber) {
				t.Errorf("in a study that is %s rows would be new trials", state)
			}
		}
	}
	s.API("PATCH", study, `{"state": "archived"}`).Want(200)
	post(s, study+"/own", url.Values{"note": {"by hand"}, "used.0": {"30"}, "used.1": {"A"}}).Want(422).Says("The study is archived", "by hand")
}

// TestWhatIsMissingOfAnImportedTrialIsSaid: that nothing was predicted, and what of a table is not
// taken over.
func TestWhatIsMissingOfAnImportedTrialIsSaid(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	sitetest.Says(t, s.Page(study+"/trials/1"), ", without a prediction.", `<td data-label="expected before" class="number missing">–</td>`)
	sitetest.Says(t, s.Page(study+"/import"), "columns <code>number</code> and <code>status</code> are not taken over: trials get new numbers, and those that failed wait until you record that here, too.")
}

// TestNoPageOfNowPassesForOneOfThen: the study as it was is on the board, which its page leads to, and
// other pages refuse to be of another moment.
func TestNoPageOfNowPassesForOneOfThen(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	to := s.Call("GET", study+"?at=3", s.Admin, nil, "Accept", "text/html").Want(303).Header.Get("Location")
	sitetest.Same(t, "the study leads to", to, study+"/board?at=3")
	for _, path := range []string{"/trials/1", "/trials/1/sheet", "/trials/1/correct", "/bench"} {
		s.Call("GET", study+path+"?at=3", s.Admin, nil, "Accept", "text/html").Want(422).Says("at=3: this page shows what there is now; "+study+"/board?at=3 shows the study as it was", "Open the page without it")
		s.Page(study + path)
	}
	s.Call("GET", study+"?at=x", s.Admin, nil, "Accept", "text/html").Want(422).Says("at=x", "whole number")
}

// TestAPrintedStudyNamesItsLedgersHead, as its report does.
func TestAPrintedStudyNamesItsLedgersHead(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	events := s.API("GET", "/studies/"+id+"/ledger", nil).Want(200).JSON()["events"].([]any)
	line := regexp.MustCompile(`<p class="only-print small">Ledger entry 1, [^<]* · head ([0-9a-f]{64})</p>`).FindStringSubmatch(s.Page("/studies/" + id))
	if line == nil || line[1] != events[0].(map[string]any)["hash"] {
		t.Errorf("on paper stands %q", line)
	}
}
