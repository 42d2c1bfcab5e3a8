package scheduler

import (
	"context"
	"sync"
)

// Queues let the callers of one study, or one address, pass one after another, or as many at once
// as there are Places, those of different ones at once. The zero value is ready.
type Queues struct {
	Places int // for each; 0 stands for 1

	mutex sync.Mutex
	lines map[string]*line
}

// line is the callers of one name. A place is taken by sending and given back by receiving.
type line struct {
	place   chan struct{}
	members int // waiting or in a place; at 0 the queue is forgotten
}

// Enter waits for one of the places of a name.
func (q *Queues) Enter(ctx context.Context, id string) (leave func(), err error) {
	mine := q.join(id)
	select {
	case mine.place <- struct{}{}:
		return func() { <-mine.place; q.part(id, mine) }, nil
	case <-ctx.Done():
		q.part(id, mine)
		return nil, ctx.Err()
	}
}

func (q *Queues) join(id string) *line {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	mine := q.lines[id]
	if mine == nil {
		mine = &line{place: make(chan struct{}, max(1, q.Places))}
		if q.lines == nil {
			q.lines = map[string]*line{}
		}
		q.lines[id] = mine
	}
	mine.members++
	return mine
}

func (q *Queues) part(id string, mine *line) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if mine.members--; mine.members == 0 {
		delete(q.lines, id)
	}
}
