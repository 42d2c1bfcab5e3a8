package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"golang.org/x/sync/semaphore"

	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
)

// mostCached is 1 GiB, or half of what the program may use at all (GOMEMLIMIT) where that is less.
func mostCached() int64 { return atMostHalf(1 << 30) }

func atMostHalf(bytes int64) int64 {
	const unlimited = -1 // asks what the limit is, and changes nothing
	return min(bytes, debug.SetMemoryLimit(unlimited)/2)
}

// room is the memory for models that are being made from nothing: so much for one, and for all that
// are made at once.
type room struct {
	bytes int64
	left  *semaphore.Weighted
}

func newRoom() room {
	bytes := atMostHalf(optimizer.MostRoom)
	return room{bytes, semaphore.NewWeighted(bytes)}
}

// enter waits until there is room for a study's model beside those that are being made.
func (r room) enter(ctx context.Context, snap *ledger.Snapshot) (leave func(), err error) {
	n := int64(len(snap.Trials))
	most := min(r.bytes, 8*n*n*int64(len(snap.Compiled().MetricNames)))
	if err := r.left.Acquire(ctx, most); err != nil {
		return nil, err
	}
	return func() { r.left.Release(most) }, nil
}

// tooLarge says of a model that would take more memory than it may what it would take, and what its
// study's people can do; nil for other errors.
func tooLarge(err error) error {
	refused, is := errors.AsType[*optimizer.TooLarge](err)
	if !is {
		return nil
	}
	n := float64(refused.Readings)
	long := "less than a minute"
	if minutes := math.Ceil(float64(refused.Regressions) * n * n * n / 3 / workAMinute); minutes > 1 {
		long = fmt.Sprintf("about %g minutes", minutes)
	}
	return conflict("The model of so many readings is too large to be worked out: %d regressions of up to %d readings would take %s of memory "+
		"and %s, and a model may take %s here. Results can still be told and imported, and the ledger read and exported. "+
		"To choose trials, exclude readings that tell little more, go on in a copy of the study with fewer of its trials, or list candidates: "+
		"the model of %d or fewer does not grow with the readings.",
		refused.Regressions, refused.Readings, amount(refused.Bytes), long, amount(refused.Room), optimizer.MostListed)
}

// workAMinute is about how many operations of a factorisation, n³/3 of n rows, take a minute on two
// processors of our time.
const workAMinute = 60 * 30e9

func amount(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}
