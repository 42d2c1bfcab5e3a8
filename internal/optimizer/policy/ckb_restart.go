package policy

var ckbRestart = Description{
	Name: "ckb-restart-ucb", Title: "Primal-dual that starts afresh at intervals",
	Source:   "Deng, Zhou, Ghosh, Gupta, Shroff: Interference Constrained Beam Alignment for Time-Varying Channels via Kernelized Bandits, 2022",
	Feedback: "noisy readings of functions that drift with time",
	Summary:  "For drifting functions, as the published comparison to a sliding window: forgets everything every H rounds.",
	Beware:   keepsTheSum,
	Settings: ckbWith(
		Setting{Name: "restart_every", Type: Integer, Low: new(1.0), High: new(1e6), DefaultMeans: "none: must be given", Meaning: "H: data and information gain start afresh before rounds H+1, 2H+1, …"},
		Setting{Name: "reset_multiplier", Type: Boolean, Default: false, Meaning: "whether the multipliers go back to 0 as well"}),
	Theorem:  forgetful(),
	ForDrift: true,
	check: func(c Context, s Settings) []Fault {
		return append(ckbCheck(c, s), required(s, "restart_every", "say after how many rounds to start afresh")...)
	},
	Build: phased(func(c Context, s Settings) Policy {
		return restarting{newCKB(c, s), int(s.Value("restart_every", "")), s.Flag("reset_multiplier")}
	}),
}

// restarting is ckb-ucb whose data and γ start afresh every H rounds.
type restarting struct {
	ckb
	every int // H
	reset bool
}

func (a restarting) Traits() Traits {
	t := a.ckb.Traits()
	t.First = func(t int) int { return epochStart(t, a.every) }
	return t
}

func (a restarting) Step(phi []float64, r *Revealed) []float64 {
	if a.reset && r.Round%a.every == 0 {
		return a.Start()
	}
	return a.ckb.Step(phi, r)
}
