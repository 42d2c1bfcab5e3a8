package http_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
)

// usualLives is how many studies an ordinary test leads through whole lives; HEADROOM_LIVES says
// for how long to go on instead, as 1h, and from which one on after a comma, as 1h,500.
const usualLives = 15

// TestWholeLives leads random studies of extreme but allowed numbers through random requests of
// every kind. Nothing that anybody reads of them may fail, or show what is no number or no text;
// their ledgers verify, and what they export is taken in again.
func TestWholeLives(t *testing.T) {
	s := sitetest.Beside(t)
	began, first, long := time.Now(), uint64(1), time.Duration(0)
	if text, from, _ := strings.Cut(os.Getenv("HEADROOM_LIVES"), ","); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		if from != "" {
			must.Get(fmt.Sscan(from, &first))(t)
		}
	}
	operations, reads := 0, 0
	for seed := first; seed < first+usualLives && long == 0 || time.Since(began) < long; seed++ {
		l := &life{t: t, site: s, PCG: rand.New(rand.NewPCG(seed, 0)), addresses: routesOf(t, s)}
		l.live()
		operations, reads = operations+len(l.said), reads+l.reads
		if len(l.faults) > 0 {
			t.Errorf("life %d: %s\nwent through:\n%s", seed, strings.Join(l.faults, "\n"), strings.Join(l.said, "\n"))
		}
		if long > 0 {
			t.Logf("life %d: %d operations, %d reads since %d", seed, operations, reads, first)
		}
	}
}

// routesOf are the addresses of everything that can be read of a study.
func routesOf(t *testing.T, s *sitetest.Site) (patterns []string) {
	err := chi.Walk(s.Router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method == "GET" && strings.Contains(pattern, "/studies/{id}") && !strings.HasSuffix(pattern, "/stream") && !strings.HasSuffix(pattern, "/events") {
			patterns = append(patterns, pattern)
		}
		return nil
	})
	if err != nil || len(patterns) < 20 {
		t.Fatalf("%v, %d routes", err, len(patterns))
	}
	slices.Sort(patterns)
	return patterns
}

// life is that of one study: all in it follows from the seed.
type life struct {
	PCG       *rand.Rand
	t         *testing.T
	site      *sitetest.Site
	addresses []string // patterns of what can be read
	said      []string // every request that may have changed something, to go through it again
	faults    []string // what nobody should have met
	reads     int
	made      map[string]any // the definition
	id        string
	trials    int
}

func (l *life) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

func one[V any](l *life, of ...V) V { return of[l.PCG.IntN(len(of))] }

func (l *life) chance(share float64) bool { return l.PCG.Float64() < share }

// number is one that is allowed, as a metric's value: mostly sensible, sometimes as large, as small
// or as near to others as can be.
func (l *life) number() float64 {
	if l.chance(0.4) {
		return float64(l.PCG.IntN(200))/10 - 5
	}
	return one(l, 0, 1, -1, -1000, 1e-9, 1e-150, -1e-200, 1e-307, 3e-307, -2e-308, 5e-324, 1e30, -1e50, 1e99, 1e100, -1e100, 1e9, 1e9+1e-6, 0.1+0.2)
}

// poison is what no answer may show: what is no number, what is no text, and what a format string
// left behind.
var poison = regexp.MustCompile(`\bNaN\b|\b[+-]?Inf(inity)?\b|M-?Inf|%![a-zA-Z(]|\\u0001|\x01`)

// poisoned is where a text has poison, nil where it has none: most have nothing that poison begins
// with, which is found faster.
func poisoned(text []byte) []int {
	for _, sign := range []string{"NaN", "Inf", "%!", `\u0001`, "\x01"} {
		if bytes.Contains(text, []byte(sign)) {
			return poison.FindIndex(text)
		}
	}
	return nil
}

func TestPoisonIsFound(t *testing.T) {
	t.Parallel()
	for text, is := range map[string]bool{
		"it is NaN": true, "a +Inf b": true, "-Infinity": true, "MInf": true, "%!s(int=1)": true, `"\u0001"`: true, "\x01": true, "Information, NaNo, 50 %! done": false,
	} {
		if got := poisoned([]byte(text)) != nil; got != is {
			t.Errorf("%q is poisoned: %t", text, got)
		}
	}
}

