package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// crashes plays an experiment over [0, 1]³ that crashes where x + z > 1.2 and promises most beyond
// that, with noise; every trial ends before the next is asked for. It returns how many asks failed,
// and the state after them.
func crashes(t *testing.T, arms [][]float64, seed uint64, promise func(u []float64) float64) (failed int, state *State) {
	random := rand.New(rand.NewPCG(seed, 5))
	cfg := plain(t, 3, 1, func(c *Config) {
		adaptive(c)
		c.Algorithm, c.Seed, c.Space.Arms = "log-cei", seed, arms
		for i := range c.Metrics {
			c.Metrics[i].Kernel.Name, c.Metrics[i].Warp = "anova", true
		}
	}, `{}`)
	h := &History{}
	state = mustReplay(t, cfg, h)
	for n := 1; n <= 16; n++ {
		if state.FitDue() {
			h = withFit(t, state, h)
			state = sure(state.Extend(background, h))
		}
		d := sure(state.Suggest(background, Known{}))
		u := d.Place.U
		if state.isAvoided(d.Place) {
			t.Errorf("ask %d repeats what failed: %v", n, u)
		}
		r := Round{Point: u, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw, Readings: make([]Reading, 2)}
		if u[0]+u[2] > 1.2 {
			failed++
			r.Closed = []Spell{{From: n + 1, Cause: BySettings}}
		} else {
			for m, value := range []float64{promise(u), u[1] - 0.8} {
				r.Readings[m] = Reading{Told: true, Value: value + 0.02*random.NormFloat64(), Revealed: n}
			}
		}
		h = &History{Rounds: append(slices.Clip(h.Rounds), r), Fits: h.Fits}
		state = sure(state.Extend(background, h))
	}
	return failed, state
}

// TestGamesLearnACrashRegion: of 16 asks at most five fail, on average over five seeds, whether what
// lies beyond the edge looks a little or far better.
func TestGamesLearnACrashRegion(t *testing.T) {
	t.Parallel()
	steep := func(u []float64) float64 { return 3*u[0] + 2*u[2] - 4*(u[0]-0.7)*(u[0]-0.7) - 3*(u[1]-0.3)*(u[1]-0.3) }
	mild := func(u []float64) float64 {
		return -(u[0]-0.9)*(u[0]-0.9) - (u[1]-0.3)*(u[1]-0.3) - (u[2]-0.6)*(u[2]-0.6)
	}
	for name, c := range map[string]struct {
		arms    [][]float64
		promise func(u []float64) float64
	}{"steep": {nil, steep}, "mild": {nil, mild}, "candidates": {search.Halton(200, 3, 5), mild}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum := 0
			const seeds = 5
			for seed := range uint64(seeds) {
				failed, _ := crashes(t, c.arms, seed, c.promise)
				sum += failed
			}
			t.Logf("%.1f of 16 failed", float64(sum)/seeds)
			if sum > 5*seeds {
				t.Errorf("%.1f of 16 failed", float64(sum)/seeds)
			}
		})
	}
}

// failing lets those rounds of a history fail because of their settings for which the sum of two
// coordinates is large.
func failing(h *History) *History {
	out := &History{Rounds: slices.Clone(h.Rounds), Fits: h.Fits}
	for i := range out.Rounds {
		if r := &out.Rounds[i]; r.Point[0]+r.Point[len(r.Point)-1] > 1.2 {
			r.Readings, r.Closed = make([]Reading, len(r.Readings)), []Spell{{From: i + 2, Cause: BySettings}}
		}
	}
	return out
}

