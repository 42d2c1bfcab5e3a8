package optimizer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
)

// set lets an algorithm look at all places together. What it asks for is worked out when it asks.
func (s *decision) set(ctx context.Context, at []Place, known func(j, i int) float64) *policy.Set {
	set := &policy.Set{Free: make([]bool, len(s.cfg.Space.Dims))}
	for k, d := range s.cfg.Space.Dims {
		set.Free[k] = !d.Derived
		set.Choices = append(set.Choices, d.choices())
	}
	set.Unlike = s.cfg.Space.unlike
	if s.cfg.Space.Settle != nil {
		set.Reach = func(points [][]float64, from []float64) [][]float64 {
			return s.cfg.Space.reach(points, from, s.draw(s.round).Seed)
		}
	}
	teaches := s.teaches()
	for _, p := range at {
		set.Known = append(set.Known, s.left(p) && !teaches(p))
	}
	for _, p := range at {
		set.Points = append(set.Points, p.U)
	}
	for _, seed := range s.cfg.SafeSeeds {
		if i := slices.IndexFunc(at, func(p Place) bool { return samePlace(p, seed) }); i >= 0 {
			set.Seeds = append(set.Seeds, i)
		}
	}
	set.Joint = func(among []int) (func(k int, width float64, normal func() float64) []float64, error) {
		return s.joint(ctx, at, among)
	}
	set.Reread = func(k int, among []int) (func(x int, value float64) policy.Estimate, error) {
		return s.reread(ctx, at, k, among)
	}
	features := sync.OnceValue(func() [][]float64 { return s.features(at) })
	set.Distance = func(i, j int) float64 { return distance(features()[i], features()[j]) }
	set.Earlier = func(t int) (*policy.Sight, error) { return s.earlier(ctx, t, at, known) }
	set.Design = sync.OnceValue(s.designPoint)
	set.Pause = func() error { return checkpoint.Reach(ctx) }
	return set
}

// earlier is what decision t saw of the places.
func (s *decision) earlier(ctx context.Context, t int, at []Place, known func(j, i int) float64) (*policy.Sight, error) {
	if err := checkpoint.Reach(ctx); err != nil {
		return nil, err
	}
	v, err := s.acting(ctx, t, s.path.items[t-1], nil)
	if err != nil {
		return nil, err
	}
	then := &decision{view: v, shown: s.shown}
	return then.sight(ctx, at, known, s.draw(t))
}

func samePlace(a, b Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	for i := range a.U {
		if math.Abs(a.U[i]-b.U[i]) > 1e-12 {
			return false
		}
	}
	return true
}

// joint prepares to draw targets' functions over some of the places, all if among is nil: μ + width·chol(Cov)·n.
func (v *view) joint(ctx context.Context, at []Place, among []int) (func(k int, width float64, normal func() float64) []float64, error) {
	if among != nil {
		all := at
		at = make([]Place, len(among))
		for n, i := range among {
			at[n] = all[i]
		}
	}
	means, roots, err := v.meansAndRoots(ctx, at)
	return func(k int, width float64, normal func() float64) []float64 {
		drawn, n := make([]float64, len(at)), make([]float64, len(at))
		for i := range n {
			n[i] = normal()
		}
		source := v.sourceOf[k]
		mean, root := means[source][slices.Index(v.sources[source].targets, k)], roots[source]
		inShares(len(at), func(c int) error {
			drawn[c] = mean[c] + (v.transforms[k].shift + width*factor.Dot(root[c], n))
			return nil
		})
		return drawn
	}, err
}

// meansAndRoots are the means of every source's targets, and the roots of the posterior covariances over the places, worked out beside each other: who draws one
// function draws them all.
func (v *view) meansAndRoots(ctx context.Context, at []Place) (means, roots [][][]float64, err error) {
	means, roots = make([][][]float64, len(v.sources)), make([][][]float64, len(v.sources))
	work := cores.New()
	for i, src := range v.sources {
		points := v.points(src.kernel, at)
		if means[i], err = src.Means(ctx, points); err != nil {
			return nil, nil, err
		}
		work.Go(func() (err error) {
			roots[i], err = factor.SemidefiniteRoot(ctx, func() ([][]float64, error) { return src.Covariance(ctx, points) })
			return err
		})
	}
	return means, roots, work.Wait()
}

// reread prepares target k's posterior at some of the places after one more reading at place x. With c(y) the posterior covariance of
// places x and y, and s = c(x) + λ,
//
//	μ′(y) = μ(y) + c(y)(value − μ(x))/s,   σ′²(y) = σ²(y) − c(y)²/s.
func (v *view) reread(ctx context.Context, at []Place, k int, among []int) (func(x int, value float64) policy.Estimate, error) {
	src := &v.sources[v.sourceOf[k]]
	m := v.era.models[v.targets[k].metric]
	covariances, err := src.Covariances(ctx, v.points(src.kernel, at), among)
	if err != nil {
		return nil, err
	}
	estimates, err := v.estimate(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	at0 := estimates[k]
	return func(x int, value float64) policy.Estimate {
		c := covariances(x)
		total := at0.SD[x]*at0.SD[x] + m.noise.at(at[x], m.lambda)
		after := policy.Estimate{Mean: make([]float64, len(among)), SD: make([]float64, len(among))}
		for i, y := range among {
			after.Mean[i] = at0.Mean[y] + c[i]*(value-at0.Mean[x])/total
			after.SD[i] = math.Sqrt(max(0, at0.SD[y]*at0.SD[y]-c[i]*c[i]/total))
		}
		return after
	}, nil
}

// features are the places' kernel inputs.
func (s *study) features(at []Place) [][]float64 {
	x := make([][]float64, len(at))
	for i, p := range at {
		x[i] = s.cfg.Space.features(p.U)
	}
	return x
}

// distance is the euclidean distance of two points.
func distance(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}

// finitePlaces are the places that an algorithm which looks at all of them together chooses among on a continuous space: those it
// proposes, else the screening points and the safe seeds. No place is listed twice.
func (s *decision) finitePlaces(ctx context.Context, draw Draw) ([]Place, error) {
	if s.traits.Propose != nil {
		none, err := s.sight(ctx, nil, nil, draw)
		if err != nil {
			return nil, err
		}
		if at := s.allowedPlaces(s.traits.Propose(none)); len(at) > 0 {
			return at, nil
		}
	}
	var points [][]float64
	for _, seed := range s.cfg.SafeSeeds {
		points = append(points, seed.U)
	}
	for _, p := range s.screeningPlaces() {
		points = append(points, p.U)
	}
	return s.allowedPlaces(points), nil
}

// allowedPlaces settles points and keeps the allowed ones, each once.
func (s *study) allowedPlaces(points [][]float64) []Place {
	var at []Place
	listed := map[string]bool{}
	for _, u := range points {
		v, ok := s.cfg.Space.settle(u)
		if name := fmt.Sprint(v); ok && !listed[name] {
			listed[name] = true
			at = append(at, Place{U: v, Arm: -1})
		}
	}
	return at
}
