package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
)

// source is the posterior of one or more targets.
type source struct {
	posterior.Posterior
	kernel  Kernel
	group   *group // the regression that it is of
	arrived int    // readings
	targets []int
	rounds  []int // of the points of its rows, where it has any
	waiting []int // pending rounds
}

// readings are the rounds in sight, of the regression, in the algorithm's window.
func (v *view) readings(g *group) []arrival {
	order := g.order[:g.seen(v.round)]
	if first := v.traits.Earliest(v.round); first > 1 {
		order = slices.DeleteFunc(slices.Clone(order), func(a arrival) bool { return a.round < first })
	}
	return order
}

// condition works out the posterior of a source from the readings in sight, responses giving those of its n-th target in their order.
func (v *view) condition(ctx context.Context, src *source, whitened func(rows *posterior.Rows, n int) []float64) error {
	g := src.group
	src.kernel = g.model.kernel
	order := v.readings(g)
	src.arrived = len(order)
	if g.standing != nil {
		return v.amongCandidates(ctx, src)
	}
	rows := &posterior.Rows{Read: len(order)}
	if v.traits.Earliest(v.round) <= 1 {
		rows.Of, rows.Data = &g.Regression, g.Data.Prefix(len(order))
		if len(order) < len(g.order) {
			rows.Next = g.order[len(order)].round
		}
	} else {
		var err error
		if rows.Data, err = v.windowed(ctx, v.slid, g, order); err != nil {
			return err
		}
	}
	for _, a := range order {
		src.rounds = append(src.rounds, a.round)
	}
	for n := range src.targets {
		rows.Z = append(rows.Z, whitened(rows, n))
	}
	src.Posterior = rows
	return v.appendPending(ctx, src, rows)
}

// amongCandidates is condition where there are many more readings than candidates.
func (v *view) amongCandidates(ctx context.Context, src *source) (err error) {
	st, c := src.group.standing, &posterior.Candidates{Functions: len(src.targets), Waiting: len(src.waiting) > 0}
	if i := v.round - st.from; i < len(st.glimpses.items) {
		c.Noted = &st.glimpses.items[i]
	} else {
		c.Arms = st.arms
		c.Narrowed, err = v.narrowed(ctx, src.group, st.arms, src.waiting)
	}
	c.ByRows = func(ctx context.Context) (*posterior.Rows, error) { return v.byRows(ctx, src) }
	src.Posterior = c
	return err
}

// byRows regresses a source among candidates on one point a candidate, whose reading is the mean of the candidate's own by their precision: the posterior is the same.
func (v *view) byRows(ctx context.Context, src *source) (*posterior.Rows, error) {
	order, answers := v.collapsed(src)
	rows := &posterior.Rows{Read: len(order), Data: gp.NewData(src.group.function, v.inputWidth(src.kernel))}
	if err := v.appendRounds(ctx, rows.Data, src.kernel, order); err != nil {
		return nil, err
	}
	for _, y := range answers {
		rows.Z = append(rows.Z, rows.Data.Whiten(nil, y))
	}
	return rows, v.appendPending(ctx, &source{kernel: src.kernel, group: src.group, waiting: src.waiting}, rows)
}

// collapsed makes one reading of the readings of each arm, y = λ Σ y_s/λ_s with λ = 1/Σ (1/λ_s), per target of the source.
func (v *view) collapsed(src *source) (order []arrival, answers [][]float64) {
	answers = make([][]float64, len(src.targets))
	at := map[int]int{}
	for i, a := range src.group.order[:src.arrived] {
		arm := v.history.Rounds[a.round-1].Arm
		n, ok := at[arm]
		if !ok {
			n = len(order)
			at[arm] = n
			order = append(order, arrival{round: a.round, revealed: a.revealed})
		}
		order[n].lambda += 1 / a.lambda
		for t, k := range src.targets {
			if !ok {
				answers[t] = append(answers[t], 0)
			}
			answers[t][n] += v.answer(k, i) / a.lambda
		}
	}
	for n := range order {
		order[n].lambda = 1 / order[n].lambda
		for t := range answers {
			answers[t][n] *= order[n].lambda
		}
	}
	return order, answers
}

// answer is target k's response in the i-th reading, 0 where readings are not looked at.
func (v *view) answer(k, i int) float64 {
	if v.transforms[k].blind {
		return 0
	}
	return v.era.answers[k].items[i]
}

// played is the posterior of every target at the place of round t when decision t was made. Where that round's reading was the next to arrive,
// it stands in the factor's row already, to the same bits.
func (v *view) played(ctx context.Context, t int, known func(j, i int) float64) ([]policy.Estimate, error) {
	at := []Place{v.placeOf(t)}
	out := v.givenEstimates(at, known)
	for i := range v.sources {
		src := &v.sources[i]
		means, variance := src.Played(t)
		if means == nil {
			p, err := src.Predict(ctx, v.points(src.kernel, at), nil)
			if err != nil {
				return nil, err
			}
			variance = p.Variances[0]
			for n := range p.Means {
				means = append(means, p.Means[n][0])
			}
		}
		for n, k := range src.targets {
			if v.transforms[k].blind {
				means[n] = 0
			}
			out[k] = policy.Estimate{Mean: []float64{means[n] + v.transforms[k].shift}, SD: []float64{math.Sqrt(max(variance, 0))}}
		}
	}
	return out, nil
}
