package optimizer

import "math"

// How the search over a continuous space is sized.
const (
	screenPoints  = 2000 // space-filling points scored first
	starts        = 12   // of which the best are polished; see effort
	mostAscents   = 24   // starts that slopes lead up from; see effort
	finestStep    = 1e-5 // in unit coordinates
	startDistance = 0.1  // between starts, in some coordinate, so that they lie on different hills
	overhang      = 0.1  // of the space-filling points beyond each side; see startingPlaces
)

// effort is how much a search may spend: starts that slopes lead up from, or that are polished
// coarsely where there are none, of which the best are polished to the end, evaluations for each,
// those that are enough where slopes led to the top, and starting points near the incumbent at each
// distance; and what a step uphill must bring to be followed by another. Where the score has kinks,
// how many starts go up to the very top, and how many more are taken from there.
type effort struct {
	ascents, coarse, fine, budget, settling, near int
	least                                         float64
	tops, hops                                    int
}

// fewRounds is up to how many rounds effort is not spared.
const fewRounds = 300

// effort falls as the data grow, since an evaluation costs O(n²): all of it up to fewRounds;
// beyond, about 25 million multiplications for each parameter of a start, but at least 16
// evaluations.
func (s *task) effort() effort { return s.effortFor(len(s.history.Rounds)) }

// Hops are taken by hopsEach for each top that is looked around from.
const (
	hopsEach = 3
	mostHops = 12 * hopsEach
)

func (s *task) effortFor(n int) effort {
	d := len(s.cfg.Space.Dims)
	if n <= fewRounds {
		return effort{mostAscents, starts, 3, 400 * d, 40 * d, 24, 1e-6, mostAscents, mostHops}
	}
	budget := max(16, 50_000_000/(n*n)) * d
	return effort{8, 6, 2, min(budget, 400*d), 0, 6, 1e-4, 2, hopsEach * max(mostHops/hopsEach*fewRounds*fewRounds/(n*n), 1)}
}

// spacing is the typical distance between neighbouring screening points in unit coordinates.
func (s *task) spacing() float64 {
	return math.Max(0.02, 0.5*math.Pow(screenPoints, -1/float64(len(s.cfg.Space.Dims))))
}
