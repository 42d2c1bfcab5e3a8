package policy

// Width is what β_t may depend on.
type Width struct {
	Round       int       // t
	Gain        []float64 // γ_t per target, realised information gain of the data seen
	Lambda      []float64 // λ per target
	Multipliers []float64
}

// Input is the acquisition’s: what an algorithm sees when it decides round t.
type Input struct {
	Round       int // t
	Horizon     int // T
	Beta        []float64
	Lambda      []float64 // λ per target
	Multipliers []float64
	Reward      Estimate
	Costs       []Estimate
	// Rival is what the places are compared with; nil for algorithms without an incumbent, and
	// while there is none.
	Rival *Rival
	// Works is the latent function of whether trials work at the places, which the state adds to
	// the scores; nil while none has failed because of its settings.
	Works *Estimate
	// TooRisky[i]: the chance to break a limit at place i is larger than what is left of the risk
	// asked for; nil where none was.
	TooRisky []bool
	Given    []bool // per cost: its value is known at the decision
	Draw     Draw
	// Functions holds per target the function drawn over the places; nil where none is.
	Functions [][]float64
	Past      []Past // rounds 1..t−1, for algorithms that look at past readings; nil for the others
	Set       *Set   // for algorithms that look at the whole set of candidates; nil for the others
}

// Rival is the incumbent x*, the point that would be recommended, beside the places of the input.
// Slices are per target.
type Rival struct {
	Mean, SD []float64   // the posterior at x*
	Together [][]float64 // the posterior covariance of the target at each place and at x*
	Noise    [][]float64 // λ of one more reading of the target at each place
	Least    float64     // the least mean reward of a point played: what breaking a limit counts as
	Itself   []bool      // which of the places are x*
	Again    float64     // what reading x* once more is worth, over its chance to keep all limits, in units of the reward
}

// Estimate is a posterior at the places of the input: mean and standard deviation of the latent
// function. A cost whose value is given has SD 0.
type Estimate struct{ Mean, SD []float64 }

// noEstimates are zeros for n places.
func noEstimates(n int) Estimate { return Estimate{Mean: make([]float64, n), SD: make([]float64, n)} }

// targets are the estimates of every target.
func (s *Input) targets() []Estimate { return append([]Estimate{s.Reward}, s.Costs...) }

// means are the posterior means of every target at place i.
func means(s *Input, i int) []float64 {
	v := []float64{s.Reward.Mean[i]}
	for _, g := range s.Costs {
		v = append(v, g.Mean[i])
	}
	return v
}

// at are μ + wσ of the first targets at place i, as many as there are w.
func (s *Input) at(i int, w []float64) []float64 {
	v := make([]float64, len(w))
	for k, e := range s.targets()[:len(w)] {
		v[k] = e.Mean[i] + w[k]*e.SD[i]
	}
	return v
}

// Past is one earlier round as decision t sees it.
type Past struct {
	Point     []float64
	Suggested bool
	Excluded  bool
	Complete  bool      // every target's reading is seen
	Reward    float64   // the reading, when Complete
	Costs     []float64 // likewise
}

// Set is the finite list of places of the input, for algorithms that compare or draw over all of
// them. What is worked out only when it is asked for may fail, when nobody waits for it any more.
type Set struct {
	Points [][]float64 // unit coordinates
	Seeds  []int       // indices of the safe seeds
	Free   []bool      // free[k]: parameter k is one that can be varied
	// Choices[k] is the number of choices of a categorical parameter, 0 of any other.
	Choices []int
	// Known[i]: place i was played, and nothing says that another reading there would teach
	// anything.
	Known []bool
	// Unlike is how far apart two points are: the squared distance in unit coordinates, two
	// different choices being 1 apart whatever their order.
	Unlike func(u, v []float64) float64
	// Covariances prepares the posterior covariances of the target at one place with some of them;
	// Noise is λ of one more reading of it at place x.
	Covariances func(target int, among []int) (func(x int) []float64, error)
	Noise       func(target, x int) float64
	// Distance between two places in kernel inputs, the euclidean norm that Lipschitz constants
	// refer to.
	Distance func(i, j int) float64
	// Earlier returns what the decision of an earlier round saw of the same places; given
	// constraints keep their present values.
	Earlier func(round int) (*Input, error)
	// Design is the point of the space-filling sequence whose turn it is, in unit coordinates.
	Design func() []float64
	// Reach draws points back towards one that is allowed, where hardly any of them are; nil where
	// all are allowed.
	Reach func(points [][]float64, from []float64) [][]float64
	// Pause is called between pieces of long work; an error ends the work, since nobody waits for
	// it any more.
	Pause func() error
}

