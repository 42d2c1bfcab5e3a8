// Package scheduler shares the processors among studies. Numerical work holds a place while it
// computes. When its time slice is over and others wait, it gives up the place at a checkpoint of
// its own, so that no long computation delays another study by more than a slice.
package scheduler

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"headroom/internal/optimizer/checkpoint"
)

// Urgency orders the waiting work. Within one urgency the study that has computed least comes
// first.
type Urgency int

const (
	Choosing Urgency = iota // somebody at the bench is waiting: asks, tells, corrections
	Reading                 // pages and answers that show the model
	Checking                // verifications and comparisons
	urgencies
)

// String names the urgency for metrics.
func (u Urgency) String() string { return [...]string{"choosing", "reading", "checking"}[u] }

// Urgent returns the present urgency of some work. It is asked before each slice, because more
// urgent callers may join those who wait for a result.
type Urgent interface{ Now() Urgency }

// Now returns u: an Urgency is an Urgent that never changes.
func (u Urgency) Now() Urgency { return u }

type urgentKey struct{}

// With sets the urgency of the work under ctx. The default is Reading.
func With(ctx context.Context, urgent Urgent) context.Context {
	return context.WithValue(ctx, urgentKey{}, urgent)
}

// Of returns the urgency of the work under ctx.
func Of(ctx context.Context) Urgent {
	if urgent, ok := ctx.Value(urgentKey{}).(Urgent); ok {
		return urgent
	}
	return Reading
}

const (
	// timeSlice is how long work may run while others wait.
	timeSlice = 10 * time.Millisecond
	// longestWaitingEvery is after how many grants the longest waiting work is served regardless of
	// urgency, so that none starves.
	longestWaitingEvery = 8
)

// Scheduler grants the places. Its methods are safe for concurrent use.
type Scheduler struct {
	mu      sync.Mutex
	free    int
	grants  int
	waiting []*request // in order of arrival
	studies map[string]*share
	counts  [urgencies]Counts
}

// Counts counts the work of one urgency.
type Counts struct {
	Waiting, Running int
	Slices           int           // slices granted so far
	Computed         time.Duration // time for which places were held
}

type request struct {
	study   string
	urgent  Urgent
	urgency Urgency // when it was granted
	granted chan struct{}
}

// share is the processor time of a study. A new study starts level with the least served one
// present, so that absence earns no advantage.
type share struct {
	used time.Duration
	here int // pieces of work waiting or running
}

// New returns a scheduler with that many places, at least one.
func New(places int) *Scheduler {
	return &Scheduler{free: max(places, 1), studies: map[string]*share{}}
}

// Compute runs work for a study, with the urgency of ctx, once it has a place. It returns the error
// of work, or that of ctx if ctx ends while waiting. At a checkpoint after the end of a time slice
// it gives up the place if others wait, and gets one again later. Work must not call Compute or
// wait for anything that does.
func (s *Scheduler) Compute(ctx context.Context, study string, work func(ctx context.Context) error) error {
	s.arrive(study)
	defer s.leave(study)
	urgency, err := s.take(ctx, study)
	if err != nil {
		return err
	}
	held := &holding{scheduler: s, study: study, urgency: urgency, since: time.Now()}
	defer held.end()
	return work(checkpoint.With(ctx, held.yield))
}

// holding is a place in use. While one goroutine of the work yields, the others stop at their
// checkpoints.
type holding struct {
	scheduler *Scheduler
	study     string
	urgency   Urgency
	since     time.Time // the slice began
	lost      bool      // ctx ended while waiting to come back
}

func (h *holding) yield(ctx context.Context) error {
	if h.lost {
		return context.Canceled
	}
	if time.Since(h.since) < timeSlice {
		return nil
	}
	if !h.scheduler.yields(h) {
		return nil
	}
	urgency, err := h.scheduler.take(ctx, h.study)
	h.urgency, h.since, h.lost = urgency, time.Now(), err != nil
	return err
}

