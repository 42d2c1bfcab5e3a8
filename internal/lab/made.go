package lab

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/study/design"
)

// tableKind is a kind of made-up table. Its draws differ in everything that chance decides, so that
// many can be played: "made-mixed" is draw 1, "made-mixed-7" draw 7.
type tableKind struct {
	name       string
	summary    string
	parameters []design.Parameter
	levels     int // of a numeric parameter where every combination is a setting
	rows       int // settings drawn at random instead; 0: every combination
	limits     []limitSpec
	readings   int  // of a setting; 1: the truth
	plateau    bool // most of the objective's values are 0 or 100
	counted    bool // limits are on counts
	mixture    int  // the first parameters share a total of 1
}

// limitSpec is a limit's metric: the share of settings within it, and its correlation with the
// objective.
type limitSpec struct {
	share, correlation float64
}

var tableKinds = []tableKind{
	{name: "made-mixed", summary: "categories and numbers, a cost that rises with the yield, 15 % of 720 settings within it",
		parameters: []design.Parameter{category("ligand", 10), category("base", 3), category("solvent", 3), realParameter("temperature", 60, 120), realParameter("concentration", 0.05, 0.2)},
		levels:     3, limits: []limitSpec{{0.15, 0.3}}, readings: 1},
	{name: "made-uneven", summary: "20 settings with eight readings each, whose spread differs thirtyfold; a quarter within the limit",
		parameters: []design.Parameter{realParameter("speed", 100, 400), realParameter("feed", 0.05, 0.15), realParameter("depth", 0.5, 1.5)},
		rows:       20, limits: []limitSpec{{0.25, 0.6}}, readings: 8},
	{name: "made-hopeless", summary: "a limit that nothing keeps",
		parameters: []design.Parameter{realParameter("temperature", 20, 80), realParameter("time", 1, 60), category("solvent", 4)},
		levels:     6, limits: []limitSpec{{0, 0.5}}, readings: 1},
	{name: "made-categories", summary: "categories only, four fifths of the yields 0 or 100, one limit",
		parameters: []design.Parameter{category("catalyst", 12), category("ligand", 8), category("additive", 5)},
		limits:     []limitSpec{{0.4, 0.2}}, readings: 1, plateau: true},
	{name: "made-mixture", summary: "parts of a recipe that sum to 1 and a cure time on a log scale, two limits",
		parameters: []design.Parameter{realParameter("resin", 0, 1), realParameter("filler", 0, 1), realParameter("hardener", 0, 1), logarithmic("cure", 1, 1000)},
		rows:       300, mixture: 3, limits: []limitSpec{{0.4, 0.3}, {0.5, -0.2}}, readings: 1},
	{name: "made-counts", summary: "three whole numbers, and a limit on a count that the best settings may just meet",
		parameters: lists.Of(3, func(i int) design.Parameter { return wholeNumber(fmt.Sprintf("n%d", i+1), 1, 7) }),
		levels:     7, limits: []limitSpec{{0.2, 0.5}}, readings: 1, counted: true},
	{name: "made-wide", summary: "20 parameters of which six matter, 400 settings, one limit",
		parameters: unitParameters(20), rows: 400, limits: []limitSpec{{0.3, 0.3}}, readings: 1},
	{name: "made-eight", summary: "eight limits, 10 % within all of them",
		parameters: unitParameters(5), rows: 500, limits: slices.Repeat([]limitSpec{{0.77, 0.1}}, 8), readings: 1},
	{name: "made-free", summary: "no limit at all, one parameter",
		parameters: unitParameters(1), rows: 200, readings: 1},
}

func realParameter(name string, low, high float64) design.Parameter {
	return design.Parameter{Name: name, Type: design.Real, Low: &low, High: &high}
}

func wholeNumber(name string, low, high float64) design.Parameter {
	p := realParameter(name, low, high)
	p.Type = design.Integer
	return p
}