// call makes a request and holds its answer against what no answer may be.
func (l *life) call(method, path string, body any) sitetest.Answer {
	accept := "text/html"
	if strings.HasPrefix(path, "/api") {
		accept = "application/json"
	}
	a := l.site.Call(method, path, l.site.Admin, body, "Accept", accept)
	if a.Status >= 500 {
		l.fault("%s %s: %d %.300s", method, path, a.Status, a.Body)
	}
	if at := poisoned(a.Body); at != nil && !strings.Contains(path, "/static/") {
		l.fault("%s %s shows %q: …%s…", method, path, a.Body[at[0]:at[1]], a.Body[max(0, at[0]-150):min(len(a.Body), at[1]+150)])
	}
	return a
}

// do makes a request to the API that may change something; whether it is accepted is not the
// question here.
func (l *life) do(method, path string, body any) sitetest.Answer {
	text, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	if table, is := body.(string); is {
		text = []byte(table)
	}
	path = "/api/v1/studies" + path
	a := l.call(method, path, string(text))
	l.said = append(l.said, fmt.Sprintf("%s %s %s → %d", method, path, text, a.Status))
	return a
}

// read reads something of the study, and with it what its page fetches.
func (l *life) read(pattern string) {
	path := strings.NewReplacer("{id}", l.id, "{number}", fmt.Sprint(1+l.PCG.IntN(max(1, l.trials))),
		"{part}", one(l, "verdict", "gain", "status", "next", "bench", "progress", "progress-table", "beliefs", "trials", "ledger")).Replace(pattern)
	if l.chance(0.2) && !strings.Contains(path, "/board/") {
		path += fmt.Sprintf("?at=%d", 1+l.PCG.IntN(2+l.trials))
	}
	l.reads++
	l.call("GET", path, nil)
}

