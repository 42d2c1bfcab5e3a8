package lab

import (
	"cmp"
	"fmt"
	"strings"
)

// standardFunctions have a known optimum, and a metric whose spread over the settings is of the
// size of its best value, so that noise can be a share of it: that of the pressure vessel, the
// springs and Branin's function is many times as large.
var standardFunctions = []string{"gramacy", "gardner-1", "gardner-2", "rate-allocation", "hartmann6", "speed-reducer"}

// crashAsks is the number of asks where a region crashes: failures cost most in the beginning.
const crashAsks = 16

// Standard returns the set by which changes of the default are judged: studies that start from
// nothing, as labs play them.
func Standard(asks int) ([]Case, error) {
	own := Noise{Kind: OwnNoise}
	var list []Case
	var trouble error
	found := map[string]*Problem{}
	add := func(problem, how string, g Game) {
		if found[problem] == nil {
			p, err := Find(problem)
			if err != nil && trouble == nil {
				trouble = err
			}
			found[problem] = p
		}
		g.Problem, g.Batch = found[problem], 1
		g.Asks = cmp.Or(g.Asks, asks)
		list = append(list, Case{Name: strings.TrimSpace(problem + " " + how), Game: g})
	}
	pair := func(problem, how string, noise Noise) {
		add(problem, how, Game{Noise: noise, Told: ToldNone})
		untold := list[len(list)-1].Name
		add(problem, strings.TrimSpace(how+" told"), Game{Noise: noise, Told: ToldTrue})
		list[len(list)-1].Untold = untold
	}
	add(demoName, "", Game{Noise: own, Told: ToldTrue})
	for _, lab := range []string{"reaction", "formulation", "machine"} {
		pair(lab, "", own)
	}
	add("reaction", "told a third", Game{Noise: own, Told: ToldLow})
	add("reaction", "told threefold", Game{Noise: own, Told: ToldHigh})
	add("reaction", "1 in 10 fails", Game{Noise: own, Told: ToldNone, Mishaps: Mishaps{Fail: 0.1}})
	add("reaction", "1 in 5 late", Game{Noise: own, Told: ToldNone, Mishaps: Mishaps{Late: 0.2}})
	add("reaction", "1 in 10 unread", Game{Noise: own, Told: ToldNone, Mishaps: Mishaps{Unread: 0.1}})
	add("reaction", "1 in 10 wrong", Game{Noise: Noise{Outliers, 0.02}, Told: ToldNone})
	add(crash.Name(), "", Game{Noise: own, Told: ToldNone, Asks: min(asks, crashAsks)})
	add(crash.Name(), "1 in 10 fails", Game{Noise: own, Told: ToldNone, Asks: min(asks, crashAsks), Mishaps: Mishaps{Fail: 0.1}})
	for _, name := range standardFunctions {
		for _, size := range []float64{0.01, 0.05, 0.2} {
			pair(name, fmt.Sprintf("%.0f %%", 100*size), Noise{Gaussian, size})
		}
	}
	return list, trouble
}
