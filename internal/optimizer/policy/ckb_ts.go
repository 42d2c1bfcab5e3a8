package policy

var ckbTS = Description{
	Name: "ckb-ts", Title: "Primal-dual with Thompson sampling",
	Source:   ckbUCB.Source,
	Feedback: ckbUCB.Feedback,
	Summary:  "Primal-dual with random draws of whole functions: explores without a confidence width to argue about.",
	Beware:   keepsTheSum,
	Settings: ckbWith(),
	Theorem:  primalDualRate("Theorem 2 with Corollary 1 (ii)", deterministicBest),
	check:    ckbCheck,
	Build: phased(func(c Context, s Settings) Policy {
		return newExplorer(c, s, thompsonSampling, thompsonSampling)
	}),
}

// deterministicBest is what anti-concentration of a drawn function needs.
var deterministicBest = Assumption{
	"The best mixture of settings is a single setting.",
	func(Circumstances) Finding { return unknown("only the true responses could tell") }}