// definition draws a study; some are refused.
func (l *life) definition() map[string]any {
	var parameters []any
	settings := func(i int) map[string]any { return parameters[i].(map[string]any) }
	for i := range 1 + l.PCG.IntN(3) {
		name := string(rune('a' + i))
		switch one(l, "real", "real", "real", "integer", "categorical") {
		case "real":
			b := one(l, [2]float64{0, 1}, [2]float64{20, 60}, [2]float64{-1e100, 1e100}, [2]float64{1e9, 1e9 + 5}, [2]float64{1e-290, 3e-290}, [2]float64{1e-200, 1e-190}, [2]float64{1e-100, 1e100},
				[2]float64{1e-250, 1e-20}, [2]float64{1e-200, 1e90}, [2]float64{1e99, 1e100}, [2]float64{1e-307, 1e-30}, [2]float64{0, 1e-298})
			p := map[string]any{"name": name, "type": "real", "low": b[0], "high": b[1]}
			if b[0] > 0 && l.chance(0.6) {
				p["scale"] = "log"
			}
			if l.chance(0.3) {
				p["step"] = (b[1] - b[0]) / one(l, 4, 10, 7, 3e5, 999_999_999, 1e9)
			}
			parameters = append(parameters, p)
		case "integer":
			b := one(l, [2]float64{0, 3}, [2]float64{1, 100}, [2]float64{-1 << 53, 1 << 53}, [2]float64{1, 1 << 53}, [2]float64{1<<53 - 9, 1 << 53})
			p := map[string]any{"name": name, "type": "integer", "low": b[0], "high": b[1]}
			if b[0] > 0 && l.chance(0.5) {
				p["scale"] = "log"
			}
			parameters = append(parameters, p)
		case "categorical":
			parameters = append(parameters, map[string]any{"name": name, "type": "categorical", "choices": one(l, []string{"A", "B"}, []string{"=cmd", "-1", "é;,"}, []string{"A", "B", "C", "D", "E"}, []string{strings.Repeat("W", 200), "B"})})
		}
	}
	d := map[string]any{"name": "Life", "seed": l.PCG.IntN(1000), "objective": map[string]any{"metric": "y", "direction": one(l, "maximize", "minimize"), "unit": one(l, "", "%")}}
	if p := settings(0); p["type"] == "real" && p["scale"] == nil && l.chance(0.3) {
		low, high := p["low"].(float64), p["high"].(float64)
		parameters = append(parameters, map[string]any{"name": "rest", "type": "remainder", "total": high, "of": []string{"a"}, "low": low - high, "high": high})
		if low >= 0 {
			settings(len(parameters) - 1)["low"] = 0
		}
	} else if p["type"] != "categorical" && l.chance(0.2) {
		d["input_constraints"] = []string{"a <= " + fmt.Sprint(p["high"])}
	} else if l.chance(0.3) {
		var candidates []any
		for i := range 4 {
			row := map[string]any{}
			for _, p := range parameters {
				p := p.(map[string]any)
				if choices, is := p["choices"].([]string); is {
					row[p["name"].(string)] = choices[i%len(choices)]
				} else if row[p["name"].(string)] = p["low"]; i%2 == 1 {
					row[p["name"].(string)] = p["high"]
				}
			}
			candidates = append(candidates, row)
		}
		d["candidates"] = candidates
	}
	d["parameters"] = parameters
	var constraints []any
	if l.chance(0.7) {
		constraints = append(constraints, map[string]any{"metric": "g", "op": one(l, "<=", ">="), "threshold": l.number()})
	}
	if l.chance(0.2) {
		constraints = append(constraints, map[string]any{"metric": "known", "op": "<=", "threshold": l.number(), "expression": one(l, "w", "w*w", "w/3", "0.5 + w"), "context": []string{"w"}})
	}
	if d["candidates"] != nil && l.chance(0.3) {
		constraints = append(constraints, map[string]any{"metric": "queue", "op": ">=", "threshold": l.number(), "sampled": true})
	}
	d["constraints"] = constraints
	if l.chance(0.3) {
		d["recorded_metrics"] = []any{map[string]any{"metric": "colour"}}
	}
	algorithm := one(l, policy.Descriptions()...)
	given := map[string]any{}
	for _, setting := range algorithm.Settings {
		switch setting.Name {
		case "safe_seeds":
			seed := map[string]any{}
			for _, p := range parameters {
				p := p.(map[string]any)
				if choices, is := p["choices"].([]string); is {
					seed[p["name"].(string)] = choices[0]
				} else if p["type"] != "remainder" {
					seed[p["name"].(string)] = p["low"]
				}
			}
			given["safe_seeds"] = []any{seed}
		case "window", "restart_every", "delay_window":
			given[setting.Name] = 3
		}
	}
	if l.chance(0.5) {
		algorithm.Name, given = one(l, "rpol-ucb", "cei"), nil
	}
	d["algorithm"] = map[string]any{"name": algorithm.Name, "horizon": one(l, 1, 10, 1_000_000), "settings": given}
	if l.chance(0.5) {
		model := map[string]any{"inputs": one(l, "unit", "unit", "raw"), "outputs": one(l, "raw", "standardize"), "fit": one(l, "fixed", "marginal_likelihood"), "kernel": one(l, "matern52", "se", "linear", "matern12")}
		if l.chance(0.5) {
			model["noise_variance"] = one(l, 1e-30, 1e-6, 1e30)
		}
		d["model"] = model
	}
	return d
}

// live makes a study and does as people and scripts do with it.
func (l *life) live() {
	for range 50 {
		l.made = l.definition()
		a := l.do("POST", "", l.made)
		if a.Status == http.StatusCreated {
			l.id = a.JSON()["id"].(string)
			break
		}
		l.said = l.said[:0]
	}
	if l.id == "" {
		l.t.Fatal("50 definitions are refused")
	}
	for range 3 + l.PCG.IntN(10) {
		l.operate()
		for range 3 {
			l.read(one(l, l.addresses...))
		}
	}
	for _, pattern := range l.addresses {
		l.read(pattern)
	}
	page := l.call("GET", "/studies/"+l.id, nil)
	for _, fetched := range regexp.MustCompile(`hx-get="(/studies/[^"]*)"`).FindAllSubmatch(page.Body, -1) {
		l.call("GET", html.UnescapeString(string(fetched[1])), nil)
	}
	l.hold()
}