// TestScoresKnowWhereTrialsWork: the default's score has the logarithm of the chance, worksWeight
// times, with its slopes, and screening by bounds keeps its best; where nothing failed, or for a
// published algorithm, it is what it was.
func TestScoresKnowWhereTrialsWork(t *testing.T) {
	t.Parallel()
	for _, category := range []bool{false, true} {
		for _, rounds := range []int{12, 260} {
			plain := hills(t, rounds, category)
			s := mustReplay(t, plain.cfg, failing(plain.history))
			if s.works == nil {
				t.Fatal("nothing failed")
			}
			checkSlopes(t, s)
			at := deciding(s).startingPlaces()
			all, _ := must.Get2(deciding(s).climbing(Known{}).scoreAll(background, at))(t)
			left, _ := must.Get2(deciding(s).climbing(Known{}).screen(background, at))(t)
			if want, got := leaders(at, all, 1)[0].score, left[0].score; want != got {
				t.Errorf("%d rounds: screening finds %+v, the best is %+v", rounds, got, want)
			}

			published := *s.cfg
			published.Paper = true
			bare := mustReplay(t, &published, s.history)
			if bare.works != nil || bare.Works() != s.Works() || bare.Works().Failed == 0 {
				t.Errorf("published: %+v, %+v", bare.works, bare.Works())
			}
			chances := sure(s.WorksChance(background, at))
			for i, free := range sure(bare.Acquisition(background, at, Known{})).Values {
				if want := free + worksWeight*math.Log(chances[i]); math.Abs(all[i].Value-want) > 1e-9*(1+math.Abs(want)) {
					t.Fatalf("%v scores %g, want %g", at[i].U, all[i].Value, want)
				}
			}
			if high, low := sure(s.WorksChance(background, []Place{{U: []float64{0.1, 0.5, 0.1}, Arm: -1}, {U: []float64{0.95, 0.5, 0.95}, Arm: -1}})), 0.5; high[0] < low || high[1] > low {
				t.Errorf("chances %v", high)
			}
			for _, chance := range sure(plain.WorksChance(background, at[:5])) {
				if chance != 1 || plain.works != nil {
					t.Errorf("nothing failed, chance %g", chance)
				}
			}
		}
	}
}

// checkSlopes compares the slopes of the score with differences.
func checkSlopes(t *testing.T, s *State) {
	t.Helper()
	var points [][]float64
	for _, u := range search.Halton(12, 3, 5) {
		if v, ok := s.cfg.Space.settle(u); ok && !s.isAvoided(Place{U: v, Arm: -1}) {
			points = append(points, v)
		}
	}
	_, slopesAt := must.Get2(sure(deciding(s).climbing(Known{}).scoreWithSlopes(background))(points))(t)
	slopes := sure(slopesAt(lists.Below(len(points))))
	for i, u := range points {
		for k := range u {
			const step = 1e-6
			up, down := slices.Clone(u), slices.Clone(u)
			up[k] += step
			down[k] -= step
			beside, _ := must.Get2(deciding(s).climbing(Known{}).scoreAll(background, asPlaces([][]float64{up, down})))(t)
			want := (beside[0].Value - beside[1].Value) / (2 * step)
			if math.Abs(want) > 1e4 { // so far down a tail that differences of this step have no digits
				continue
			}
			if math.Abs(slopes[i].Along[k]-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("along %d at %v the slope is %g, by differences %g", k, u, slopes[i].Along[k], want)
			}
		}
	}
}

// TestOutcomesThatTell: of many outcomes those at the edge and those far from it take part,
// whatever the order they were counted in.
func TestOutcomesThatTell(t *testing.T) {
	t.Parallel()
	var all outcomes
	for i := range 600 {
		x := float64(i) / 600
		all.inputs, all.worked = append(all.inputs, []float64{x}), append(all.worked, x < 0.7)
	}
	part := sure(all.mostInformative(background, []float64{0.2}))
	if n := part.failed(); len(part.worked) != mostOutcomes || n < mostOutcomes/4 || n > mostOutcomes*3/4 {
		t.Errorf("%d take part, of which %d failed", len(part.worked), part.failed())
	}
	for _, x := range []float64{0, 420. / 600, 419. / 600, 599. / 600} {
		if !slices.ContainsFunc(part.inputs, func(y []float64) bool { return math.Abs(x-y[0]) < 1e-9 }) {
			t.Errorf("%g takes no part", x)
		}
	}
	if few := sure((outcomes{all.inputs[:mostOutcomes], all.worked[:mostOutcomes]}).mostInformative(background, []float64{0.2})); len(few.worked) != mostOutcomes {
		t.Error("of few, not all take part")
	}
}

