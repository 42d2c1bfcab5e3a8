package optimizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// sizes are the studies benchmarked: rounds and parameters, one objective and two constraints on a
// fixed model.
var sizes = []struct{ rounds, parameters int }{{100, 2}, {1000, 2}, {2000, 2}, {5000, 2}, {100, 6}, {1000, 4}, {1000, 6}, {2000, 6}, {5000, 6}}

func eachSize(b *testing.B, run func(b *testing.B, cfg *Config, h *History)) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("rounds=%d/parameters=%d", size.rounds, size.parameters), func(b *testing.B) {
			cfg := plain(b, size.parameters, 2, nil, `{}`)
			run(b, cfg, played(cfg, size.rounds+1, 1))
		})
	}
}

// BenchmarkCholesky1000 is the machine's measure to compare the others with.
func BenchmarkCholesky1000(b *testing.B) {
	const n = 1000
	random := rand.New(rand.NewPCG(1, 0))
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, i+1)
		for j := range i {
			rows[i][j] = random.Float64() / n
		}
		rows[i][i] = 2
	}
	for b.Loop() {
		if _, err := factor.New(rows); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay goes from nothing to a state.
func BenchmarkReplay(b *testing.B) {
	eachSize(b, func(b *testing.B, cfg *Config, h *History) {
		for b.Loop() {
			mustReplay(b, cfg, h)
		}
	})
}

// BenchmarkReplayToSuggestion goes from nothing to a suggestion.
func BenchmarkReplayToSuggestion(b *testing.B) {
	eachSize(b, func(b *testing.B, cfg *Config, h *History) {
		for b.Loop() {
			suggest(b, mustReplay(b, cfg, h))
		}
	})
}

// BenchmarkTell adds one round to a state.
func BenchmarkTell(b *testing.B) {
	eachSize(b, func(b *testing.B, cfg *Config, h *History) {
		s := mustReplay(b, cfg, &History{Rounds: h.Rounds[:len(h.Rounds)-1]})
		for b.Loop() {
			if _, err := s.Extend(background, h); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTellThenAsk adds one round to a state and suggests the next.
func BenchmarkTellThenAsk(b *testing.B) {
	eachSize(b, func(b *testing.B, cfg *Config, h *History) {
		s := mustReplay(b, cfg, &History{Rounds: h.Rounds[:len(h.Rounds)-1]})
		for b.Loop() {
			next, err := s.Extend(background, h)
			if err != nil {
				b.Fatal(err)
			}
			suggest(b, next)
		}
	})
}

func suggest(b *testing.B, s *State) {
	b.Helper()
	if _, err := s.Suggest(background, Known{}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSamplers suggests with the algorithms that draw whole functions, over 2000 places of a
// continuous space and over 1728 candidates, all metrics having one kernel or, as after fits, each
// its own.
func BenchmarkSamplers(b *testing.B) {
	spaces := []struct {
		name string
		make func(*Config)
	}{
		{"continuous", func(*Config) {}},
		{"candidates", func(c *Config) { c.Space.Arms = candidates(1728, len(c.Space.Dims)) }},
		{"candidates/own kernels", func(c *Config) {
			c.Space.Arms = candidates(1728, len(c.Space.Dims))
			for i := range c.Metrics {
				c.Metrics[i].Kernel.Variance += float64(i)
			}
		}},
	}
	for _, algorithm := range []string{"ckb-ts", "scbo"} {
		for _, space := range spaces {
			b.Run(algorithm+"/"+space.name, func(b *testing.B) {
				cfg := plain(b, 2, 2, func(c *Config) { c.Algorithm = algorithm; space.make(c) }, `{}`)
				s := mustReplay(b, cfg, amongArms(cfg, played(cfg, 100, 1)))
				for b.Loop() {
					suggest(b, s)
				}
			})
		}
	}
}

// candidates are points spread over the space.
func candidates(count, parameters int) [][]float64 { return search.Halton(count, parameters, 3) }

// amongArms moves every round to a candidate, if there are any: that of its number.
func amongArms(cfg *Config, h *History) *History {
	for i := range h.Rounds {
		if n := len(cfg.Space.Arms); n > 0 {
			h.Rounds[i].Arm = 17 * i % n
			h.Rounds[i].Point = cfg.Space.Arms[h.Rounds[i].Arm]
		}
	}
	return h
}

// byDefault is a study as a lab gets it that touches no setting: log-cei, everything fitted, four
// parameters and two limits.
func byDefault(b *testing.B, arms int) *Config { return everythingFitted(b, "log-cei", 4, arms) }

// everythingFitted is a study of an algorithm at its default settings: everything fitted, and two
// limits.
func everythingFitted(b *testing.B, algorithm string, parameters, arms int) *Config {
	return plain(b, parameters, 2, func(c *Config) {
		c.Algorithm, c.Standardize, c.Fit = algorithm, true, true
		for i := range c.Metrics {
			m := &c.Metrics[i]
			m.FreeLengthscales, m.FreeNoise, m.FreeVariance, m.Warp = true, true, true, true
		}
		if arms > 0 {
			c.Space.Arms = candidates(arms, parameters)
		}
	}, `{}`)
}

// BenchmarkDefault45 tells the last of 45 trials and suggests the next, on a continuous space and
// among 1728 candidates, of numbers or with two choices among the four parameters; the last fit was
// made from 44 readings, or from 40, so that another one is due first.
func BenchmarkDefault45(b *testing.B) {
	b.Run("continuous", func(b *testing.B) { tellAndAsk45(b, byDefault(b, 0)) })
	b.Run("candidates", func(b *testing.B) { tellAndAsk45(b, byDefault(b, 1728)) })
	b.Run("choices", func(b *testing.B) { tellAndAsk45(b, withChoices(byDefault(b, 1728))) })
}

// BenchmarkDrawn45 does the same with the algorithm that draws whole functions over 1728
// candidates, each metric having a kernel of its own.
func BenchmarkDrawn45(b *testing.B) { tellAndAsk45(b, everythingFitted(b, "ckb-ts", 4, 1728)) }

func tellAndAsk45(b *testing.B, cfg *Config) {
	for _, fit := range []struct {
		name string
		from int
	}{{"no fit due", 44}, {"fit due", 40}} {
		b.Run(fit.name, func(b *testing.B) {
			h := amongArms(cfg, played(cfg, 45, 1))
			s := refit(b, mustReplay(b, cfg, &History{Rounds: h.Rounds[:fit.from]}))
			s = sure(s.Extend(background, &History{Rounds: h.Rounds[:44], Fits: s.history.Fits}))
			for b.Loop() {
				told := sure(s.Extend(background, &History{Rounds: h.Rounds, Fits: s.history.Fits}))
				if told.FitDue() != (fit.from == 40) {
					b.Fatal("a fit is due at another time")
				}
				suggest(b, refit(b, told))
			}
		})
	}
}

// withChoices makes the last two parameters categories of twelve and four choices.
func withChoices(cfg *Config) *Config {
	cfg.Space.Dims[2] = Dim{Kind: Categorical, Choices: 12}
	cfg.Space.Dims[3] = Dim{Kind: Categorical, Choices: 4}
	for i := range cfg.Metrics {
		cfg.Metrics[i].Kernel.Name = "anova"
	}
	return cfg
}

// BenchmarkGain60 says what could be gained after 60 trials.
func BenchmarkGain60(b *testing.B) {
	for _, space := range []struct {
		name string
		cfg  *Config
	}{{"continuous", byDefault(b, 0)}, {"thirty parameters", everythingFitted(b, "log-cei", 30, 0)}, {"candidates", byDefault(b, 1728)}, {"choices", withChoices(byDefault(b, 1728))}} {
		b.Run(space.name, func(b *testing.B) {
			s := refit(b, mustReplay(b, space.cfg, amongArms(space.cfg, played(space.cfg, 60, 1))))
			for b.Loop() {
				if _, _, err := s.Gain(background, Known{}, nil, 0.01); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGain1000 says what could be gained after 1000 trials, all metrics having one fixed kernel
// or each its own fitted one.
func BenchmarkGain1000(b *testing.B) {
	for _, model := range []struct {
		name string
		cfg  *Config
	}{{"fixed", plain(b, 4, 2, func(*Config) {}, `{}`)}, {"fitted", byDefault(b, 0)}} {
		b.Run(model.name, func(b *testing.B) {
			s := mustReplay(b, model.cfg, played(model.cfg, 1000, 1))
			if model.cfg.Fit {
				s = refit(b, s)
			}
			for b.Loop() {
				if _, _, err := s.Gain(background, Known{}, nil, 0.01); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDefault1000 asks after 1000 trials: first after a restart, and after one more result.
// BenchmarkCholesky1000 is its measure.
func BenchmarkDefault1000(b *testing.B) {
	cfg := byDefault(b, 0)
	h := played(cfg, 1000, 1)
	s := refit(b, mustReplay(b, cfg, &History{Rounds: h.Rounds[:999]}))
	h.Fits = s.history.Fits
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			suggest(b, mustReplay(b, cfg, h))
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			suggest(b, sure(s.Extend(background, h)))
		}
	})
}

// BenchmarkFit fits all three metrics after so many trials, of numbers or with two choices among
// the four parameters: what an ask waits for when a fit is due.
func BenchmarkFit(b *testing.B) {
	for _, trials := range []int{45, 100, 300, 500, 1000} {
		for name, cfg := range map[string]*Config{"numbers": byDefault(b, 0), "choices": withChoices(byDefault(b, 0))} {
			b.Run(fmt.Sprintf("trials=%d/%s", trials, name), func(b *testing.B) {
				s := mustReplay(b, cfg, played(cfg, trials, 1))
				for b.Loop() {
					sure(s.FitNow(background))
				}
			})
		}
	}
}

// refit is the state with the fit that is due.
func refit(b *testing.B, s *State) *State {
	b.Helper()
	if !s.FitDue() {
		return s
	}
	h := *s.history
	h.Fits = append(slices.Clone(h.Fits), sure(s.FitNow(background)))
	return sure(s.Extend(background, &h))
}

// family is a study of so many rounds under an algorithm: two parameters and two limits, each
// reading told in its own round, the last as well.
func family(b *testing.B, algorithm string, rounds int) (*Config, *History) {
	b.Helper()
	settings := map[string]string{"rpol-censored-ucb": `{"delay_window": 3, "response_bound": 0.1}`, "rpol-sw-ucb": `{"window": 100}`,
		"ckb-sw-ucb": `{"window": 100}`, "ckb-restart-ucb": `{"restart_every": 100}`}
	raw := settings[algorithm]
	if raw == "" {
		raw = `{}`
	}
	cfg := plain(b, 2, 2, func(c *Config) {
		c.Algorithm, c.Horizon = algorithm, 3000
		c.SafeSeeds = []Place{{U: []float64{0.5, 0.5}, Arm: -1}}
		if algorithm == "scgp-ucb" {
			c.Metrics = c.Metrics[:1]
			for j := range c.Costs {
				c.Costs[j].Metric, c.Costs[j].Knowledge = -1, Given
			}
		}
	}, raw)
	h := played(cfg, rounds, 1)
	for i := range h.Rounds {
		h.Rounds[i].Costs = []float64{-0.1, 0.1}
	}
	return cfg, h
}

// BenchmarkTellFamilies tells the readings of round 2000, the multipliers and the trace included.
func BenchmarkTellFamilies(b *testing.B) {
	for _, a := range policy.Descriptions() {
		b.Run(a.Name, func(b *testing.B) {
			cfg, h := family(b, a.Name, 2000)
			s := mustReplay(b, cfg, seenAt(h, len(h.Rounds)))
			sure(s.Trace(background))
			for b.Loop() {
				sure(sure(s.Extend(background, h)).Trace(background))
			}
		})
	}
}

// BenchmarkAskFamilies suggests the round after 100, 1000 and 2000.
func BenchmarkAskFamilies(b *testing.B) {
	for _, a := range policy.Descriptions() {
		for _, rounds := range []int{100, 1000, 2000} {
			b.Run(fmt.Sprintf("%s/rounds=%d", a.Name, rounds), func(b *testing.B) {
				cfg, h := family(b, a.Name, rounds)
				s := mustReplay(b, cfg, h)
				known := Known{At: func(j int, u []float64) float64 { return u[j] - 0.5 }}
				for b.Loop() {
					if _, err := s.Suggest(background, known); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCrowd plays the rounds after 10,000 on candidates: one objective and two limits of one
// model, whose posterior over all candidates is kept. Its covariance is folded every 64 readings,
// so give it 640 rounds.
func BenchmarkCrowd(b *testing.B) {
	const before, after = 10_000, 640
	for _, side := range []int{10, 20, 32, 50} {
		cfg := plain(b, 2, 2, func(c *Config) {
			for i := range side * side {
				c.Space.Arms = append(c.Space.Arms, []float64{float64(i%side) / float64(side-1), float64(i/side) / float64(side-1)})
			}
		}, `{}`)
		random := rand.New(rand.NewPCG(1, 0))
		h := &History{}
		for t := 1; t <= before+after; t++ {
			arm := random.IntN(side * side)
			u := cfg.Space.Arms[arm]
			h.Rounds = append(h.Rounds, Round{Point: u, Arm: arm, Suggested: true, Readings: readings(cfg, u, t, random)})
		}
		first := mustReplay(b, cfg, &History{Rounds: h.Rounds[:before]})
		b.Run(fmt.Sprintf("arms=%d/tell", side*side), func(b *testing.B) {
			s := first
			for i := 0; b.Loop(); i++ {
				if i%after == 0 {
					s = first
				}
				s = sure(s.Extend(background, &History{Rounds: h.Rounds[:before+1+i%after]}))
			}
		})
		b.Run(fmt.Sprintf("arms=%d/ask", side*side), func(b *testing.B) {
			for b.Loop() {
				suggest(b, first)
			}
		})
	}
}