// hold asks what must be true of every study: its ledger verifies, what it exports is taken in
// again, a server that has seen nothing of it says the same, and what is shown is what is decided
// with.
func (l *life) hold() {
	at := "/api/v1/studies/" + l.id
	verified := l.call("POST", at+"/verify", "{}")
	if verified.Status != 200 || verified.JSON()["ok"] != true {
		l.fault("an honest ledger is called false: %d %s", verified.Status, verified.Body)
	}
	bundle := l.call("GET", at+"/export.json", nil)
	copied := l.call("POST", "/api/v1/studies/import", bundle.Body)
	if copied.Status != http.StatusCreated {
		l.fault("an export is refused: %d %s", copied.Status, copied.Body)
		return
	}
	if again := l.call("GET", "/api/v1/studies/"+copied.JSON()["id"].(string)+"/export.json", nil); string(again.Body) != string(bundle.Body) {
		l.fault("a copy exports otherwise:\n%.2000s\n%.2000s", bundle.Body, again.Body)
	}
	table := l.call("GET", at+"/export.csv", nil)
	if state := l.call("GET", at, nil).JSON()["state"]; state != "open" || l.trials == 0 {
		return
	}
	if a := l.site.Call("POST", at+"/import?dry_run=true", l.site.Admin, table.Body, "Content-Type", "text/csv"); a.Status != 200 || poisoned(a.Body) != nil {
		l.fault("an exported table is refused, or poisoned: %d %.600s\n%.600s", a.Status, a.Body, table.Body)
	}
	if a := l.site.Call("POST", at+"/import?by_number=true", l.site.Admin, table.Body, "Content-Type", "text/csv"); a.Status != 200 || a.JSON()["rows"] != 0.0 {
		l.fault("an exported table says something new of its own trials: %d %.600s\n%.600s", a.Status, a.Body, table.Body)
	}
	state, another := l.call("GET", at+"/state", nil), l.site.Another()
	if state.Status == http.StatusOK {
		l.addUp(at, state.JSON()["violation"].(map[string]any))
	}
	for _, path := range []string{at + "/state", "/studies/" + l.id + "/report"} {
		here, there := l.call("GET", path, nil), another.Call("GET", path, l.site.Admin, nil)
		if made := regexp.MustCompile(`<dt>Made</dt><dd>[^<]*`); !bytes.Equal(made.ReplaceAll(here.Body, nil), made.ReplaceAll(there.Body, nil)) {
			l.fault("another server says otherwise of %s:\n%s\n%s", path, here.Body, there.Body)
		}
	}
	if asked := l.do("POST", "/"+l.id+"/ask", l.brought(map[string]any{"count": 1})); asked.Status < 300 && state.Status == http.StatusOK {
		decision := asked.JSON()["trials"].([]any)[0].(map[string]any)["decision"].(map[string]any)
		shown := map[string]any{"multipliers": state.JSON()["multipliers"], "beta": map[string]any{}}
		for metric, m := range state.JSON()["metrics"].(map[string]any) {
			if beta := m.(map[string]any)["beta"]; beta != nil {
				shown["beta"].(map[string]any)[metric] = beta
			}
		}
		if diff := cmp.Diff(map[string]any{"multipliers": decision["multipliers"], "beta": decision["beta"]}, shown); diff != "" {
			l.fault("decided with (-) and shown before (+):\n%s", diff)
		}
	}
}

// addUp adds up by hand how far trials went beyond each limit as it is now.
func (l *life) addUp(at string, told map[string]any) {
	constraints, _ := l.call("GET", at, nil).JSON()["constraints"].([]any)
	trials := l.call("GET", at+"/trials?limit=1000", nil).JSON()["trials"].([]any)
	for _, c := range constraints {
		c := c.(map[string]any)
		soft, hard, rounds, size := 0.0, 0.0, 0, 0.0
		for _, t := range trials {
			m, known := t.(map[string]any)["metrics"].(map[string]any)[c["metric"].(string)].(map[string]any)
			if !known {
				continue
			}
			excess := m["value"].(float64) - c["threshold"].(float64)
			if c["op"] == ">=" {
				excess = -excess
			}
			if soft, size = soft+excess, size+math.Abs(excess); excess > 0 {
				hard, rounds = hard+excess, rounds+1
			}
		}
		is := told[c["name"].(string)].(map[string]any)
		if off := math.Max(math.Abs(is["soft"].(float64)-max(0, soft)), math.Abs(is["hard"].(float64)-hard)); off > 1e-9*size || is["rounds"] != float64(rounds) {
			l.fault("the violation of %s is told as %v, and adds up to %g (soft) and %g (hard) in %d rounds", c["name"], is, soft, hard, rounds)
		}
	}
}

