package optimizer

import (
	"context"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
)

// lookedAtOnce is the posteriors of how many rounds are worked out together: a factor that does not fit into the processor's cache is passed over once
// for all of them.
const lookedAtOnce = 384

// looking is how far looking back has come: the posteriors shown, at the points of the first rounds, per target.
type looking struct {
	mu        sync.Mutex
	rounds    int
	estimates []policy.Estimate
}

// shown is what is told of the posterior: from arrived data in the window, nothing else.
type shown struct {
	*view
	lookBack looking
}

// lookingBack returns the posteriors shown, at the points of all rounds. The error is that of ctx, later calls going on from there.
func (s *shown) lookingBack(ctx context.Context) ([]policy.Estimate, error) {
	n := len(s.history.Rounds)
	for {
		from, estimates := s.lookBack.known(len(s.targets))
		if from == n {
			return estimates, nil
		}
		until := min(n, from+lookedAtOnce)
		further, err := s.lookAt(ctx, from, until)
		if err != nil {
			return nil, err
		}
		s.lookBack.add(from, until, further)
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
	}
}

// known are the posteriors of the rounds looked at.
func (l *looking) known(targets int) (rounds int, estimates []policy.Estimate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.estimates == nil {
		l.estimates = make([]policy.Estimate, targets)
	}
	return l.rounds, l.estimates
}

// add keeps the posteriors of the rounds from+1 to until, unless somebody else was first.
func (l *looking) add(from, until int, further []policy.Estimate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rounds != from {
		return
	}
	longer := make([]policy.Estimate, len(further))
	for k, e := range further {
		longer[k] = policy.Estimate{Mean: append(l.estimates[k].Mean, e.Mean...), SD: append(l.estimates[k].SD, e.SD...)}
	}
	l.rounds, l.estimates = until, longer
}

// lookAt returns the posteriors shown at the points of the rounds from+1 to until.
func (s *shown) lookAt(ctx context.Context, from, until int) ([]policy.Estimate, error) {
	at := make([]Place, 0, until-from)
	for t := from + 1; t <= until; t++ {
		at = append(at, s.placeOf(t))
	}
	out := s.givenEstimates(at, nil)
	for i := range s.sources {
		src := &s.sources[i]
		p, err := s.predictPlayed(ctx, i, from, at)
		if err != nil {
			return nil, err
		}
		s.take(src, p, out)
	}
	return out, nil
}

// predictPlayed is what source i shown predicts at the points of the rounds from+1 on. Of rounds whose readings it conditions on, rows of its factor
// are the first part of the answer; other rounds are predicted as any place is.
func (s *shown) predictPlayed(ctx context.Context, i int, from int, at []Place) (predicted, error) {
	src := &s.sources[i]
	if src.data == nil || src.group == nil {
		return s.predict(ctx, i, at, false)
	}
	var rows, own, others []int // of the factor, and of places
	read := make([]bool, len(at))
	for row, round := range src.rounds {
		if n := round - from - 1; 0 <= n && n < len(at) {
			rows, own, read[n] = append(rows, row), append(own, n), true
		}
	}
	for i, there := range read {
		if !there {
			others = append(others, i)
		}
	}
	out := unpredicted(len(src.z), len(at))
	p, err := predictOwn(ctx, src.data, rows, src.z)
	if err != nil {
		return out, err
	}
	out.put(own, p)
	if len(others) == 0 {
		return out, nil
	}
	elsewhere := make([]Place, len(others))
	for n, i := range others {
		elsewhere[n] = at[i]
	}
	p, err = s.predict(ctx, i, elsewhere, false)
	if err != nil {
		return out, err
	}
	out.put(others, p)
	return out, nil
}

// unpredicted has room for the predictions of so many responses at so many places.
func unpredicted(responses, places int) predicted {
	p := predicted{means: make([][]float64, responses), variances: make([]float64, places)}
	for n := range p.means {
		p.means[n] = make([]float64, places)
	}
	return p
}

// put takes over what was predicted at the places with these indices.
func (p predicted) put(indices []int, at predicted) {
	for n, i := range indices {
		p.variances[i] = at.variances[n]
		for r := range p.means {
			p.means[r][i] = at.means[r][n]
		}
	}
}

// predictOwn is gp.Data.PredictOwn on all cores. Points are independent of each other, so the result is the same to the last bit.
func predictOwn(ctx context.Context, d *gp.Data, rows []int, zs [][]float64) (predicted, error) {
	shares := cores.Count()
	if len(rows) < splitFrom || shares == 1 {
		means, variances, err := d.PredictOwn(ctx, rows, zs)
		return predicted{means: means, variances: variances}, err
	}
	out := unpredicted(len(zs), len(rows))
	work := cores.New()
	for share := range shares {
		from, to := share*len(rows)/shares, (share+1)*len(rows)/shares
		work.Go(func() error {
			means, variances, err := d.PredictOwn(ctx, rows[from:to], zs)
			copy(out.variances[from:], variances)
			for r, values := range means {
				copy(out.means[r][from:], values)
			}
			return err
		})
	}
	return out, work.Wait()
}
