package derived

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/supervisor"
)

// ended is how the thing's task ended.
func ended(t *testing.T, s *Store[page], task Task, id string) Progress {
	t.Helper()
	for {
		if now, known := s.Progress(task, id); known && !now.Going {
			return now
		}
		if t.Context().Err() != nil {
			t.Fatal("it goes on")
		}
		time.Sleep(time.Millisecond)
	}
}

// One task of a kind goes on at a thing, at so many things; it is known how it stands and how it
// ended, whoever asks.
func TestTasksGoOnByThemselves(t *testing.T) {
	t.Parallel()
	s, task, wrong := newStore(t, 1<<20), Task{"work", time.Minute, 2}, errors.New("wrong")
	if _, known := s.Progress(task, "a"); known {
		t.Error("a task is known that was never begun")
	}
	gate := make(chan error)
	waits := func(ctx context.Context) error {
		select {
		case err := <-gate:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	must.Do(t, s.Begin(task, "a", 7, waits))
	must.Do(t, s.Begin(task, "b", 7, func(ctx context.Context) error {
		for now := (Progress{}); !now.Stopped; now, _ = s.Progress(task, "b") {
			time.Sleep(time.Millisecond)
		}
		return ctx.Err()
	}))
	if err := s.Begin(task, "a", 9, waits); !errors.Is(err, ErrGoing) {
		t.Errorf("it is begun twice: %v", err)
	}
	if err := s.Begin(task, "c", 9, waits); !errors.Is(err, ErrBusy) {
		t.Errorf("it is begun at too many things: %v", err)
	}
	advance := func(by int64) {
		s.Advance(task, "a", func(now Progress) int64 { return now.Done + by })
	}
	advance(3)
	if now, _ := s.Progress(task, "a"); now != (Progress{Wanted: 7, Done: 3, Going: true}) {
		t.Errorf("it stands at %+v", now)
	}
	s.Stop(task, "b")
	if last := ended(t, s, task, "b"); last != (Progress{Wanted: 7, Stopped: true}) {
		t.Errorf("stopped: %+v", last)
	}
	gate <- wrong
	if last := ended(t, s, task, "a"); last != (Progress{Wanted: 7, Done: 3, Failed: wrong}) {
		t.Errorf("failed: %+v", last)
	}
	advance(1)
	s.Stop(task, "a")
	if last := ended(t, s, task, "a"); last.Done != 3 || last.Stopped {
		t.Errorf("what has ended goes on: %+v", last)
	}
	must.Do(t, s.Begin(task, "a", 1, func(context.Context) error { panic("what cannot be") }))
	if last := ended(t, s, task, "a"); !errors.Is(last.Failed, supervisor.ErrPanicked) || last.Done != 0 {
		t.Errorf("it panicked: %+v", last)
	}
	s.Jobs.Stop()
	if err := s.Begin(task, "d", 1, waits); !errors.Is(err, supervisor.ErrStopping) {
		t.Errorf("it is begun as the program stops: %v", err)
	}
	if last := ended(t, s, task, "d"); !errors.Is(last.Failed, supervisor.ErrStopping) {
		t.Errorf("it was not begun: %+v", last)
	}
}

// Where too many tasks are known, those that go on stay.
func TestTasksThatGoOnAreNotForgotten(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1<<20)
	begin := func(kind, id string) *Progress {
		t.Helper()
		one := &Progress{Going: true}
		must.Do(t, s.addTask(Task{Kind: kind}, id, one))
		return one
	}
	going := begin("work", "going")
	for i := range 2 * mostTasks {
		begin("other", fmt.Sprint(i)).Going = false
	}
	if len(s.tasks) > mostTasks || s.tasks[taskKey{"work", "going"}] != going {
		t.Errorf("%d are known", len(s.tasks))
	}
}

// Those who come while others are served are served together, after whom these left; serving begins
// again when somebody comes to a thing that nobody serves.
func TestThoseWhoWaitAreServedTogether(t *testing.T) {
	t.Parallel()
	var q Together[int]
	served, left := make(chan []int), make(chan []int)
	serve := func(all []int) []int {
		served <- all
		return <-left
	}
	want := func(leave []int, all ...int) {
		t.Helper()
		if got := <-served; !slices.Equal(got, all) {
			t.Errorf("%v were served, not %v", got, all)
		}
		left <- leave
	}
	q.Join("a", 1, serve)
	q.Join("b", 9, func([]int) []int { return nil })
	first := <-served
	for one := range 3 {
		q.Join("a", one+2, serve)
	}
	if left <- nil; !slices.Equal(first, []int{1}) {
		t.Errorf("%v was served first", first)
	}
	second := <-served
	q.Join("a", 5, serve)
	if left <- second[1:]; !slices.Equal(second, []int{2, 3, 4}) {
		t.Errorf("%v were served next", second)
	}
	want([]int{5}, 3, 4, 5)
	want(nil, 5)
	q.Join("a", 6, serve)
	want(nil, 6)
}