// TestEachOutcomeTellsOnce: also where there are fewer settings than outcomes that take part.
func TestEachOutcomeTellsOnce(t *testing.T) {
	t.Parallel()
	var all outcomes
	const settings = 20
	for i := range 10 * settings {
		all.inputs, all.worked = append(all.inputs, []float64{float64(i % settings)}), append(all.worked, i%settings < 13)
	}
	times := map[float64]int{}
	for _, x := range sure(all.mostInformative(background, []float64{3})).inputs {
		if times[x[0]]++; times[x[0]] > 10 {
			t.Fatalf("of 10 outcomes at %g more take part", x[0])
		}
	}
}

// ended is the history after decision d ended without results, which the next decision knows.
func ended(cfg *Config, h *History, d Decision, cause Cause) *History {
	n := len(h.Rounds) + 1
	r := Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Costs: make([]float64, len(cfg.Costs)), Draw: d.Draw,
		Readings: make([]Reading, len(cfg.Metrics)), Closed: []Spell{{From: n + 1, Cause: cause}}}
	for j := range r.Costs {
		r.Costs[j] = givenValue(j, d.Place.U)
	}
	return &History{Rounds: append(slices.Clip(h.Rounds), r)}
}

// TestGamesDoNotAskAgainWhatFailed lets trials end without results one after another: no algorithm
// asks for the same settings again.
func TestGamesDoNotAskAgainWhatFailed(t *testing.T) {
	t.Parallel()
	for i, a := range policy.Descriptions() {
		for place, g := range []ground{grounds()[0], grounds()[2], grounds()[3]} {
			for begun := range 2 { // with nothing read, and after some readings
				if (i+place+begun)%2 == 0 { // in turn
					continue
				}
				t.Run(fmt.Sprint(a.Name, "/", g.name, "/", begun), func(t *testing.T) {
					t.Parallel()
					cfg := toyConfig(t, a.Name, g, 1)
					for _, u := range search.Halton(12, len(g.space.Dims), 3) {
						if seed, ok := g.space.settle(u); ok && g.space.Arms == nil {
							cfg.SafeSeeds = append(cfg.SafeSeeds, Place{U: seed, Arm: -1})
						}
					}
					if g.space.Arms != nil {
						cfg.SafeSeeds = g.space.places()[:12]
					}
					h, _ := play(t, cfg, 3*begun)
					state := mustReplay(t, cfg, h)
					for n := range 5 {
						d := sure(state.Suggest(background, toyKnown()))
						if state.isAvoided(d.Place) {
							t.Fatalf("the %dth is asked for beside what failed: %v", n+1, d.Place.U)
						}
						for _, r := range state.history.Rounds[3*begun:] {
							if search.Within(0.02, r.Point, d.Place.U) {
								t.Fatalf("the %dth is %v, which ended at %v", n+1, d.Place.U, r.Point)
							}
						}
						h = ended(cfg, h, d, []Cause{BySettings, ByChance, Abandoned}[n%3])
						state = sure(state.Extend(background, h))
					}
				})
			}
		}
	}
}

// TestWhatEndedByChanceComesBack: bad luck and lack of time say nothing of the settings, so that
// they are asked for again once something was read; what failed because of its settings is not.
func TestWhatEndedByChanceComesBack(t *testing.T) {
	t.Parallel()
	for _, g := range []ground{grounds()[0], grounds()[2]} {
		for cause, back := range map[Cause]bool{Abandoned: true, ByChance: true, BySettings: false} {
			cfg := toyConfig(t, "log-cei", g, 1)
			h, _ := play(t, cfg, 12)
			best := sure(mustReplay(t, cfg, h).Suggest(background, toyKnown()))
			h = ended(cfg, h, best, cause)
			if learnt := mustReplay(t, cfg, h).failedBySettings(); (len(learnt) == 0) != back {
				t.Errorf("%s, cause %d: rounds %v tell where trials work", g.name, cause, learnt)
			}
			other := sure(mustReplay(t, cfg, h).Suggest(background, toyKnown()))
			h = told(cfg, h, other)
			if got := !mustReplay(t, cfg, h).isAvoided(best.Place); got != back {
				t.Errorf("%s, cause %d: asked for again %v, want %v", g.name, cause, got, back)
			}
			h.Rounds[12].Closed[0].To = len(h.Rounds) + 1
			if mustReplay(t, cfg, h).isAvoided(best.Place) {
				t.Errorf("%s, cause %d: it was opened again", g.name, cause)
			}
		}
	}
}

