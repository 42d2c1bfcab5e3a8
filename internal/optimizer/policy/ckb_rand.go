package policy

var ckbRand = Description{
	Name: "ckb-rand", Title: "Primal-dual with random confidence bounds",
	Source:   ckbUCB.Source,
	Feedback: ckbUCB.Feedback,
	Summary:  "Primal-dual with one random width per function and round: the variety of Thompson sampling at the cost of confidence bounds.",
	Beware:   keepsTheSum,
	Settings: ckbWith(randomWidths...),
	Theorem:  primalDualRate("Theorem 2 with Corollary 2", normalWidths),
	check:    ckbCheck,
	Build: phased(func(c Context, s Settings) Policy {
		return newExplorer(c, s, randomExploration, randomExploration)
	}),
}

// randomWidths are the settings of random exploration.
var randomWidths = []Setting{
	{Name: "distribution", Type: Text, Default: "gaussian", Choices: []string{"gaussian", "uniform", "truncated_gaussian"},
		Meaning: "what the width Z is drawn from: N(0, β²); equally likely points of [0, 2β]; the same points weighted by exp(−½(z/(β·spread))²)"},
	{Name: "points", Type: Integer, Default: 20.0, Low: new(2.0), High: new(10000.0), Meaning: "number of equally spaced points in [0, 2β]"},
	{Name: "spread", Type: Number, Default: 1.0, Low: new(0.0), LowExclusive: true, Meaning: "standard deviation of the truncated Gaussian, in β"},
}

// normalWidths is the distribution that the corollary is proved for.
var normalWidths = Assumption{
	"Widths are drawn from N(0, β²).",
	func(c Circumstances) Finding {
		if from := c.Settings.Text("distribution"); from != "gaussian" {
			return unknown("they are drawn from the distribution %s, for which the paper only sketches the proof (Appendix C)", from)
		}
		return met("they are")
	}}