// brought is what a decision needs.
func (l *life) brought(body map[string]any) map[string]any {
	for _, c := range l.made["constraints"].([]any) {
		switch c := c.(map[string]any); {
		case c["expression"] != nil:
			body["context"] = map[string]any{"w": one(l, 0.0, 1, -1e30, 1e-307, 1e100)}
		case c["sampled"] != nil:
			values := make([]float64, 4)
			for i := range values {
				values[i] = l.number()
			}
			body["constraint_values"] = map[string]any{"queue": values}
		}
	}
	return body
}

func (l *life) metrics() map[string]any {
	told := map[string]any{}
	for _, metric := range []string{"y", "g", "colour"} {
		if metric == "g" && !strings.Contains(fmt.Sprint(l.made["constraints"]), "metric:g") || metric == "colour" && l.made["recorded_metrics"] == nil {
			continue
		}
		switch {
		case l.chance(0.1):
		case l.chance(0.2):
			told[metric] = map[string]any{"value": l.number(), "stddev": one(l, 0.0, 1e-307, 1e-9, 0.5, 1e100)}
		default:
			told[metric] = l.number()
		}
	}
	return told
}

// settings are those of a trial, at times moved a little or to a bound.
func (l *life) settings() map[string]any {
	settings := map[string]any{}
	for _, p := range l.made["parameters"].([]any) {
		p := p.(map[string]any)
		name := p["name"].(string)
		if choices, is := p["choices"].([]string); is {
			settings[name] = one(l, choices...)
		} else if p["type"] != "remainder" {
			low, high := p["low"].(float64), p["high"].(float64)
			settings[name] = one(l, low, high, low+(high-low)/4)
			if step, is := p["step"].(float64); is {
				settings[name] = low + step*float64(l.PCG.IntN(4))
			}
		}
	}
	if candidates, is := l.made["candidates"].([]any); is {
		return one(l, candidates...).(map[string]any)
	}
	return settings
}

// beyond moves one of the numbers, at times to where none may be chosen.
func (l *life) beyond(settings map[string]any) map[string]any {
	moved := maps.Clone(settings)
	for name, value := range settings {
		if x, is := value.(float64); is && name == "a" {
			moved[name] = x * one(l, 1, 0, -1, 0.5, 2, 1e-3)
		}
	}
	return moved
}