// TestWhatWasOverlookedOnceComesBack: settings that were not run are avoided only where that is what
// mostly happens to suggestions.
func TestWhatWasOverlookedOnceComesBack(t *testing.T) {
	t.Parallel()
	for _, g := range []ground{grounds()[0], grounds()[2]} {
		cfg := toyConfig(t, "log-cei", g, 1)
		h, _ := play(t, cfg, 12)
		for n := range h.Rounds {
			h.Rounds[n].Asked, h.Rounds[n].Suggested = h.Rounds[n].Point, n%3 > 0 // of some, a setting was held
		}
		first := Place{h.Rounds[0].Point, h.Rounds[0].Arm}
		for n := range h.Rounds {
			r := &h.Rounds[n]
			r.Point, r.Arm = h.Rounds[(n+1)%12].Point, h.Rounds[(n+1)%12].Arm
			state := mustReplay(t, cfg, h)
			if got, want := state.isAvoided(first), n+1 > 6; got != want {
				t.Errorf("%s: after %d of 12 were run elsewhere the first is avoided %v, want %v", g.name, n+1, got, want)
			}
		}
	}
}

// TestNothingButFailures: settings that failed are asked again where no others are left.
func TestNothingButFailures(t *testing.T) {
	t.Parallel()
	few := ground{"few arms", Space{Dims: []Dim{{High: 1}}, Arms: [][]float64{{0}, {0.5}, {1}}}, Place{U: []float64{0}, Arm: 0}}
	steps := ground{"few steps", Space{Dims: []Dim{{High: 1, Levels: 3}}, Settle: func(u []float64) bool { u[0] = []float64{0, 0.5, 1}[min(int(3*u[0]), 2)]; return true }}, Place{U: []float64{0}, Arm: -1}}
	for _, a := range policy.Descriptions() {
		for _, g := range []ground{few, steps} {
			cfg := toyConfig(t, a.Name, g, 1)
			h, state := &History{}, mustReplay(t, cfg, &History{})
			for range 5 {
				d, err := state.Suggest(background, toyKnown())
				if err != nil {
					t.Fatalf("%s, %s: %v", a.Name, g.name, err)
				}
				h = ended(cfg, h, d, BySettings)
				state = sure(state.Extend(background, h))
			}
		}
	}
}

// TestAFewCandidatesOutsideTheRegion: where a trust region holds nothing but what failed, what lies
// outside it is asked for.
func TestAFewCandidatesOutsideTheRegion(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(c *Config) {
		c.Algorithm = "scbo"
		for i := range 6 {
			c.Space.Arms = append(c.Space.Arms, []float64{float64(i%3) / 2, float64(i / 3)})
		}
	}, `{"initial_design": 5}`)
	h := &History{}
	for i := range 5 {
		h.Rounds = append(h.Rounds, Round{Point: cfg.Space.Arms[i], Arm: i, Suggested: true, Readings: []Reading{{Told: true, Value: float64(i % 3), Revealed: i + 1}, {Told: true, Value: -1, Revealed: i + 1}}})
	}
	state, failed := mustReplay(t, cfg, h), map[int]bool{}
	for len(failed) < 6 {
		d := sure(state.Suggest(background, Known{}))
		if failed[d.Place.Arm] {
			t.Fatalf("candidate %d is asked for again, though of six only %v failed", d.Place.Arm, failed)
		}
		failed[d.Place.Arm] = true
		h = ended(cfg, h, d, BySettings)
		state = sure(state.Extend(background, h))
	}
}
