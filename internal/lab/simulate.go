package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"headroom/internal/lab/problems"
	"headroom/internal/optimizer"
)

// Run is one game: an algorithm on a problem with one seed. All slices have one entry a round; sums run from round 1.
type Run struct {
	Points [][]float64
	// Regret is Σ (f* − f(x_s)), negative where violation pays; Positive is Σ [f* − f(x_s)]⁺.
	Regret, Positive []float64
	// Balance is Σ_j Σ_s g_j(x_s), Soft Σ_j [Σ_s g_j(x_s)]⁺ and Hard Σ_j Σ_s [g_j(x_s)]⁺, all with the true g, or
	// with the realised g_s where it is known before the round. Violated counts rounds with some g_j(x_s) > 0.
	Balance, Soft, Hard []float64
	Violated            []int
	Utility             []float64   // Σ f(x_s)
	Multipliers         [][]float64 // before the round's feedback
	Optimum             float64     // f* of the last round, among the points that could be played
}

// player makes decisions.
type player interface {
	// choose makes the next decision.
	choose(ctx context.Context, known optimizer.Known) (choice, error)
	// learn takes in the history after the round.
	learn(ctx context.Context, h *optimizer.History) error
}

// choice is one decision.
type choice struct {
	place       optimizer.Place
	multipliers []float64
	draw        optimizer.Draw
}

// arrival is a reading of one metric for one round, both as in the history.
type arrival struct{ round, metric int }

// Play plays the experiment once. The seed settles the problem, the noise, the delays and the algorithm's draws, so that
// algorithms played with the same seed meet the same problem, noise and delays. progress, when not nil, is called after every round.
func (e Experiment) Play(ctx context.Context, seed uint64, progress func(round int)) (*Run, error) {
	in, err := e.instance(seed)
	if err != nil {
		return nil, err
	}
	p, err := e.player(in, seed)
	if err != nil {
		return nil, err
	}
	g := newGame(in, e.T(), seed)
	for t := 1; t <= e.T(); t++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := g.round(ctx, t, p); err != nil {
			return nil, fmt.Errorf("%s on %s, seed %d, round %d: %w", e.Algorithm, e.Problem, seed, t, err)
		}
		if progress != nil {
			progress(t)
		}
	}
	g.run.Optimum = in.Optimum(e.T()).Value
	return g.run, nil
}

// player makes the algorithm ready.
func (e Experiment) player(in *problems.Instance, seed uint64) (player, error) {
	if opponent, ok := opponents[e.Algorithm]; ok {
		return opponent.start(e, in, seed)
	}
	cfg, err := e.config(in, seed)
	if err != nil {
		return nil, err
	}
	return newReplayer(cfg)
}

// game is the world that answers a player.
type game struct {
	in      *problems.Instance
	history optimizer.History
	waiting map[int][]arrival // by the round during which they arrive
	noise   []*rand.Rand      // per reading, so that metrics do not disturb each other
	delays  *rand.Rand
	samples *rand.Rand
	broken  []optimizer.Tally // per limit
	run     *Run
}

// Streams of the seed.
const noiseStream, delayStream, sampleStream = 100, 1, 2

func newGame(in *problems.Instance, rounds int, seed uint64) *game {
	g := &game{in: in, waiting: map[int][]arrival{}, broken: make([]optimizer.Tally, len(in.Limits)),
		delays: rand.New(rand.NewPCG(seed, delayStream)), samples: rand.New(rand.NewPCG(seed, sampleStream)), run: &Run{}}
	for i := range in.Noise {
		g.noise = append(g.noise, rand.New(rand.NewPCG(seed, noiseStream+uint64(i))))
	}
	g.history.Rounds = make([]optimizer.Round, 0, rounds)
	return g
}

