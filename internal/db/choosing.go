package db

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/study"
)

// decisions makes decisions of one study follow one another: within this process by a queue in memory, among processes by a lock
// in the database. Only the head of each queue holds a connection, one of a pool of their own: however many wait, writes find theirs free.
type decisions struct {
	pool   *pgxpool.Pool
	queues study.Queues
}

// Choosing runs choose while holding the study's choosing lock.
func (s *Studies) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	leave, err := s.choosing.queues.Enter(ctx, id)
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