func (h *holding) end() {
	if h.lost {
		return
	}
	h.scheduler.mu.Lock()
	defer h.scheduler.mu.Unlock()
	h.scheduler.release(h)
}

// yields gives up the place if others wait, else it starts the next slice.
func (s *Scheduler) yields(h *holding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.account(h)
		return false
	}
	s.release(h)
	return true
}

// take waits for a place and returns the urgency with which it was granted.
func (s *Scheduler) take(ctx context.Context, study string) (Urgency, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	r := &request{study: study, urgent: Of(ctx), granted: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	s.grant()
	s.mu.Unlock()
	select {
	case <-r.granted:
		return r.urgency, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-r.granted: // granted at the same moment: pass it on
		s.release(&holding{study: study, urgency: r.urgency, since: time.Now()})
	default:
		s.drop(r)
	}
	return 0, ctx.Err()
}

func (s *Scheduler) grant() {
	for s.free > 0 && len(s.waiting) > 0 {
		r := s.next()
		s.drop(r)
		s.free--
		s.grants++
		r.urgency = r.urgent.Now()
		f := &s.counts[r.urgency]
		f.Running++
		f.Slices++
		close(r.granted)
	}
}

// next returns the most urgent request, of these the one whose study has computed least, of these
// the earliest; now and then the earliest of all.
func (s *Scheduler) next() *request {
	best := s.waiting[0]
	if s.grants%longestWaitingEvery == longestWaitingEvery-1 {
		return best
	}
	for _, r := range s.waiting[1:] {
		if one, other := r.urgent.Now(), best.urgent.Now(); one < other || one == other && s.studies[r.study].used < s.studies[best.study].used {
			best = r
		}
	}
	return best
}

func (s *Scheduler) drop(r *request) {
	at := slices.Index(s.waiting, r)
	s.waiting = slices.Delete(s.waiting, at, at+1)
}

func (s *Scheduler) account(h *holding) {
	now := time.Now()
	took := now.Sub(h.since)
	h.since = now
	s.studies[h.study].used += took
	s.counts[h.urgency].Computed += took
}

func (s *Scheduler) release(h *holding) {
	s.account(h)
	s.counts[h.urgency].Running--
	s.free++
	s.grant()
}

func (s *Scheduler) arrive(study string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.studies[study]
	if own == nil {
		own = &share{used: s.leastUsed()}
		s.studies[study] = own
	}
	own.here++
}

func (s *Scheduler) leastUsed() time.Duration {
	if len(s.studies) == 0 {
		return 0
	}
	return slices.MinFunc(slices.Collect(maps.Values(s.studies)), func(a, b *share) int { return cmp.Compare(a.used, b.used) }).used
}

func (s *Scheduler) leave(study string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.studies[study]
	if own.here--; own.here == 0 {
		delete(s.studies, study)
	}
}

// Counts returns the counts by urgency.
func (s *Scheduler) Counts() map[Urgency]Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := map[Urgency]Counts{}
	for u, f := range s.counts {
		by[Urgency(u)] = f
	}
	for _, r := range s.waiting {
		f := by[r.urgent.Now()]
		f.Waiting++
		by[r.urgent.Now()] = f
	}
	return by
}

// Queues are queues by name, such as that of a study or an address: as many callers of a name pass
// at the same time as there are Places. The zero value is ready to use.
type Queues struct {
	Places int // per name; 0 means 1

	mutex sync.Mutex
	lines map[string]*line
}

// line is the queue of one name. A place is taken by sending and given back by receiving.
type line struct {
	place   chan struct{}
	members int // waiting or in a place; at 0 the line is removed
}

// Enter waits for a place in the queue of a name.
func (q *Queues) Enter(ctx context.Context, id string) (leave func(), err error) {
	mine := q.join(id)
	select {
	case mine.place <- struct{}{}:
		return func() { <-mine.place; q.leave(id, mine) }, nil
	case <-ctx.Done():
		q.leave(id, mine)
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

func (q *Queues) leave(id string, mine *line) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if mine.members--; mine.members == 0 {
		delete(q.lines, id)
	}
}
