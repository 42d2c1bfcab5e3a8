package checkpoint

import (
	"context"
	"sync"
)

// Once keeps what was worked out first without an error. Nobody waits for another's work, which may
// be given way in: who asks at the same time does it too. The zero value has nothing yet.
type Once[T any] struct {
	mu    sync.Mutex
	known bool
	value T
}

// Get returns what is kept, or what work makes now.
func (o *Once[T]) Get(ctx context.Context, work func(ctx context.Context) (T, error)) (T, error) {
	if value, known := o.kept(); known {
		return value, nil
	}
	made, err := work(ctx)
	if err != nil {
		return made, err
	}
	return o.keep(made), nil
}

func (o *Once[T]) kept() (value T, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value, o.known
}

// keep returns what is kept from now on.
func (o *Once[T]) keep(made T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known {
		o.value, o.known = made, true
	}
	return o.value
}
