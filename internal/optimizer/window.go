package optimizer

import (
	"context"
	"slices"

	"headroom/internal/optimizer/gp"
)

// windows remembers the last window of each regression while the rounds are gone through in order,
// so that each is made from the one before: points that leave at its beginning are dropped in O(W²)
// instead of factorising the rest again in O(W³). It agrees with that to 1e-9.
type windows map[*group]window

type window struct {
	order []arrival
	data  *gp.Data
}

// windowed conditions on the given readings of a regression, from the last window where that is
// remembered and begins alike.
func (s *evidence) windowed(ctx context.Context, slid windows, g *group, order []arrival) (*gp.Data, error) {
	last, ok := slid[g]
	left := leaving(last.order, order)
	if !ok || left > len(order)/8 {
		data := gp.NewData(g.function, s.inputWidth(g.model.kernel))
		return s.remember(ctx, slid, g, order, data, order)
	}
	data := last.data.Prefix(last.data.Len())
	for range left {
		data.DropFirst()
	}
	return s.remember(ctx, slid, g, order, data, order[len(last.order)-left:])
}

// remember appends the readings that have come and keeps the window for the next one.
func (s *evidence) remember(ctx context.Context, slid windows, g *group, order []arrival, data *gp.Data, come []arrival) (*gp.Data, error) {
	err := s.appendRounds(ctx, data, g.model.kernel, come, nil)
	if err == nil && slid != nil {
		slid[g] = window{order, data}
	}
	return data, err
}

// leaving is how many readings at the beginning of the last window have left, its rest being the
// beginning of the present one; all of them and more where the windows do not continue each other.
func leaving(last, order []arrival) int {
	for left := range last {
		if rest := last[left:]; len(rest) <= len(order) && slices.Equal(rest, order[:len(rest)]) {
			return left
		}
	}
	return len(last) + len(order)
}
