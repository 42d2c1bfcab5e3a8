package derived

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Task is a kind of background work that runs whether or not anybody waits for it, at most one of
// the kind for each thing.
type Task struct {
	Kind   string
	Limit  time.Duration // for one task
	AtOnce int           // at how many things at the same time, 0 for any number
}

// Progress is the state or the outcome of a task.
type Progress struct {
	Wanted, Done int64 // in units of the task
	Going        bool
	Stopped      bool  // Stop was called
	Failed       error // why it ended early, nil if it did not
}

// Reasons for not starting a task.
var (
	ErrGoing = errors.New("it goes on already")
	ErrBusy  = errors.New("it goes on at as many things as it may")
)

// mostTasks is how many ended tasks are remembered.
const mostTasks = 2000

// taskList has the last task of each kind for each thing.
type taskList struct {
	mutex sync.Mutex
	last  map[taskKey]*Progress
}

type taskKey struct{ kind, id string }

// Begin starts work as the thing's task. If it cannot be started, the error is ErrGoing, ErrBusy or
// supervisor.ErrStopping.
func (s *Store[S]) Begin(task Task, id string, wanted int64, work func(ctx context.Context) error) error {
	one := &Progress{Wanted: wanted, Going: true}
	if err := s.tasks.begin(task, id, one); err != nil {
		return err
	}
	err := s.Jobs.Go(context.Background(), task.Kind, id, task.Limit, work, func(err error) { s.tasks.end(one, err) })
	if err != nil {
		s.tasks.end(one, err)
	}
	return err
}

// Progress returns the state of the thing's last task; known is false if there is none.
func (s *Store[S]) Progress(task Task, id string) (last Progress, known bool) {
	s.tasks.with(task, id, func(one *Progress) { last, known = *one, true })
	return last, known
}

// Advance sets how much of the thing's running task is done, which done computes from its progress.
func (s *Store[S]) Advance(task Task, id string, done func(now Progress) int64) {
	s.tasks.with(task, id, func(one *Progress) {
		if one.Going {
			one.Done = done(*one)
		}
	})
}

// Stop marks the thing's running task as stopped; the work is expected to check its progress.
func (s *Store[S]) Stop(task Task, id string) {
	s.tasks.with(task, id, func(one *Progress) { one.Stopped = one.Stopped || one.Going })
}

func (b *taskList) with(task Task, id string, do func(one *Progress)) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if one := b.last[taskKey{task.Kind, id}]; one != nil {
		do(one)
	}
}

func (b *taskList) begin(task Task, id string, one *Progress) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	key, going := taskKey{task.Kind, id}, 0
	if before := b.last[key]; before != nil && before.Going {
		return ErrGoing
	}
	for other, last := range b.last {
		switch {
		case last.Going && other.kind == task.Kind:
			going++
		case !last.Going && len(b.last) >= mostTasks:
			delete(b.last, other)
		}
	}
	if task.AtOnce > 0 && going >= task.AtOnce {
		return ErrBusy
	}
	if b.last == nil {
		b.last = map[taskKey]*Progress{}
	}
	b.last[key] = one
	return nil
}

func (b *taskList) end(one *Progress, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	one.Going, one.Failed = false, err
}