func (g *game) round(ctx context.Context, t int, p player) error {
	costs := func(x, out []float64) { g.in.Costs(t, x, out) }
	var known optimizer.Known
	if g.in.Sample != nil {
		costs = g.in.Sample(t, g.samples)
		known = g.known(costs)
	}
	c, err := p.choose(ctx, known)
	if err != nil {
		return err
	}
	x := g.in.Point(c.place)
	truth := make([]float64, len(g.in.Limits))
	costs(x, truth)
	g.record(t, c, x, truth)
	g.read(t, c, x, truth)
	h := g.history
	return p.learn(ctx, &h)
}

// known makes the round's constraint functions known everywhere.
func (g *game) known(costs func(x, out []float64)) optimizer.Known {
	var k optimizer.Known
	out := make([]float64, len(g.in.Limits))
	if g.in.Arms == nil {
		k.At = func(j int, u []float64) float64 {
			own := make([]float64, len(g.in.Limits)) // searches ask from many goroutines
			costs(g.in.Point(optimizer.Place{U: u, Arm: -1}), own)
			return own[j]
		}
		return k
	}
	k.Arms = make([][]float64, len(g.in.Limits))
	for _, x := range g.in.Arms {
		costs(x, out)
		for j, v := range out {
			k.Arms[j] = append(k.Arms[j], v)
		}
	}
	return k
}

// record adds the round to the run.
func (g *game) record(t int, c choice, x, costs []float64) {
	f := g.in.Reward(t, x)
	loss := g.in.Optimum(t).Value - f
	r := g.run
	violated := soFar(r.Violated)
	if !problems.Within(costs) {
		violated++
	}
	var all optimizer.Tally
	for j, v := range costs {
		g.broken[j].Add(v)
		all.Balance += g.broken[j].Balance
		all.Soft += g.broken[j].Soft
		all.Hard += g.broken[j].Hard
	}
	r.Points = append(r.Points, x)
	r.Multipliers = append(r.Multipliers, c.multipliers)
	r.Regret = append(r.Regret, soFar(r.Regret)+loss)
	r.Positive = append(r.Positive, soFar(r.Positive)+math.Max(loss, 0))
	r.Balance = append(r.Balance, all.Balance)
	r.Soft = append(r.Soft, all.Soft)
	r.Hard = append(r.Hard, all.Hard)
	r.Violated = append(r.Violated, violated)
	r.Utility = append(r.Utility, soFar(r.Utility)+f)
}

func soFar[T int | float64](v []T) T {
	if len(v) == 0 {
		return 0
	}
	return v[len(v)-1]
}

// read makes the round's readings and tells those that arrive during it.
func (g *game) read(t int, c choice, x, costs []float64) {
	round := optimizer.Round{Point: c.place.U, Arm: c.place.Arm, Suggested: true, Draw: c.draw}
	truth := append([]float64{g.in.Reward(t, x)}, costs...)
	if g.in.Sample != nil {
		round.Costs, truth = costs, truth[:1]
	}
	for i, value := range truth {
		late := 0
		if g.in.Delay > 0 {
			late = problems.Poisson(g.delays, g.in.Delay)
		}
		round.Readings = append(round.Readings, optimizer.Reading{Value: value + g.in.Noise[i].Draw(g.noise[i], x), Revealed: t + late})
		g.waiting[t+late] = append(g.waiting[t+late], arrival{t, i})
	}
	g.history.Rounds = append(g.history.Rounds, round)
	g.tell(g.waiting[t])
	delete(g.waiting, t)
}

// tell marks readings as told, leaving histories handed out before as they are.
func (g *game) tell(told []arrival) {
	copied := false
	for _, a := range told {
		if a.round != len(g.history.Rounds) && !copied {
			g.history.Rounds = append(make([]optimizer.Round, 0, cap(g.history.Rounds)), g.history.Rounds...)
			copied = true
		}
		r := &g.history.Rounds[a.round-1]
		r.Readings = append([]optimizer.Reading(nil), r.Readings...)
		r.Readings[a.metric].Told = true
	}
}
