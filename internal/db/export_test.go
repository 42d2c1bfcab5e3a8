package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Open is Up of a database that must have been migrated.
func Open(ctx context.Context, url string) (*DB, error) { return newFence("").open(ctx, url) }

// Pool lets tests look at the tables.
func (d *DB) Pool() *pgxpool.Pool { return d.pool }

// ListStudies and SelectPeople are the statements that list them.
const (
	ListStudies  = listStudies
	SelectPeople = selectPeople
)

// Connections is how many connections reading and writing, and holding choosing locks, may open.
func (d *DB) Connections() (general, choosing int32) {
	return d.pool.Config().MaxConns, d.Studies.locks.Config().MaxConns
}

// ChoosingLease is after how long of silence a server loses a study that it chooses for.
const ChoosingLease = choosingLease

// ConfirmTime is how long a client waits for a commit.
const ConfirmTime = confirmLimit

// SetClock sets the time that expiries are measured against.
func (d *DB) SetClock(now func() time.Time) { d.now = now }

// StopBackground ends the listener, the notifier and the cleaner, as if the program had died after
// a commit.
func (d *DB) StopBackground() {
	d.stop()
	d.background.Wait()
}

// RemoveExpired runs the cleaner once, as if it were now.
func (d *DB) RemoveExpired(ctx context.Context, now time.Time) error {
	return d.removeExpired(ctx, now)
}

// CheckLedgers checks every study's ledger, as it is checked before a backup is restored.
func (d *DB) CheckLedgers(ctx context.Context) error {
	return d.transact(ctx, func(tx pgx.Tx) error { return damagedError(checkLedgers(ctx, tx)) })
}

// BoundedRows keeps so many bytes of rows.
func (d *DB) BoundedRows(most int64) *KeptRows { return &KeptRows{d, most} }
