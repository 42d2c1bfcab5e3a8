package optimizer

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/optimizer/warp"
)

// edited is a history after one thing that happens in a study, and what that was.
func edited(random *rand.Rand, cfg *Config, h *History) (next *History, what string) {
	next = &History{Rounds: slices.Clone(h.Rounds), Fits: slices.Clone(h.Fits)}
	for i := range next.Rounds {
		next.Rounds[i].Readings = slices.Clone(next.Rounds[i].Readings)
	}
	n := len(next.Rounds)
	r := &next.Rounds[random.IntN(n)]
	m := random.IntN(len(cfg.Metrics))
	reading := &r.Readings[m]
	what = edits[random.IntN(len(edits))]
	switch what {
	case "ask":
		next.Rounds = append(next.Rounds, asked(cfg, n+1, random))
	case "tell":
		if *reading = (Reading{Told: true, Value: random.NormFloat64(), Revealed: n + random.IntN(2)}); random.IntN(2) == 0 {
			reading.SD = 0.1
		}
		next.Rounds = append(next.Rounds, asked(cfg, n+1, random))
	case "correct":
		reading.Value += 1
	case "doubt":
		reading.InDoubt, reading.Expected = reading.Told && !reading.InDoubt, 0.1
	case "take back":
		reading.Told = false
	case "exclude":
		r.Excluded = !r.Excluded
	case "close":
		r.Closed = append(slices.Clone(r.Closed), Spell{From: n - random.IntN(min(n, 3)), To: 0, Cause: Cause(random.IntN(3))})
	case "reopen":
		if len(r.Closed) > 0 {
			r.Closed = slices.Clone(r.Closed)
			r.Closed[len(r.Closed)-1].To = n + 1
		}
	case "fit":
		f := Fit{From: n + 1 - random.IntN(min(n, 4)), Metrics: make([]FittedMetric, len(cfg.Metrics))}
		f.Metrics[m] = FittedMetric{Set: true, Centre: random.Float64(), Scale: 1 + random.Float64(), Lengthscales: slices.Repeat([]float64{0.2 + random.Float64()}, len(cfg.Space.Dims)), Lambda: 0.02 + 0.1*random.Float64(), Count: n,
			Variance: 0.5 + random.Float64(), Inflation: 0.8 + random.Float64(), Freedom: 8, Warp: warp.Warp{Power: 0.6 + random.Float64(), Centre: 0.1, Scale: 1.1}}
		if next.Fits = append(next.Fits, f); random.IntN(3) == 0 {
			next.Fits = next.Fits[:len(next.Fits)-1] // undone
			if len(next.Fits) > 0 {
				next.Fits = next.Fits[:len(next.Fits)-1]
			}
		}
	case "draw":
		r.Draw = Draw{Seed: 1 + random.Uint64N(1000)}
	case "given":
		if len(r.Costs) > 0 {
			r.Costs = slices.Clone(r.Costs)
			r.Costs[0] += 0.3
		}
	case "point":
		other := asked(cfg, 1, random)
		r.Point, r.Arm = other.Point, other.Arm
	case "back":
		return seenAt(next, 2+random.IntN(n)), what
	}
	return next, what
}

// edits are what edited does; back goes back in time.
var edits = []string{"ask", "tell", "tell", "correct", "doubt", "take back", "exclude", "close", "close", "reopen", "fit", "fit", "draw", "given", "point", "back"}

// asked is a round without readings, somewhere.
func asked(cfg *Config, n int, random *rand.Rand) Round {
	r := Round{Arm: -1, Suggested: random.IntN(5) > 0, Readings: make([]Reading, len(cfg.Metrics)), Costs: make([]float64, len(cfg.Costs))}
	if arms := cfg.Space.Arms; arms != nil {
		r.Arm = random.IntN(len(arms))
		r.Point = arms[r.Arm]
	} else {
		for range cfg.Space.Dims {
			r.Point = append(r.Point, random.Float64())
		}
		r.Point, _ = cfg.Space.settle(r.Point)
	}
	for j := range r.Costs {
		r.Costs[j] = random.NormFloat64()
	}
	for m := range r.Readings {
		if random.IntN(4) > 0 {
			r.Readings[m] = Reading{Told: true, Value: random.NormFloat64(), Revealed: n}
		}
	}
	return r
}

