// Package search maximises scores over the unit cube: space-filling points to start from, ascents
// along the slopes of scores that have them, and a direct search that polishes and follows kinks
// without slopes.
package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"headroom/internal/lists"
	"headroom/internal/optimizer/descent"
)

// Score orders points: by the lowest Rank, then allowed ones before others, then by the highest
// Value, then by the highest Tie.
type Score struct {
	Rank    int
	Allowed bool
	Value   float64
	Tie     float64
	// Relative: differences count relative to the values even where these are below 1.
	Relative bool
}

// Above tells whether a is better than b by more than rounding.
func (a Score) Above(b Score) bool {
	if a.Rank != b.Rank {
		return a.Rank < b.Rank
	}
	if a.Allowed != b.Allowed {
		return a.Allowed
	}
	size := math.Abs(b.Value)
	if !b.Relative {
		size = math.Max(1, size)
	}
	if math.Abs(a.Value-b.Value) > 1e-12*size {
		return a.Value > b.Value
	}
	return a.Tie > b.Tie+1e-12*math.Max(1, math.Abs(b.Tie))
}

// Higher orders scores, the higher first.
func Higher(a, b Score) int {
	switch {
	case a.Above(b):
		return -1
	case b.Above(a):
		return 1
	}
	return 0
}

// Axis says how one coordinate of the unit cube can be moved.
type Axis struct {
	Fixed  bool // not moved by the search
	Levels int  // 0: continuous; otherwise the number of equidistant values
	Choice bool // the levels have no order
}

// Problem is a function to maximise over the unit cube.
type Problem struct {
	Axes []Axis
	// Settle snaps u in place to a point that can be chosen and reports whether it is allowed.
	Settle func(u []float64) bool
	// Score scores many points at once.
	Score func(points [][]float64) ([]Score, error)
	// Beyond is a smooth function that is positive where scores do not allow a point and 0 at the
	// edge, for Polish to follow the edge; nil where there is none.
	Beyond func(points [][]float64) ([]float64, error)
	// Rise is Score for Climbs. It also returns a function, to be called once, of the slopes at
	// some of the points, by index. Nil where scores have no slopes.
	Rise func(points [][]float64) ([]Score, func(of []int) ([]Slope, error), error)
}

// Polish improves start, whose score is known, by polling around it: along every axis and, because
// a maximum often lies on a kink that runs across the axes, along randomly turned orthogonal
// directions. The step doubles after a success and halves after patience failures, until it is
// below finest or the evaluations are used up. It returns the best point found, or the error of
// Score.
//
// See Audet & Dennis (2006), Mesh adaptive direct search.
func (p Problem) Polish(start []float64, score Score, step, finest float64, evaluations int, seed uint64) ([]float64, Score, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	best := start
	failures := 0
	for turn := 0; step > finest && evaluations > 0; turn++ {
		polls := p.poll(best, step, random, turn)
		evaluations -= max(len(polls), 1)
		moved := false
		try := func(points [][]float64) ([]Score, error) {
			if len(points) == 0 {
				return nil, nil
			}
			scores, err := p.Score(points)
			for i, s := range scores {
				if s.Above(score) {
					best, score, moved = points[i], s, true
				}
			}
			return scores, err
		}
		scores, err := try(polls)
		if err == nil && p.Beyond != nil {
			if polls, err = p.onEdge(polls, scores); err == nil {
				_, err = try(polls)
			}
		}
		if err != nil {
			return nil, Score{}, err
		}
		switch failures++; {
		case moved:
			step, failures = math.Min(2*step, 0.5), 0
		case failures == patience:
			step, failures = step/2, 0
		}
	}
	return best, score, nil
}

// patience is how many polls in a row must fail before the step halves. On a kink the directions
// that lead upwards form a narrow cone, which one turned basis easily misses.
const patience = 4

// poll lists the allowed points around best.
func (p Problem) poll(best []float64, step float64, random *rand.Rand, turn int) [][]float64 {
	var free []int
	var polls, refused [][]float64
	add := func(change func(u []float64)) {
		u := append([]float64(nil), best...)
		change(u)
		for k := range u {
			u[k] = math.Min(math.Max(u[k], 0), 1)
		}
		if p.Settle != nil && !p.Settle(u) {
			refused = append(refused, u)
			return
		}
		if !slices.Equal(u, best) {
			polls = append(polls, u)
		}
	}
	for k, axis := range p.Axes {
		switch {
		case axis.Fixed:
		case axis.Choice:
			for c := range axis.Levels {
				add(func(u []float64) { u[k] = (float64(c) + 0.5) / float64(axis.Levels) })
			}
		case axis.Levels > 1:
			leap := math.Max(step, 1/float64(axis.Levels-1))
			add(func(u []float64) { u[k] += leap })
			add(func(u []float64) { u[k] -= leap })
		case axis.Levels == 0:
			free = append(free, k)
		}
	}
	first := len(polls)
	for _, direction := range directions(len(free), random, turn%2 == 1) {
		for _, sign := range []float64{step, -step} {
			add(func(u []float64) {
				for i, k := range free {
					u[k] += sign * direction[i]
				}
			})
		}
	}
	return append(polls, p.alongEdge(refused, polls[first:])...)
}