// Draw is what chance contributes to a decision.
type Draw struct {
	Seed uint64
	// Z, when the algorithm draws one number per function: the objective's first, then one per
	// constraint; f_t(x) = μ + Z₀σ, g_t(x) = μ − Z_jσ. For an algorithm that draws whole functions:
	// (draw − μ)/σ at the chosen point.
	Z []float64
}

// standardised is (draw − μ)/σ of every target drawn at place i, so that replay has them without
// drawing again; 0 of others.
func standardised(s *Input, i int) []float64 {
	z := make([]float64, 1+len(s.Costs))
	for k, e := range s.targets() {
		if s.Functions[k] != nil && e.SD[i] > 0 {
			z[k] = (s.Functions[k][i] - e.Mean[i]) / e.SD[i]
		}
	}
	return z
}

// Scores is an acquisition over the places of the input.
type Scores struct {
	Value []float64
	// Untruncated breaks ties of Value; nil where nothing is truncated.
	Untruncated []float64
	// Allowed is nil when every place may be chosen. Where none may be, Fallback, if not nil, is
	// maximised instead. AllowedAfterAll, if not nil, tells of a place that is not allowed whether it
	// is after all, which takes long: it is asked of as few places as possible.
	Allowed         []bool
	AllowedAfterAll func(i int) (bool, error)
	Fallback        []float64
	// Unlikely places hardly work and are chosen only where no other is left; nil for none. An
	// algorithm leaves it to the state.
	Unlikely []bool
	// Logarithmic tells that differences of values are ratios of what is maximised.
	Logarithmic bool
	// Relative ties compare to |max| alone instead of max(1, |max|).
	Relative bool
	Reason   string
}

// Slopes are derivatives of scores, each estimate holding at place i those of the score there by
// its mean and by its deviation, and Together, per target, those by the covariance with the rival;
// nil where Input.Rival is. They are those of what the score is without its kinks.
type Slopes struct {
	Reward   Estimate
	Costs    []Estimate
	Together [][]float64
	Kinks    []Kink
}

// Kink is a term −Price·[h]⁺ of a score. At place i h is Height[i]; it moves by ByMean with the
// mean of the target there and by BySD with its deviation. Where Price is negative the score bends
// upwards.
type Kink struct {
	Target       int
	Price        float64
	Height       []float64
	ByMean, BySD float64
}

// Revealed is what round t brought, for the multipliers.
type Revealed struct {
	Round    int
	Excluded bool
	// Costs[j] holds the readings of cost j told during round t, of whatever round; excluded
	// rounds' are left out.
	Costs [][]float64
	// Own[j] is the estimate of cost j at x_t made before round t's data (as Estimates gives it);
	// nil unless the policy moves by estimate.
	Own []float64
	// Given[j] is the value of cost j at x_t where it was known at the decision.
	Given []float64
	// Since returns the readings of cost j of rounds first..t that were told by the end of round t.
	Since func(first, j int) []float64
}

// moved are multipliers after the round, each moved by itself; an excluded round leaves them.
func (r *Revealed) moved(q []float64, to func(j int, q float64) float64) []float64 {
	next := append([]float64(nil), q...)
	for j := range next {
		if !r.Excluded {
			next[j] = to(j, q[j])
		}
	}
	return next
}

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
