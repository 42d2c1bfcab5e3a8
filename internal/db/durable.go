package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/study"
)

// What PostgreSQL shows is not always what it promises to keep. Under synchronous replication a
// commit waits for the standby, and nobody sees it meanwhile; but where the wait was cancelled, or
// the primary was started again, it stands there, and is lost with the primary. So nothing is told,
// to a client that asks again or to one that looks, until a later commit of our own had its
// standby's word: standbys receive everything in its order.

// confirmTime is how long a commit is waited for, which under synchronous replication is for a
// standby's word.
const confirmTime = 10 * time.Second

// confirming bounds the wait for a commit, which goes on when the caller leaves: those who come
// after wait in memory for their turn at the study, and not each on a connection for what this one
// has locked.
func confirming(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), confirmTime)
}

// errUnconfirmed is a commit of which nobody knows whether it will last.
var errUnconfirmed = fmt.Errorf("no standby has confirmed what was stored: %w", study.ErrUnavailable)

// unconfirmedKey marks a connection whose commit did not get its standby's word.
const unconfirmedKey = "headroom unconfirmed"

// hearNotice hears that somebody ended a commit's wait for the standby, which PostgreSQL then
// reports as done.
func hearNotice(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Routine == "SyncRepWaitForLSN" { // the message is in the server's language
		conn.CustomData()[unconfirmedKey] = true
	}
}

// write runs do, which commits, on a connection of its own.
func (d *DB) write(ctx context.Context, do func(conn *pgxpool.Conn) error) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	marks := conn.Conn().PgConn().CustomData()
	delete(marks, unconfirmedKey)
	if err := do(conn); err != nil {
		return err
	}
	if marks[unconfirmedKey] != nil {
		return errUnconfirmed
	}
	return nil
}

// confirm returns nil once everything that could be read on a timeline will outlive a failover, as
// far as the database promises that.
func (d *DB) confirm(ctx context.Context, timeline int64) error {
	waiting, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	err := d.write(waiting, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(waiting, `SELECT pg_logical_emit_message(true, 'headroom', '') WHERE current_setting('synchronous_standby_names') <> ''`)
		return err
	})
	if err == nil && d.fence.timeline() != timeline {
		err = errUnconfirmed // another server was asked than was read
	}
	return unavailable(ctx, err)
}

// voucher returns what is asked of the ends of ledgers that are read after it: it returns nil once
// they are known to outlive a failover. What is read in a transaction is vouched for by its commit.
func (d *DB) voucher(ctx context.Context) func(read map[string]study.Known) error {
	if _, inside := ctx.Value(transactionKey{}).(pgx.Tx); inside {
		return func(map[string]study.Known) error { return nil }
	}
	timeline := d.fence.timeline()
	return func(read map[string]study.Known) error {
		if d.fence.knows(read) {
			return nil
		}
		waiting, cancel := context.WithTimeout(ctx, confirmTime)
		defer cancel()
		select { // one after another: who waited here often finds that it was vouched for meanwhile
		case d.vouching <- struct{}{}:
			defer func() { <-d.vouching }()
		case <-waiting.Done():
			return unavailable(ctx, waiting.Err())
		}
		if d.fence.knows(read) {
			return nil
		}
		err := d.confirm(waiting, timeline)
		if err == nil {
			d.fence.note(read)
		}
		return err
	}
}

// confirmDone lets what was done before be told again once it is known to last.
func (d *DB) confirmDone(ctx context.Context, timeline int64, err error) error {
	var first *study.AlreadyDone
	if !errors.As(err, &first) {
		return err
	}
	if unconfirmed := d.confirm(ctx, timeline); unconfirmed != nil {
		return unconfirmed
	}
	return err
}
