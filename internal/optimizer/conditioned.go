package optimizer

import (
	"context"
	"slices"

	"headroom/internal/optimizer/gp"
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

// rowsAt are the first of its rows at each of so many places, −1 for none; at is the place of a
// round, or negative.
func (src *source) rowsAt(places int, at func(round int) int) []int {
	rows := slices.Repeat([]int{-1}, places)
	for row, round := range slices.Backward(src.rounds) {
		if i := at(round); i >= 0 {
			rows[i] = row
		}
	}
	return rows
}

// readings are the rounds seen, of the regression, in the algorithm's window.
func (v *view) readings(g *group) []arrival {
	order := g.order[:g.seen(v.round)]
	if first := v.traits.Earliest(v.round); first > 1 {
		order = slices.DeleteFunc(slices.Clone(order), func(a arrival) bool { return a.round < first })
	}
	return order
}

// condition works out the posterior of a source from the readings seen, responses giving those of
// its n-th target in their order.
func (v *view) condition(ctx context.Context, src *source, whitened func(rows *posterior.Rows, n int) []float64) error {
	g := src.group
	src.kernel = g.model.kernel
	order := v.readings(g)
	src.arrived = len(order)
	if g.sequential != nil {
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
	st, c := src.group.sequential, &posterior.Candidates{Functions: len(src.targets), Waiting: len(src.waiting) > 0}
	if i := v.round - st.from; i < len(st.noted.items) {
		c.Noted = &st.noted.items[i]
	} else {
		c.Arms = st.arms
		c.Narrowed, err = v.narrowed(ctx, src.group, st.arms, src.waiting)
	}
	c.ByRows = func(ctx context.Context) (*posterior.Rows, error) { return v.byRows(ctx, src) }
	src.Posterior = c
	return err
}

// byRows regresses a source among candidates on one point a candidate, whose reading is the mean of
// the candidate's own by their precision: the posterior is the same.
func (v *view) byRows(ctx context.Context, src *source) (*posterior.Rows, error) {
	order, answers := v.collapsed(src)
	rows := &posterior.Rows{Read: len(order), Data: gp.NewData(src.group.function, v.inputWidth(src.kernel))}
	if err := v.appendRounds(ctx, rows.Data, src.kernel, order, nil); err != nil {
		return nil, err
	}
	for _, y := range answers {
		rows.Z = append(rows.Z, rows.Data.Whiten(nil, y))
	}
	return rows, v.appendPending(ctx, &source{kernel: src.kernel, group: src.group, waiting: src.waiting}, rows)
}

// collapsed makes one reading of the readings of each arm, y = λ Σ y_s/λ_s with λ = 1/Σ (1/λ_s),
// per target of the source.
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
	return v.regime.answers[k].items[i]
}

// whitened is z for target k of the readings seen.
func (v *view) whitened(src *source, rows *posterior.Rows, k int) []float64 {
	switch {
	case v.transforms[k].blind:
		return make([]float64, rows.Read)
	case rows.Of != nil:
		return v.regime.whitened[k][:rows.Read]
	}
	y := make([]float64, rows.Read)
	for i := range y {
		y[i] = v.transforms[k].response(v.history.Rounds[src.rounds[i]-1].Readings[v.targets[k].metric].Value)
	}
	return rows.Data.Whiten(nil, y)
}

// appendPending adds the rounds that wait to a source's rows.
func (v *view) appendPending(ctx context.Context, src *source, rows *posterior.Rows) error {
	if len(src.waiting) == 0 {
		return nil
	}
	m, order := src.group.model, make([]arrival, len(src.waiting))
	for i, r := range src.waiting {
		order[i] = arrival{round: r, lambda: m.noise.at(v.placeOf(r), m.lambda)}
	}
	known, before := v.waitedBefore(src, rows)
	rows.Narrow(before)
	src.rounds = append(src.rounds, src.waiting...)
	err := v.appendRounds(ctx, rows.Data, m.kernel, order[known:], nil)
	for n, z := range rows.Z {
		rows.Z[n] = append(z[:rows.Read:rows.Read], make([]float64, len(order))...)
	}
	return err
}

// waitedBefore are the prior state's rows of the same readings and the first of the same pending
// points, how many, nil if there are none: whoever asks for many trials in a row adds one to those
// that wait each time.
func (v *view) waitedBefore(src *source, rows *posterior.Rows) (waiting int, before *posterior.Rows) {
	if v.prior == nil || rows.Of == nil || src.group.begun == nil || src.group.known != src.arrived {
		return 0, nil
	}
	for i := range v.prior.next.sources {
		known := &v.prior.next.sources[i]
		n := len(known.waiting)
		if known.group == src.group.begun && known.arrived == src.arrived && 0 < n && n <= len(src.waiting) && slices.Equal(known.waiting, src.waiting[:n]) &&
			!slices.ContainsFunc(known.waiting, func(round int) bool { return !v.samePoint(round) }) {
			if before, ok := known.Posterior.(*posterior.Rows); ok && before.Of != nil {
				return n, before
			}
		}
	}
	return 0, nil
}