// alongEdge moves refused polls back towards the mean of the allowed ones, to the edge of what is
// allowed. Where a score rises towards an edge, the allowed directions that lead upwards form a
// cone that narrows near the maximum along the edge.
func (p Problem) alongEdge(refused, allowed [][]float64) (polls [][]float64) {
	if len(refused) == 0 || len(allowed) == 0 {
		return nil
	}
	middle := middleOf(allowed)
	for _, out := range refused {
		if part := Farthest(p.Settle, middle, out); part > 0 {
			u := Between(middle, out, part)
			p.Settle(u)
			polls = append(polls, u)
		}
	}
	return polls
}

// middleOf is the mean of some points, at least one.
func middleOf(points [][]float64) []float64 {
	middle := make([]float64, len(points[0]))
	for _, u := range points {
		floats.AddScaled(middle, 1/float64(len(points)), u)
	}
	return middle
}

// Between is the point at a fraction of the way from one point to another.
func Between(from, to []float64, fraction float64) []float64 {
	way := floats.SubTo(make([]float64, len(to)), to, from)
	return floats.AddScaledTo(way, from, fraction, way)
}

// halvings is the number of bisections of Farthest.
const halvings = 20

// Farthest is a fraction of the way from an allowed point to another that leads to an allowed one:
// by bisection, on a convex space, nearly the largest one.
func Farthest(settle func(u []float64) bool, from, to []float64) float64 {
	low, high := 0.0, 1.0
	for range halvings {
		middle := (low + high) / 2
		if settle(Between(from, to, middle)) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// onEdge moves polls that scores refuse back towards the mean of the allowed ones, to the edge
// where Beyond is 0, by regula falsi.
func (p Problem) onEdge(polls [][]float64, scores []Score) ([][]float64, error) {
	var refused, allowed [][]float64
	for i, s := range scores {
		if s.Allowed {
			allowed = append(allowed, polls[i])
		} else {
			refused = append(refused, polls[i])
		}
	}
	if len(refused) == 0 || len(allowed) == 0 {
		return nil, nil
	}
	middle, count := middleOf(allowed), len(refused)
	beyond, err := p.Beyond(append(refused, middle))
	if err != nil || beyond[count] >= 0 {
		return nil, err
	}
	edge, inside := slices.Repeat([][]float64{middle}, count), slices.Repeat(beyond[count:], count)
	for range falsi {
		next := slices.Clone(edge)
		for i, out := range refused {
			if inside[i] == 0 { // this is the edge
				continue
			}
			v := Between(edge[i], out, inside[i]/(inside[i]-max(beyond[i], 0)))
			if p.Settle == nil || p.Settle(v) {
				next[i] = v
			}
		}
		now, err := p.Beyond(next)
		if err != nil {
			return nil, err
		}
		for i, v := range next {
			if now[i] <= 0 {
				edge[i], inside[i] = v, now[i]
			} else {
				refused[i], beyond[i] = v, now[i]
			}
		}
	}
	return edge, nil
}

// falsi is how many steps of regula falsi onEdge takes.
const falsi = 4

// directions returns d orthonormal directions: the axes, or a randomly turned basis.
func directions(d int, random *rand.Rand, turned bool) [][]float64 {
	basis := make([][]float64, d)
	for i := range basis {
		basis[i] = make([]float64, d)
		if !turned {
			basis[i][i] = 1
			continue
		}
		for k := range basis[i] {
			basis[i][k] = random.NormFloat64()
		}
		orthonormalise(basis[i], basis[:i])
	}
	return basis
}

// orthonormalise makes v orthogonal to the basis and of length 1 (Gram–Schmidt).
func orthonormalise(v []float64, basis [][]float64) {
	for _, b := range basis {
		product := 0.0
		for k := range v {
			product += v[k] * b[k]
		}
		floats.AddScaled(v, -product, b)
	}
	length := 0.0
	for _, c := range v {
		length += c * c
	}
	length = math.Sqrt(length)
	for k := range v {
		v[k] /= length
	}
}

// walkStream separates these random numbers from others of the same seed.
const walkStream = 0x77616c6b

// Walk returns n points spread over the part of the unit cube that settle allows, however small, by
// walks from allowed points. Each step goes to a point drawn from the line through the present one
// along an axis, along two axes in opposite directions (which keeps sums) or along all of them; the
// line is cut back where a draw is not allowed. Without a point to start from there are none.
//
// See Smith (1984), Efficient Monte Carlo procedures for generating points uniformly distributed
// over bounded regions (hit and run), and Neal (2003), Slice sampling (the cutting back).
func Walk(axes []Axis, settle func(u []float64) bool, from [][]float64, n int, seed uint64) [][]float64 {
	free := lists.Where(len(axes), func(k int) bool { return !axes[k].Fixed })
	w := walker{axes: axes, settle: settle, random: rand.New(rand.NewPCG(seed, walkStream)), free: free}
	if len(from) == 0 || len(w.free) == 0 {
		return from
	}
	var points [][]float64
	each := (n + len(from) - 1) / len(from)
	for _, u := range from {
		for range min(each, n-len(points)) {
			for range w.free {
				u = w.step(u)
			}
			points = append(points, u)
		}
	}
	return points
}

type walker struct {
	axes   []Axis
	settle func(u []float64) bool
	free   []int
	random *rand.Rand
}

func (w *walker) step(u []float64) []float64 {
	k := w.free[w.random.IntN(len(w.free))]
	if levels := w.axes[k].Levels; w.axes[k].Choice {
		v := slices.Clone(u)
		v[k] = (float64(w.random.IntN(levels)) + 0.5) / float64(levels)
		if w.settle(v) {
			return v
		}
		return u
	}
	direction := make([]float64, len(u))
	switch w.random.IntN(3) {
	case 0:
		direction[k] = 1
	case 1:
		direction[k] = 1
		if l := w.free[w.random.IntN(len(w.free))]; l != k && !w.axes[l].Choice {
			direction[l] = -1
		}
	default:
		for _, l := range w.free {
			if !w.axes[l].Choice {
				direction[l] = w.random.NormFloat64()
			}
		}
	}
	return w.along(u, direction)
}

// cuts is how often a line is cut back before the walk stays where it is.
const cuts = 30

// along draws an allowed point of the line through u.
func (w *walker) along(u, direction []float64) []float64 {
	low, high := math.Inf(-1), math.Inf(1)
	for k, slope := range direction {
		if slope != 0 {
			a, b := -u[k]/slope, (1-u[k])/slope
			low, high = math.Max(low, math.Min(a, b)), math.Min(high, math.Max(a, b))
		}
	}
	for range cuts {
		t := low + w.random.Float64()*(high-low)
		v := slices.Clone(u)
		for k := range v {
			v[k] = math.Min(math.Max(v[k]+t*direction[k], 0), 1)
		}
		if w.settle(v) {
			return v
		}
		if t < 0 {
			low = t
		} else {
			high = t
		}
	}
	return u
}

// Ascent is a point on its way up.
type Ascent struct {
	U     []float64
	Score Score
	// Refused: a point on the way was not allowed or of a higher rank, so the ascent may have ended
	// at the edge of what is allowed, where slopes do not tell where to go.
	Refused bool
	// Joined: the ascent ended because it came near a higher one.
	Joined bool
}

// joined is the distance, in every coordinate, at which an ascent is taken to lead to the same top
// as a higher one.
const joined = 0.02

// Slope is how a value v(x) − Σ_k p_k [h_k(x)]⁺ changes around a point: Along holds the derivatives
// of v, Kinks the other terms.
type Slope struct {
	Along []float64
	Kinks []descent.Kink
}

// down is the same for the negated value.
func (s Slope) down() descent.Local {
	return descent.Local{Gradient: floats.ScaleTo(make([]float64, len(s.Along)), -1, s.Along), Kinks: s.Kinks}
}

// climb is a descent of the negated value.
type climb interface {
	Next() []float64
	Wants(value float64) bool
	Tell(value float64, local func() descent.Local)
}

// Climbs move allowed points up the slopes of a problem's value, which Rise gives, along continuous
// axes. All are evaluated together, a step of each at a time. An ascent that comes near a higher
// one ends. Others can be added on the way.
type Climbs struct {
	Problem Problem
	Kinked  bool // the value has kinks
	Ascents []Ascent
	climbs  []climb
}

// Add adds an allowed point, whose ascent ends when a step gains less than least or, for a value
// with kinks, is expected to.
func (c *Climbs) Add(u []float64, score Score, least float64) {
	low, high := c.Problem.room(u)
	limits := descent.Limits{Flat: 1e-5, Least: least, Steps: 40, First: 0.05, Longest: 0.25}
	var up climb = descent.New(u, low, high, limits)
	if c.Kinked {
		limits.Steps *= 3
		up = descent.NewKinked(u, low, high, limits)
	}
	c.Ascents, c.climbs = append(c.Ascents, Ascent{U: u, Score: score}), append(c.climbs, up)
}

// Resume continues ascent i, of a value with kinks, until a step is expected to gain less than
// least.
func (c *Climbs) Resume(i int, least float64) { c.climbs[i].(*descent.Kinked).Resume(least) }

// Highest lists the ascents that joined no other, the highest first.
func (c *Climbs) Highest() []int {
	order := lists.Where(len(c.Ascents), func(i int) bool { return !c.Ascents[i].Joined })
	slices.SortStableFunc(order, func(i, j int) int { return Higher(c.Ascents[i].Score, c.Ascents[j].Score) })
	return order
}

// Follow continues all ascents to their ends. The error is that of Rise.
func (c *Climbs) Follow() error {
	from, climbs := c.Ascents, c.climbs
	for {
		points, whose := c.nextSteps()
		if len(points) == 0 {
			return nil
		}
		scores, slopes, err := c.Problem.Rise(points)
		if err != nil {
			return err
		}
		values, around, wanted := make([]float64, len(points)), make([]Slope, len(points)), []int{}
		for n, i := range whose {
			values[n] = -scores[n].Value
			if !scores[n].Allowed || scores[n].Rank > from[i].Score.Rank {
				from[i].Refused, values[n] = true, math.Inf(1)
			}
			if climbs[i].Wants(values[n]) {
				wanted = append(wanted, n)
			}
		}
		some, err := slopes(wanted)
		if err != nil {
			return err
		}
		for k, n := range wanted {
			around[n] = some[k]
		}
		for n, i := range whose {
			if values[n] < math.Inf(1) && scores[n].Above(from[i].Score) {
				from[i].U, from[i].Score = points[n], scores[n]
			}
			climbs[i].Tell(values[n], around[n].down)
		}
	}
}

// nextSteps are the points that the ascents need next, and the ascent of each. Points that are not
// allowed are refused at once.
func (c *Climbs) nextSteps() (points [][]float64, whose []int) {
	p, from := c.Problem, c.Ascents
	for i, climb := range c.climbs {
		if from[i].Joined = hasJoined(from, i); from[i].Joined {
			continue
		}
		for u := climb.Next(); u != nil; u = climb.Next() {
			if p.Settle == nil || p.Settle(u) {
				points, whose = append(points, u), append(whose, i)
				break
			}
			from[i].Refused = true
			climb.Tell(math.Inf(1), nil)
		}
	}
	return points, whose
}

// hasJoined tells whether an ascent has come near one that is higher, or as high with a lower
// index.
func hasJoined(all []Ascent, i int) bool {
	for j, other := range all {
		higher := other.Score.Value > all[i].Score.Value || other.Score.Value == all[i].Score.Value && j < i
		if higher && Within(joined, other.U, all[i].U) {
			return true
		}
	}
	return false
}

// Within tells whether two points differ by at most distance in every coordinate.
func Within(distance float64, a, b []float64) bool {
	for k := range a {
		if math.Abs(a[k]-b[k]) > distance {
			return false
		}
	}
	return true
}

// room are the bounds between which a point may move: those of the cube along continuous axes.
func (p Problem) room(u []float64) (low, high []float64) {
	low, high = make([]float64, len(u)), make([]float64, len(u))
	for k, axis := range p.Axes {
		low[k], high[k] = u[k], u[k]
		if !axis.Fixed && axis.Levels == 0 {
			low[k], high[k] = 0, 1
		}
	}
	return low, high
}

// haltonStream separates the scrambling from other random numbers of the same seed.
const haltonStream = 0x68616c746f6e

// Halton returns n points of the scrambled Halton sequence in [0,1)^d. The same seed gives the same
// points, and fewer points are a prefix of more.
//
// See Owen (2017), A randomized Halton algorithm in R.
func Halton(n, d int, seed uint64) [][]float64 {
	points := make([][]float64, n)
	if n == 0 || d == 0 {
		return points
	}
	batch := mat.NewDense(n, d, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(d, nil), Src: rand.NewPCG(seed, haltonStream)}.Sample(batch)
	for i := range points {
		points[i] = batch.RawRowView(i)
	}
	return points
}
