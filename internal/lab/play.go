package lab

import (
	"context"
	"maps"
	"slices"
	"time"
)

// player decides where to measure: the optimizer, a study on the service, a program outside, or an
// opponent that only simulations have. A choice is said in the words of its world.
type player[Choice any] interface {
	choose(ctx context.Context, count int) ([]Choice, error)
	// learn takes in what came of trials since the request before; perhaps nothing.
	learn(ctx context.Context, told []outcome) error
}

// world is what is measured. visit carries out a choice, which took so many seconds, and says what
// came of it, and so many requests late.
type world[Choice any] interface {
	visit(at Choice, seconds float64, tell func(late int, o outcome))
}

// play asks for trials, so many at once, until there are as many as wanted, and tells the player
// what came of them when it is due. It returns what is still to be told, in its order. step, when
// not nil, is called after every trial.
func play[Choice any](ctx context.Context, w world[Choice], p player[Choice], trials, batch int, step func()) ([][]outcome, error) {
	due := map[int][]outcome{}
	for request, asked := 0, 0; asked < trials; request++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		chosen, err := p.choose(ctx, min(batch, trials-asked))
		if err != nil {
			return nil, err
		}
		seconds := time.Since(began).Seconds() / float64(len(chosen))
		for _, at := range chosen {
			w.visit(at, seconds, func(late int, o outcome) { due[request+late] = append(due[request+late], o) })
		}
		if err := p.learn(ctx, due[request]); err != nil {
			return nil, err
		}
		delete(due, request)
		for range chosen {
			if asked++; step != nil {
				step()
			}
		}
	}
	var rest [][]outcome
	for _, request := range slices.Sorted(maps.Keys(due)) {
		rest = append(rest, due[request])
	}
	return rest, nil
}