// TestGamesFollowEveryEdit lives through a study in which the past is changed again and again, a
// state extending the one before; each must be what replay makes of its history: to the last bit,
// or to 1e-9 where a window slid.
func TestGamesFollowEveryEdit(t *testing.T) {
	t.Parallel()
	for _, name := range algorithms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for life := range uint64(16) {
				live(t, name, rand.New(rand.NewPCG(life, 0)))
			}
		})
	}
}

func live(t *testing.T, algorithm string, random *rand.Rand) {
	t.Helper()
	cfg := toyConfig(t, algorithm, grounds()[random.IntN(2)], 1)
	if random.IntN(2) == 0 {
		adaptive(cfg)
		for i := range cfg.Metrics {
			cfg.Metrics[i].Warp = true
		}
	}
	same := sameBits
	if described(algorithm).ForDrift { // a window that slides
		same = within9
	}
	h := &History{}
	for n := range 1 + random.IntN(12) {
		h.Rounds = append(h.Rounds, asked(cfg, n+1, random))
	}
	state := mustReplay(t, cfg, h)
	for range 5 {
		if random.IntN(2) == 0 {
			sure(state.Trace(background))
		}
		next, what := edited(random, cfg, h)
		if what != "back" {
			h = next
		}
		state = sure(state.Extend(background, next))
		compare(t, what, same, state, mustReplay(t, cfg, next))
	}
}

// compare compares all that two states say.
func compare(t *testing.T, after string, same func(a, b float64) bool, got, want *State) {
	t.Helper()
	check := func(what string, x, y any) {
		t.Helper()
		if diff := difference(y, x, same); diff != "" {
			t.Fatalf("%s after %s:\n%s", what, after, diff)
		}
	}
	check("path", got.pastMultipliers.items, want.pastMultipliers.items)
	check("multipliers", got.Multipliers(), want.Multipliers())
	check("models", got.Models(), want.Models())
	check("trace", sure(got.Trace(background)), sure(want.Trace(background)))
	check("violations", sure(got.ViolationTrace(background)), sure(want.ViolationTrace(background)))
	check("calibrations", sure(got.Calibrations(background)), sure(want.Calibrations(background)))
	check("recommendation", sure(got.Recommendation(background)), sure(want.Recommendation(background)))
	places := got.cfg.Space.places()
	if places == nil {
		for i := range 5 {
			places = append(places, Place{U: slices.Repeat([]float64{float64(i) / 4}, len(got.cfg.Space.Dims)), Arm: -1})
		}
	}
	check("posterior", got.beliefs(places), want.beliefs(places))
	check("acquisition", sure(got.Acquisition(background, places, toyKnown())), sure(want.Acquisition(background, places, toyKnown())))
	for _, b := range got.beliefs(places) {
		if slices.ContainsFunc(b.Mean, math.IsNaN) {
			t.Fatal("a mean is not a number")
		}
	}
}

// difference says how x and y differ where numbers are compared by same, or nothing. go-cmp words
// it, and is not asked before: under the race detector it would cost more than all that is
// compared.
func difference(x, y any, same func(a, b float64) bool) string {
	if alike(reflect.ValueOf(x), reflect.ValueOf(y), same) {
		return ""
	}
	return cmp.Diff(x, y, cmp.Comparer(same), cmp.Comparer(func(a, b []float64) bool { return slices.EqualFunc(a, b, same) }), unexported)
}

// alike is never true where go-cmp finds a difference.
func alike(x, y reflect.Value, same func(a, b float64) bool) bool {
	if x.IsValid() != y.IsValid() || x.IsValid() && x.Type() != y.Type() {
		return false
	}
	count, part := 0, reflect.Value.Index
	switch x.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Float64:
		return same(x.Float(), y.Float())
	case reflect.Pointer, reflect.Interface:
		return x.IsNil() && y.IsNil() || !x.IsNil() && !y.IsNil() && alike(x.Elem(), y.Elem(), same)
	case reflect.Slice:
		if x.IsNil() != y.IsNil() || x.Len() != y.Len() {
			return false
		}
		count = x.Len()
	case reflect.Array:
		count = x.Len()
	case reflect.Struct:
		count, part = x.NumField(), reflect.Value.Field
	default: // what else there is cannot hold a number to compare, or go-cmp looks into it
		return x.Comparable() && x.Equal(y)
	}
	for i := range count {
		if !alike(part(x, i), part(y, i), same) {
			return false
		}
	}
	return true
}

// unexported lets comparisons look at everything.
var unexported = cmp.Exporter(func(reflect.Type) bool { return true })