func logarithmic(name string, low, high float64) design.Parameter {
	p := realParameter(name, low, high)
	p.Scale = design.ScaleLog
	return p
}

func category(name string, count int) design.Parameter {
	return design.Parameter{Name: name, Type: design.Categorical, Choices: lists.Of(count, func(i int) string { return fmt.Sprintf("%s %c", name, 'A'+i) })}
}

func unitParameters(count int) []design.Parameter {
	return lists.Of(count, func(i int) design.Parameter { return realParameter(fmt.Sprintf("x%d", i+1), 0, 1) })
}

func (k tableKind) make(name string, draw uint64) (*Problem, error) {
	random := rand.New(rand.NewPCG(draw, 7))
	points := k.points(random)
	objective := standardised(points, newSurface(k.parameters, random))
	d := design.Definition{Name: name, Parameters: k.parameters, Objective: design.Objective{Metric: "yield", Direction: "maximize"}}
	costs := make([][]float64, len(k.limits))
	for j, limit := range k.limits {
		own := standardised(points, newSurface(k.parameters, random))
		costs[j] = make([]float64, len(points))
		for i := range own {
			costs[j][i] = math.Exp(0.7 * (limit.correlation*objective[i] + math.Sqrt(1-limit.correlation*limit.correlation)*own[i]))
			if k.counted {
				costs[j][i] = math.Round(4 * costs[j][i])
			}
		}
		d.Constraints = append(d.Constraints, design.Constraint{Metric: fmt.Sprintf("cost %d", j+1), Op: "<=", Threshold: k.threshold(costs[j], limit.share)})
	}
	var rows []Row
	noise := map[string]Values{}
	for i, u := range points {
		truth := Values{"yield": k.yield(objective[i])}
		for j := range costs {
			truth[d.Constraints[j].Metric] = costs[j][i]
		}
		at := k.settings(u)
		read, sd := k.readingsOf(at, truth, random)
		rows, noise[keyOf(at)] = append(rows, read...), sd
	}
	p, err := newTable(d, rows)
	if err == nil && k.readings > 1 {
		p.own = func(at design.Settings) Values { return noise[keyOf(at)] }
	}
	return p, err
}

func (k tableKind) yield(z float64) float64 {
	if k.plateau {
		return math.Round(math.Max(0, math.Min(100, 25+100*(z-0.5))))
	}
	return 100 / (1 + math.Exp(1-1.2*z))
}

// readingsOf returns the rows of settings, and their standard deviation. Several rows spread by a
// share of the truth from 2 to 60 %, drawn anew for every call.
func (k tableKind) readingsOf(at design.Settings, truth Values, random *rand.Rand) (rows []Row, sd Values) {
	if k.readings == 1 {
		return []Row{{at, truth}}, nil
	}
	share := 0.02 * math.Pow(30, random.Float64())
	sd = Values{}
	for range k.readings {
		row := Row{at, Values{}}
		for _, name := range slices.Sorted(maps.Keys(truth)) {
			row.Values[name] = truth[name] * (1 + share*random.NormFloat64())
			sd[name] = math.Abs(truth[name]) * share
		}
		rows = append(rows, row)
	}
	return rows, sd
}

// threshold returns a threshold halfway between two costs, with a share of them below it; for a
// share of 0 it is below all of them. A count may be met.
func (k tableKind) threshold(costs []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(costs))
	n := int(share * float64(len(sorted)))
	if n == 0 {
		return sorted[0] / 2
	}
	if k.counted {
		return sorted[n-1]
	}
	return (sorted[n-1] + sorted[n]) / 2
}

// points returns the settings in unit coordinates, a category's being its index.
func (k tableKind) points(random *rand.Rand) [][]float64 {
	if k.rows == 0 {
		return k.factorial()
	}
	points := make([][]float64, k.rows)
	for i := range points {
		points[i] = make([]float64, len(k.parameters))
		for d := range points[i] {
			points[i][d] = math.Round(1000*random.Float64()) / 1000
		}
		if k.mixture > 0 {
			onSimplex(points[i][:k.mixture])
		}
	}
	return points
}

