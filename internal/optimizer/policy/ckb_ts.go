package policy

var ckbTS = Description{
	Name: "ckb-ts", Title: "Primal-dual with Thompson sampling",
	Source:   ckbUCB.Source,
	Feedback: ckbUCB.Feedback,
	Summary:  "Primal-dual with random draws of whole functions: explores without a confidence width to argue about.",
	Beware:   keepsTheSum,
	Settings: ckbWith(),
	Theorem: &Theorem{Name: "Theorem 2 with Corollary 1 (ii)", Paper: primalDualPaper, Year: 2022, Bounds: primalDualRate, Soft: true, Regret: primalDualRegretRate, ForRegret: []Assumption{slackPaid}, Assumptions: primalDual(deterministicBest),
		Short: hiddenConstants},
	check: ckbCheck,
	build: phased(func(c Context, s Settings) Policy {
		return newExplorer(c, s, thompsonSampling, thompsonSampling)
	}),
}

// What Theorem 2 of Zhou and Ji says of algorithms that draw.
const (
	primalDualRate       = "how fast the soft violation [Σ_s g(x_s)]⁺ of each limit grows, in which distance kept pays back excess: up to constants and logarithms as that of upper confidence bounds"
	primalDualRegretRate = "how fast the regret Σ_s [E f(π*) − f(x_s)] behind the best mixture of settings that keeps every limit and its margin grows: up to constants and logarithms as that of upper confidence bounds"
	hiddenConstants      = "The theorem hides its constants, so no sum follows from it: the figure is that of Theorem 1 for upper confidence bounds, and shows a rate."
)

// deterministicBest is what anti-concentration of a drawn function needs.
var deterministicBest = Assumption{
	Text:  "The best mixture of settings is a single setting.",
	judge: func(Circumstances) Finding { return unknown("only the true responses could tell") }}
