package fit

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Replicates summarises the n readings at one setting.
type Replicates struct {
	Freedom float64 // n − 1
	Squares float64 // Σ (y − ȳ)²
}

// Noise is the distribution of noise variances over settings: σ² is Freedom·Typical/χ² with Freedom
// degrees of freedom, the conjugate prior of a variance. With infinite Freedom all settings have
// the variance Typical.
type Noise struct{ Freedom, Typical float64 }

// Of is the estimated noise variance at a setting,
//
//	(d Typical + Σ (y − ȳ)²) / (d + n − 1),   d = Freedom,
//
// which depends the more on the setting's own readings the more there are (Smyth, Linear Models and
// Empirical Bayes Methods, 2004: the moderated variance).
func (n Noise) Of(r Replicates) float64 {
	if math.IsInf(n.Freedom, 1) {
		return n.Typical
	}
	return max((n.Freedom*n.Typical+r.Squares)/(n.Freedom+r.Freedom), LeastNoise)
}

// FitNoise finds how the noise differs between settings. If Bartlett's test finds that it does, the
// result is the Freedom and Typical that maximise
//
//	Σ [ln Γ((d+ν)/2) − ln Γ(d/2) + d/2 ln(d s) − (d+ν)/2 ln(d s + S)] − ½ (ln s − ln around)²,
//
// with S = Squares and ν = Freedom of the replicates, d = Freedom, 1 or 2 so that settings that
// differ are not made alike, and s = Typical; around is the noise variance of all readings
// together. Otherwise the noise variance is around everywhere, since a few replicates always differ
// somewhat.
func FitNoise(groups []Group, around float64) Noise {
	best, most := Noise{math.Inf(1), around}, math.Inf(-1)
	if !differ(groups) {
		return best
	}
	for _, freedom := range []float64{1, 2} {
		for step := -noiseSteps; step <= noiseSteps; step++ {
			shift := float64(step) * math.Ln2 / 2
			noise := Noise{freedom, around * math.Exp(shift)}
			if value := noise.likelihood(groups) - shift*shift/2; value > most {
				best, most = noise, value
			}
		}
	}
	return best
}

const (
	noiseSteps  = 20   // half octaves of Typical tried on each side
	coincidence = 0.01 // significance level of the test
)

// differ is Bartlett's test of equal variances (Properties of Sufficiency and Statistical Tests,
// 1937): with s² = Squares/Freedom of each of k groups and p² of all together, n the sum of their
// freedoms ν,
//
//	(n ln p² − Σ ν ln s²) / (1 + (Σ 1/ν − 1/n) / (3(k−1)))
//
// is χ² with k−1 degrees of freedom if the variances are equal.
func differ(groups []Group) bool {
	k := float64(len(groups))
	if k < 2 {
		return false
	}
	freedom, squares, inverse, logs := 0.0, 0.0, 0.0, 0.0
	for _, g := range groups {
		freedom += g.Freedom
		squares += g.Squares
		inverse += 1 / g.Freedom
		logs += g.Freedom * math.Log(max(g.Squares/g.Freedom, LeastNoise))
	}
	statistic := freedom*math.Log(max(squares/freedom, LeastNoise)) - logs
	statistic /= 1 + (inverse-1/freedom)/(3*(k-1))
	return distuv.ChiSquared{K: k - 1}.Survival(statistic) < coincidence
}

// likelihood is the log likelihood of the replicates' sums of squares, up to terms that are the
// same for every Noise.
func (n Noise) likelihood(groups []Group) float64 {
	sum := 0.0
	for _, g := range groups {
		d, s := n.Freedom, n.Freedom*n.Typical
		above, _ := math.Lgamma((d + g.Freedom) / 2)
		below, _ := math.Lgamma(d / 2)
		sum += above - below + d/2*math.Log(s) - (d+g.Freedom)/2*math.Log(s+g.Squares)
	}
	return sum
}

// A reading is wrong if it lies wrongDeviations standard deviations from the median of two or more
// others at its setting, wrongTimes as far as any other reading lies from its own median, and the
// noise is known from wrongFreedom degrees of freedom without it. As noise may differ between
// settings, the first condition alone would reject honest readings of a noisy setting among quiet
// ones.
const (
	wrongDeviations = 6
	wrongTimes      = 3
	wrongFreedom    = 4
)

// Wrong finds readings that their replicates contradict. settings gives the setting of each
// reading, −1 for none. For each reading the result is its squared distance from the median of the
// others at its setting if it is wrong, else 0.
func Wrong(y []float64, settings []int) []float64 {
	wrong := make([]float64, len(y))
	for {
		i, square := farthest(y, settings, wrong)
		if i < 0 {
			return wrong
		}
		wrong[i] = square
		freedom, squares := 0.0, 0.0
		for _, g := range Groups(y, settings, wrong) {
			freedom += g.Freedom
			squares += g.Squares
		}
		_, next := farthest(y, settings, wrong)
		likely := square*freedom <= wrongDeviations*wrongDeviations*max(squares, freedom*LeastNoise) || square <= wrongTimes*wrongTimes*next
		if freedom < wrongFreedom || likely {
			wrong[i] = 0
			return wrong
		}
	}
}

// farthest finds the reading farthest from the median of two or more others at its setting, without
// wrong ones; the first of equals. It is −1 for none.
func farthest(y []float64, settings []int, wrong []float64) (reading int, square float64) {
	together := map[int][]int{}
	for i, s := range settings {
		if s >= 0 && wrong[i] == 0 {
			together[s] = append(together[s], i)
		}
	}
	reading = -1
	for _, readings := range together {
		if len(readings) < 3 {
			continue
		}
		slices.SortFunc(readings, func(i, j int) int { return cmp.Compare(y[i], y[j]) })
		for k, i := range readings {
			d := y[i] - medianWithout(y, readings, k)
			if d*d > square || d*d == square && i < reading {
				reading, square = i, d*d
			}
		}
	}
	return reading, square
}

// medianWithout is the median of readings in ascending order without the k-th.
func medianWithout(y []float64, ascending []int, k int) float64 {
	other := func(i int) float64 {
		if i >= k {
			i++
		}
		return y[ascending[i]]
	}
	n := len(ascending) - 1
	return (other((n-1)/2) + other(n/2)) / 2
}

// Group is the replicates of one setting.
type Group struct {
	Setting int
	Replicates
}

// Groups are the replicates of every setting with two or more readings, in order of their first
// ones, without wrong ones.
func Groups(y []float64, settings []int, wrong []float64) []Group {
	at, sums := map[int]int{}, []float64{}
	var groups []Group
	for i, s := range settings {
		if s < 0 || wrong[i] > 0 {
			continue
		}
		g, known := at[s]
		if !known {
			g = len(groups)
			at[s], groups, sums = g, append(groups, Group{Setting: s, Replicates: Replicates{Freedom: -1}}), append(sums, 0)
		}
		groups[g].Freedom++
		sums[g] += y[i]
	}
	for i, s := range settings {
		if s >= 0 && wrong[i] == 0 {
			g := at[s]
			d := y[i] - sums[g]/(groups[g].Freedom+1)
			groups[g].Squares += d * d
		}
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return g.Freedom == 0 })
}
