package db

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

// cleanUpEvery is how often what has expired is removed.
const cleanUpEvery = time.Hour

// cleanUp removes what has expired, at the start and then every hour, until ctx ends.
func (d *DB) cleanUp(ctx context.Context) {
	ticker := time.NewTicker(cleanUpEvery)
	defer ticker.Stop()
	for {
		if err := d.removeExpired(ctx, time.Now()); err != nil && ctx.Err() == nil {
			slog.Warn("what has expired could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// removeExpired removes old answers, ended sessions, PINs and links nobody used. Tokens and shares
// stay: people want to see whom they once let in.
func (d *DB) removeExpired(ctx context.Context, now time.Time) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM idempotency_keys WHERE created_at < $1`, now.Add(-doneKept))
	batch.Queue(`DELETE FROM sessions WHERE expires_at < $1`, now)
	batch.Queue(`DELETE FROM pins WHERE last_used < $1`, now.Add(-account.SessionLife))
	batch.Queue(`DELETE FROM links WHERE kind = 'sign_in' AND expires_at < $1`, now)
	return d.pool.SendBatch(ctx, batch).Close()
}