// onSimplex turns uniform numbers into shares of a total of 1, in thousandths, uniformly
// distributed: the gaps between the sorted numbers.
func onSimplex(u []float64) {
	ends := append(slices.Clone(u[1:]), 1)
	slices.Sort(ends)
	before := 0.0
	for i, end := range ends {
		u[i] = math.Round(1000*(end-before)) / 1000
		before = end
	}
}

func (k tableKind) factorial() [][]float64 {
	values := make([][]float64, len(k.parameters))
	for i, p := range k.parameters {
		for c := range p.Choices {
			values[i] = append(values[i], float64(c))
		}
		for l := range k.levels {
			if p.Type != design.Categorical {
				values[i] = append(values[i], float64(l)/float64(k.levels-1))
			}
		}
	}
	return problems.Combinations(values)
}

func (k tableKind) settings(u []float64) design.Settings {
	s := design.Settings{}
	for i, p := range k.parameters {
		switch {
		case p.Type == design.Categorical:
			s[p.Name] = design.TextValue(p.Choices[int(u[i])])
		case p.Logarithmic():
			s[p.Name] = design.NumberValue(rounded(*p.Low * math.Pow(*p.High / *p.Low, u[i])))
		default:
			s[p.Name] = design.NumberValue(rounded(*p.Low + u[i]*(*p.High-*p.Low)))
		}
	}
	return s
}

// rounded returns x with four significant digits, as people write settings.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}

// surface is a random smooth function of settings in unit coordinates (a category's being its
// index),
//
//	f(u) = Σ_w h_w cos(φ_w + Σ_k a_wk(u_k)),
//
// where a_wk is linear in a number and any value of a category. The first waves depend on one
// parameter each and are the highest, as main effects are in most laboratories; at most influential
// parameters have an effect.
type surface []wave

type wave struct {
	height, phase float64
	slopes        []float64
	offsets       [][]float64 // of categories; nil for numbers
}

const (
	influential  = 6
	mainWaves    = 8
	jointWaves   = 8
	mainHeight   = 1.5
	mainSlope    = 3
	jointSlope   = 1.5
	mainOffset   = 1.2
	jointOffsets = 0.5
)

func newSurface(parameters []design.Parameter, random *rand.Rand) surface {
	order := random.Perm(len(parameters)) // by importance
	order = order[:min(influential, len(order))]
	var s surface
	for i := range mainWaves {
		s = append(s, newWave(parameters, order[i%len(order):i%len(order)+1], mainHeight, mainSlope, mainOffset, random))
	}
	for range jointWaves {
		s = append(s, newWave(parameters, order, 1, jointSlope, jointOffsets, random))
	}
	return s
}

func newWave(parameters []design.Parameter, on []int, height, slope, offset float64, random *rand.Rand) wave {
	w := wave{
		height: height * random.NormFloat64(), phase: 2 * math.Pi * random.Float64(),
		slopes: make([]float64, len(parameters)), offsets: make([][]float64, len(parameters)),
	}
	for _, k := range on {
		w.slopes[k] = slope * random.NormFloat64()
		for range parameters[k].Choices {
			w.offsets[k] = append(w.offsets[k], offset*random.NormFloat64())
		}
	}
	return w
}

func (s surface) at(u []float64) float64 {
	sum := 0.0
	for _, w := range s {
		angle := w.phase
		for k, x := range u {
			if w.offsets[k] != nil {
				angle += w.offsets[k][int(x)]
			} else {
				angle += w.slopes[k] * x
			}
		}
		sum += w.height * math.Cos(angle)
	}
	return sum
}

// standardised returns the values at points, with mean 0 and standard deviation 1.
func standardised(points [][]float64, s surface) []float64 {
	values := lists.Map(points, s.at)
	centre, size := mean(values), deviation(values)
	for i := range values {
		values[i] = (values[i] - centre) / size
	}
	return values
}
