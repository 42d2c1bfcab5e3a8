package derived

import (
	"context"
	"errors"
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

type taskKey struct{ kind, id string }

// Begin starts work as the thing's task. If it cannot be started, the error is ErrGoing, ErrBusy or
// supervisor.ErrStopping.
func (s *Store[S]) Begin(task Task, id string, wanted int64, work func(ctx context.Context) error) error {
	one := &Progress{Wanted: wanted, Going: true}
	if err := s.addTask(task, id, one); err != nil {
		return err
	}
	end := func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.Going, one.Failed = false, err
	}
	err := s.Jobs.Go(context.Background(), task.Kind, id, task.Limit, work, end)
	if err != nil {
		end(err)
	}
	return err
}

func (s *Store[S]) addTask(task Task, id string, one *Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, going := taskKey{task.Kind, id}, 0
	if before := s.tasks[key]; before != nil && before.Going {
		return ErrGoing
	}
	for other, last := range s.tasks {
		switch {
		case last.Going && other.kind == task.Kind:
			going++
		case !last.Going && len(s.tasks) >= mostTasks:
			delete(s.tasks, other)
		}
	}
	if task.AtOnce > 0 && going >= task.AtOnce {
		return ErrBusy
	}
	s.tasks[key] = one
	return nil
}

// Progress returns the state of the thing's last task; known is false if there is none.
func (s *Store[S]) Progress(task Task, id string) (last Progress, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.tasks[taskKey{task.Kind, id}]
	if one == nil {
		return last, false
	}
	return *one, true
}

// Advance sets how much of the thing's running task is done, which done computes from its progress.
func (s *Store[S]) Advance(task Task, id string, done func(now Progress) int64) {
	s.whileGoing(task, id, func(one *Progress) { one.Done = done(*one) })
}

// Stop marks the thing's running task as stopped; the work is expected to check its progress.
func (s *Store[S]) Stop(task Task, id string) {
	s.whileGoing(task, id, func(one *Progress) { one.Stopped = true })
}

func (s *Store[S]) whileGoing(task Task, id string, do func(one *Progress)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.tasks[taskKey{task.Kind, id}]; one != nil && one.Going {
		do(one)
	}
}
