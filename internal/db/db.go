// Package db keeps studies and accounts in PostgreSQL: one file per entity, its SQL beside its only caller.
package db

import (
	"context"

	"headroom/internal/study"
)

// DB is an open database with the background work that belongs to it: a listener, a notifier, a cleaner.
// Studies is the study.Store, Accounts the account.Store.
type DB struct{}

// Open connects to the database at url, which must have been migrated, and starts the background work.
func Open(ctx context.Context, url string) (*DB, error) { panic("unwritten") }

// Close ends the background work and closes every connection.
func (d *DB) Close() { panic("unwritten") }

// Ready reports whether the database answers and has this program's schema.
func (d *DB) Ready(ctx context.Context) error { panic("unwritten") }

// Subscribe returns a channel that receives the study's newest seq after each change, or 0 after the listener
// reconnected ("look for yourself"). Values not yet taken are replaced by newer ones. Call cancel when done.
func (d *DB) Subscribe(studyID string) (changes <-chan int64, cancel func()) { panic("unwritten") }

// SubscribeAccounts returns a channel that is poked whenever a person, token, session or share changed, so that whoever
// serves a long answer can authenticate its caller again.
func (d *DB) SubscribeAccounts() (pokes <-chan struct{}, cancel func()) { panic("unwritten") }

// Once runs do at most once for a retry key, for writes that are not a study's (those pass Retry in study.Command): do's
// writes through Accounts with the ctx it is given and the answer it returns commit together. The answer is stored without
// secrets; do hands those to its caller by other means. Errors: *study.AlreadyAnswered, study.ErrReused, or do's own.
// Without a retry key (nil) do's writes still commit together.
func (d *DB) Once(ctx context.Context, retry *study.Retry, do func(ctx context.Context) (study.Answer, error)) error {
	panic("unwritten")
}

// Answered returns *study.AlreadyAnswered when the request was answered before, study.ErrReused when its key was used for
// another, else nil. Ask it before checking a request against the present state, which may have moved on
// since the first answer.
func (d *DB) Answered(ctx context.Context, retry *study.Retry) error { panic("unwritten") }
