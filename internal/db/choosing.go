package db

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// choosing makes decisions of one study follow one another: within this process by a queue in memory, among processes by a lock
// in the database. Only the head of each queue holds a connection, one of a pool of their own: however many wait, writes find theirs free.
type choosing struct {
	pool *pgxpool.Pool

	mutex  sync.Mutex
	queues map[string]*queue
}

// queue is the callers of one study. Its one place is taken by sending and given back by receiving.
type queue struct {
	place   chan struct{}
	members int // waiting or choosing; at 0 the queue is forgotten
}

func newChoosing(pool *pgxpool.Pool) *choosing {
	return &choosing{pool: pool, queues: map[string]*queue{}}
}

// Choosing runs choose while holding the study's choosing lock.
func (s *Studies) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	leave, err := s.choosing.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	lock, err := s.choosing.pool.Begin(ctx)
	if err != nil {
		return away(ctx, err)
	}
	// The lock lasts as long as this transaction, in which nothing else happens: choose reads and writes through the other pool.
	defer release(lock)
	if _, err := lock.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('headroom choosing'), hashtext($1))`, id); err != nil {
		return away(ctx, err)
	}
	return choose(ctx)
}

// release gives the lock back. Should that fail the connection is closed, which gives it back too; what was chosen stands either way.
func release(lock pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = lock.Rollback(ctx)
}

// enter waits for the study's place in this process.
func (c *choosing) enter(ctx context.Context, id string) (leave func(), err error) {
	q := c.join(id)
	select {
	case q.place <- struct{}{}:
		return func() { <-q.place; c.part(id, q) }, nil
	case <-ctx.Done():
		c.part(id, q)
		return nil, ctx.Err()
	}
}

func (c *choosing) join(id string) *queue {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	q := c.queues[id]
	if q == nil {
		q = &queue{place: make(chan struct{}, 1)}
		c.queues[id] = q
	}
	q.members++
	return q
}

func (c *choosing) part(id string, q *queue) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if q.members--; q.members == 0 {
		delete(c.queues, id)
	}
}
