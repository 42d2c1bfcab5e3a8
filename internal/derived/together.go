package derived

import (
	"slices"
	"sync"
)

// Together serves at once all who want something of one thing at the same time: those who come
// while others are served are served next, together. The zero value is ready.
type Together[Q any] struct {
	mutex   sync.Mutex
	waiting map[string][]Q // by id; a thing that is listed is being served
}

// Join adds one to those who wait at the thing of that id. Unless somebody does so already, it has
// serve called behind its caller with all who wait, and again until nobody does. serve returns
// those whom it left to the next time, when they come first.
func (t *Together[Q]) Join(id string, one Q, serve func(all []Q) (left []Q)) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_, served := t.waiting[id]
	if t.waiting == nil {
		t.waiting = map[string][]Q{}
	}
	t.waiting[id] = append(t.waiting[id], one)
	if served {
		return
	}
	go func() {
		for all := t.take(id, nil); all != nil; {
			all = t.take(id, serve(all))
		}
	}()
}

// take returns all who wait, those left from before first; where nobody does, serving ends.
func (t *Together[Q]) take(id string, left []Q) []Q {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	all := append(slices.Clip(left), t.waiting[id]...)
	if len(all) == 0 {
		delete(t.waiting, id)
		return nil
	}
	t.waiting[id] = nil
	return all
}
