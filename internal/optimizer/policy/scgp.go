package policy

import (
	"math"
	"slices"
)

var scgpUCB = Description{
	Name: "scgp-ucb", Title: "Virtual queues for constraints known before the choice",
	Source:   "Provably Efficient Bayesian Optimization with Unknown Constraints (earlier version of: " + ckbUCB.Source + "), Algorithm 2",
	Feedback: "noisy readings of the objective; every constraint's value in this round is known at every point before choosing (a formula with this round's context, or sampled values)",
	Summary:  "When the limits are known each time but vary, like a queue of arrivals: no violation in expectation.",
	Settings: settings(betaSetting,
		Setting{Name: "objective_bound", Type: Number, Default: 5.0, DefaultMeans: boundOfWidth, Paper: askedBound, workOut: objectiveNorm, Low: limit(0), LowExclusive: true, Meaning: "B: the estimate of the objective is cut at ±B"},
		Setting{Name: "schedule_bound", Type: Number, Low: limit(0), LowExclusive: true, DefaultMeans: "objective_bound", workOut: func(_ Context, s Settings, _ string) (float64, bool) { return s.Value("objective_bound", ""), true },
			Meaning: "the B in the published V_t"},
		Setting{Name: "slater", Type: Number, Low: limit(0), LowExclusive: true, DefaultMeans: "not used", Meaning: "δ: some point keeps every constraint by at least this much on average"},
		Setting{Name: "variant", Type: Text, Default: "i", Choices: []string{"i", "ii"}, Meaning: "i: ε_t = 1/√t, V_t = δ√t/(8B); ii: ε_t = δ/(2√t), V_t = δ²√t/(16B)"},
		Setting{Name: "penalty_scale", Type: Number, Low: limit(0), LowExclusive: true, DefaultMeans: "the published V_t when δ is given, otherwise 1", workOut: publishedPrice, Meaning: "V_t = penalty_scale·√t in place of the published one, which is very timid"}),
	NeedsGivenConstraint: true,
	check:                checkSCGP,
	build:                func(c Context, s Settings) Policy { return newSCGP(c, s) },
}

func checkSCGP(c Context, s Settings) []Fault {
	for j, metric := range c.CostMetrics {
		if slices.Contains(c.Metrics, metric) {
			return []Fault{{"", "scgp-ucb needs to know every constraint before it chooses; " + c.Constraints[j] + " is learned from readings"}}
		}
	}
	_, slater := s.Number("slater", "")
	_, scaled := s.Number("penalty_scale", "")
	switch {
	case slater:
	case s.Text("variant") == "ii":
		return []Fault{{"slater", "variant ii takes its ε_t from δ: give it"}}
	case c.Paper && !scaled:
		return []Fault{{"slater", "the published V_t is δ√t/(8B): give δ, or penalty_scale"}}
	}
	return nil
}

// scgp is GP-UCB against constraints whose sample g_{j,t}(·) is known before the choice:
//
//	x_t = argmax clip(μ+βσ, ±B) − Σ_j (Q_j/V_t) g_{j,t}(x),   Q_j ← [Q_j + g_{j,t}(x_t) + ε_t]⁺,   Q_j = 0 at first.
type scgp struct {
	widths
	bound        float64 // B
	costs        int
	price, slack float64 // V_t and ε_t at t = 1; V_t grows and ε_t falls with √t
}

// publishedPrice is V_t/√t.
func publishedPrice(_ Context, s Settings, _ string) (float64, bool) {
	delta, given := s.Number("slater", "")
	switch bound := s.Value("schedule_bound", ""); {
	case !given:
		return 1, true
	case s.Text("variant") == "ii":
		return delta * delta / (16 * bound), true
	default:
		return delta / (8 * bound), true
	}
}

func newSCGP(c Context, s Settings) scgp {
	a := scgp{widths: newWidths(c, s), bound: s.Value("objective_bound", ""), costs: len(c.Constraints), price: s.Value("penalty_scale", ""), slack: 1}
	if s.Text("variant") == "ii" {
		a.slack = s.Value("slater", "") / 2
	}
	return a
}

func (a scgp) Traits() Traits { return Traits{RisesWithUncertainty: true, Slopes: a.slopes} }

func (a scgp) Start() []float64 { return make([]float64, a.costs) }

// Beta is the objective's alone: the constraints need no learning.
func (a scgp) Beta(w Width) []float64 { return a.widths.Beta(w)[:1] }

func (a scgp) Score(s *Input) (Scores, error) {
	scores := Scores{Untruncated: upper(s.Reward, s.Beta[0]), Reason: TradeOff}
	scores.Value = make([]float64, len(scores.Untruncated))
	for i, v := range scores.Untruncated {
		scores.Value[i] = clip(v, -a.bound, a.bound)
	}
	for j, g := range s.Costs {
		price := a.priceOf(s, j)
		for i, v := range g.Mean {
			penalty := price * v
			scores.Value[i] -= penalty
			scores.Untruncated[i] -= penalty
		}
	}
	return scores, nil
}

// priceOf is Q_j/V_t.
func (a scgp) priceOf(s *Input, j int) float64 {
	return s.Multipliers[j] / (a.price * math.Sqrt(float64(s.Round)))
}

func (a scgp) slopes(s *Input) Slopes {
	out := linear(s, s.Beta[0])
	out.Kinks = cut(0, s.Reward, s.Beta[0], 1, a.bound)
	for j, g := range out.Costs {
		for i := range g.Mean {
			g.Mean[i] = -a.priceOf(s, j)
		}
	}
	return out
}

func (a scgp) Estimates(s *Input, i int) []float64 {
	v := means(s, i)
	v[0] = clip(s.Reward.Mean[i]+s.Beta[0]*s.Reward.SD[i], -a.bound, a.bound)
	return v
}

func (a scgp) Step(queue []float64, r *Revealed) []float64 {
	next := append([]float64(nil), queue...)
	if r.Excluded {
		return next
	}
	for j := range next {
		next[j] = positive(queue[j] + r.Given[j] + a.slack/math.Sqrt(float64(r.Round)))
	}
	return next
}
