package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/scheduler"
	"headroom/internal/study"
)

// decisions makes decisions of one study follow one another: within this process by a queue in
// memory, among processes by a lock in the database. Only the head of each queue holds a
// connection, one of a pool of their own: however many wait, writes find theirs free.
type decisions struct {
	pool   *pgxpool.Pool
	queues scheduler.Queues
}

// A choosing lock is a lease: PostgreSQL ends it when its holder has been silent for choosingLease,
// as one that is frozen is, or cut off. Whoever waits for the lock gives up after lockTime, to be
// asked again.
const (
	choosingLease = 10 * time.Second
	renewal       = choosingLease / 4
	lockTime      = 4 * time.Second
)

// tookTooLong is PostgreSQL's code of a statement that was ended.
const tookTooLong = "57014"

// errLeaseLost is why a decision was given up.
var errLeaseLost = fmt.Errorf("the choosing lock was lost: %w", study.ErrUnavailable)

// Choosing runs choose while holding the study's choosing lock. Should the lock be lost, choose's
// context ends.
func (s *Studies) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	leave, err := s.choosing.queues.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	lock, err := s.choosing.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginLocked(id)})
	if err != nil {
		if pgError(err).Code == tookTooLong && ctx.Err() == nil {
			return fmt.Errorf("another server has been choosing for the study for more than %v: %w", lockTime, study.ErrUnavailable)
		}
		return unavailable(ctx, err)
	}
	// The lock lasts as long as this transaction, in which nothing else happens: choose reads and
	// writes through the other pool.
	defer unlock(lock)
	return holding(ctx, lock, choose)
}

// beginLocked begins a transaction that has the study's choosing lock, in one round trip. Such
// statements take no arguments, so the id, which anybody may have made up, is written in
// hexadecimal digits.
func beginLocked(id string) string {
	return fmt.Sprintf(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('headroom choosing'),
		hashtext(convert_from(decode('%x', 'hex'), 'UTF8')))`, id)
}

// unlock gives the lock back. Should that fail the connection is closed, which gives it back too;
// what was chosen stands either way.
func unlock(lock pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	_ = lock.Rollback(ctx)
}

// holding runs choose and renews the lease meanwhile.
func holding(ctx context.Context, lock pgx.Tx, choose func(ctx context.Context) error) error {
	within, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	chosen := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		if renew(ctx, lock, chosen) != nil {
			lose(errLeaseLost)
		}
	})
	err := choose(within)
	close(chosen)
	renewing.Wait()
	if err != nil && errors.Is(context.Cause(within), errLeaseLost) {
		return errLeaseLost
	}
	return err
}

// renew says now and then that the holder of lock is alive, until what it holds the lock for is
// done.
func renew(ctx context.Context, lock pgx.Tx, done <-chan struct{}) error {
	ticker := time.NewTicker(renewal)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ticker.C:
		}
		said, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewal)
		_, err := lock.Exec(said, `SELECT`)
		cancel()
		if err != nil {
			return err
		}
	}
}
