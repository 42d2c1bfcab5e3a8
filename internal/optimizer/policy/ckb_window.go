package policy

var ckbSW = Description{
	Name: "ckb-sw-ucb", Title: "Primal-dual with a sliding window",
	Source:   "after " + ckbRestart.Source + "; window after Zhou, Shroff: No-Regret Algorithms for Time-Varying Bayesian Optimization, 2021",
	Feedback: ckbRestart.Feedback,
	Summary:  "For drifting functions when violation may be paid back over time: ckb-ucb on the last W rounds.",
	Beware:   keepsTheSum,
	Settings: ckbWith(windowSetting),
	Theorem:  forgetful(),
	ForDrift: true,
	check: func(c Context, s Settings) []Fault {
		return append(ckbCheck(c, s), required(s, "window", "say how many of the last rounds count")...)
	},
	Build: phased(func(c Context, s Settings) Policy {
		return windowed{newCKB(c, s), int(s.Value("window", ""))}
	}),
}

var windowSetting = Setting{Name: "window", Type: Integer, Low: new(1.0), High: new(1e6), DefaultMeans: "none: must be given", Meaning: "W: only the last W rounds count"}

// windowed is ckb-ucb on the last W rounds.
type windowed struct {
	ckb
	window int
}

func (a windowed) Traits() Traits {
	t := a.ckb.Traits()
	t.First = lastRounds(a.window)
	return t
}