// operate is one request of any kind.
func (l *life) operate() {
	study := "/" + l.id
	trial := fmt.Sprintf("%s/trials/%d", study, 1+l.PCG.IntN(max(1, l.trials)))
	why := map[string]any{"reason": "as it happened"}
	switch one(l, "ask", "ask", "ask", "tell", "tell", "tell", "tell", "own", "own", "correct", "preview", "exclude", "include", "fail", "abandon", "replicate", "undo", "undo many", "state", "limit", "bounds", "stock", "import", "compare", "at") {
	case "ask":
		held := maps.Clone(l.settings())
		maps.DeleteFunc(held, func(string, any) bool { return l.chance(0.8) })
		l.do("POST", study+"/ask", l.brought(map[string]any{"count": 1 + l.PCG.IntN(2), "held": held}))
	case "tell":
		body := map[string]any{"metrics": l.metrics()}
		if l.chance(0.2) {
			body["parameters"] = l.beyond(l.settings())
		}
		l.do("POST", trial+"/tell", body)
	case "own":
		l.do("POST", study+"/trials", l.brought(map[string]any{"parameters": l.settings(), "metrics": l.metrics(), "note": one(l, "", "=1+1", "two\nlines")}))
	case "correct":
		l.do("POST", trial+"/corrections", map[string]any{"metrics": l.metrics(), "reason": "typo"})
	case "preview":
		l.do("POST", trial+"/corrections?dry_run=true", map[string]any{"metrics": l.metrics(), "reason": "typo"})
	case "exclude", "include", "abandon":
		l.do("POST", trial+one(l, "/exclude", "/include", "/abandon"), why)
	case "fail":
		l.do("POST", trial+"/fail", map[string]any{"reason": "broke", "cause": one(l, "settings", "chance")})
	case "replicate":
		l.do("POST", trial+"/replicates", map[string]any{})
	case "undo":
		l.do("POST", trial+"/undo", map[string]any{})
	case "undo many":
		l.do("POST", study+one(l, "/undo", "/undo?dry_run=true"), map[string]any{"event": 2 + l.PCG.IntN(4*max(1, l.trials)), "reason": "wrong file"})
	case "state":
		l.do("PATCH", study, map[string]any{"state": one(l, "open", "open", "paused", "finished"), "name": one(l, "Life", "Second life")})
	case "limit":
		if constraints := l.made["constraints"].([]any); len(constraints) > 0 {
			changed := maps.Clone(one(l, constraints...).(map[string]any))
			changed["threshold"] = l.number()
			if changed["expression"] != nil && l.chance(0.5) {
				changed["expression"] = one(l, "w", "w*w", "w/3", "0.5 + w")
			}
			l.do("POST", study+"/reconfigure", map[string]any{"constraints": []any{changed}, "reason": "as agreed"})
		}
	case "stock":
		p := one(l, l.made["parameters"].([]any)...).(map[string]any)
		if choices, is := p["choices"].([]string); is {
			gone := map[string]any{"unavailable": map[string]any{p["name"].(string): choices[:l.PCG.IntN(len(choices))]}, "reason": "as delivered"}
			l.do("POST", study+"/reconfigure?dry_run=true", gone)
			l.do("POST", study+"/reconfigure", gone)
		}
	case "bounds":
		p := one(l, l.made["parameters"].([]any)...).(map[string]any)
		changed := map[string]any{}
		maps.Copy(changed, p)
		if high, is := p["high"].(float64); is && p["type"] == "real" {
			changed["high"] = high * one(l, 0.5, 0.999, 1, 2)
		}
		l.do("POST", study+"/reconfigure", map[string]any{"parameters": []any{changed}, "algorithm": map[string]any{"name": one(l, "rpol-ucb", "cei"), "horizon": 50}, "reason": "as agreed"})
	case "import":
		l.importRows()
	case "compare":
		l.do("POST", study+"/compare", map[string]any{"algorithms": []any{map[string]any{"name": "rpol-ucb"}, map[string]any{"name": "cei"}}})
	case "at":
		l.do("POST", study+"/posterior", map[string]any{"points": []any{l.settings()}})
		l.do("POST", study+"/acquisition", l.brought(map[string]any{"points": []any{l.settings()}}))
	}
	if list, is := l.call("GET", "/api/v1/studies"+study, nil).JSON()["trials"].(float64); is {
		l.trials = int(list)
	}
}

// importRows takes in a table, after a look at what it would do.
func (l *life) importRows() {
	var titles []string
	rows := make([][]string, 2)
	for i := range rows {
		settings := l.settings()
		titles = titles[:0]
		for _, p := range l.made["parameters"].([]any) {
			name := p.(map[string]any)["name"].(string)
			if value, there := settings[name]; there {
				titles = append(titles, name)
				rows[i] = append(rows[i], `"`+fmt.Sprint(value)+`"`)
			}
		}
		titles = append(titles, "y", "number", "status")
		rows[i] = append(rows[i], fmt.Sprint(l.number()), fmt.Sprint(1+l.PCG.IntN(l.trials+2)), one(l, "", "", "failed", "failed by chance", "abandoned", "completed"))
	}
	table := strings.Join(titles, ",") + "\n"
	for _, row := range rows[:1+l.PCG.IntN(2)] {
		table += strings.Join(row, ",") + "\n"
	}
	numbers := one(l, "", "&by_number=true", "&by_number=true&reason=life")
	for _, query := range []string{"?dry_run=true" + numbers, "?dry_run=false" + numbers} {
		path := "/api/v1/studies/" + l.id + "/import" + query
		a := l.site.Call("POST", path, l.site.Admin, table, "Content-Type", "text/csv")
		l.said = append(l.said, fmt.Sprintf("POST %s %q → %d", path, table, a.Status))
		if a.Status >= 500 || poisoned(a.Body) != nil {
			l.fault("%s: %d %s", path, a.Status, a.Body)
		}
	}
}
