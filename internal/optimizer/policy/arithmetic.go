package policy

// Why a point was chosen.
const (
	FirstDesign = "first-design" // spread over the space before a model exists
	Optimistic  = "optimistic"   // best optimistic value among points that could be within every limit
	TradeOff    = "trade-off"    // best optimistic value after the multipliers' price of possible violation
	LeastBad    = "least-bad"    // nothing could be within the limits; the point closest to them
	Explore     = "explore"      // chosen to learn where the limits lie
	Sample      = "sample"       // best in a random draw from the posterior
	Improve     = "improve"      // largest expected improvement
	Apart       = "apart"        // likewise, among places apart from the trials that wait
	Space       = "space"        // space filling or random by design
	Own         = "own"          // a person's choice
)

func filled(n int, v float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// positive is [a]⁺ = max(a, 0).
func positive(a float64) float64 { return max(a, 0) }

func clip(v, low, high float64) float64 { return min(max(v, low), high) }

// upper is μ + βσ, lower is μ − βσ.
func upper(e Estimate, beta float64) []float64 {
	v := make([]float64, len(e.Mean))
	for i, mean := range e.Mean {
		v[i] = mean + beta*e.SD[i]
	}
	return v
}

func lower(e Estimate, beta float64) []float64 { return upper(e, -beta) }

// optimistic is the upper estimate of the reward and the lower ones of the costs at place i.
func optimistic(s *Input, i int) []float64 {
	v := []float64{s.Reward.Mean[i] + s.Beta[0]*s.Reward.SD[i]}
	for j, g := range s.Costs {
		v = append(v, g.Mean[i]-s.Beta[1+j]*g.SD[i])
	}
	return v
}

// required is the fault of a setting that must be given and was not.
func required(s Settings, name, message string) []Fault {
	if _, ok := s.Number(name, ""); ok {
		return nil
	}
	return []Fault{{name, message}}
}
