package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

func (s *Studies) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	var exists bool
	var found []ledger.Event
	batch := &pgx.Batch{}
	batch.Queue(`SELECT true FROM studies WHERE id = $1`, id).QueryRow(func(row pgx.Row) error { return row.Scan(&exists) })
	queueEvents(batch, id, after, limit, &found)
	vouch := s.db.voucher(ctx)
	results := s.db.in(ctx).SendBatch(ctx, batch)
	if err := results.Close(); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, unavailable(ctx, err)
	}
	if !exists {
		return nil, noStudy(id)
	}
	if len(found) == 0 {
		return nil, nil
	}
	last := found[len(found)-1]
	return found, vouch(map[string]study.Known{id: {Version: last.Seq, Hash: last.Hash}})
}

// queueEvents reads the events with after < seq into found, at most limit (0 = all), in order.
func queueEvents(batch *pgx.Batch, id string, after int64, limit int, found *[]ledger.Event) {
	batch.Queue(`
		SELECT seq, at, by, kind, data, hash, author FROM events
		WHERE study_id = $1 AND seq > $2 ORDER BY seq LIMIT nullif($3::bigint, 0)`, id, after, limit,
	).Query(func(rows pgx.Rows) (err error) {
		*found, err = pgx.CollectRows(rows, scanEvent)
		return err
	})
}

func scanEvent(row pgx.CollectableRow) (ledger.Event, error) {
	var e ledger.Event
	err := row.Scan(&e.Seq, &e.At, &e.By, &e.Kind, (*[]byte)(&e.Data), &e.Hash, &e.Author)
	return e, err
}

// CheckLedger reads a study's ledger back and checks it from the first event to the last.
func (s *Studies) CheckLedger(ctx context.Context, id string) error {
	events, err := s.Events(ctx, id, 0, 0)
	if err != nil {
		return err
	}
	if err := ledger.CheckChain(events); err != nil {
		return fmt.Errorf("study %s: %w", id, err)
	}
	version, err := s.Version(ctx, id)
	if err == nil && version != int64(len(events)) {
		err = fmt.Errorf("study %s: is at version %d, but its ledger has %d events", id, version, len(events))
	}
	return err
}

// CheckLedgers checks every study's ledger from its first event to its last.
func (d *DB) CheckLedgers(ctx context.Context) (checked int, err error) {
	ids, err := list(ctx, d.in(ctx), pgx.RowTo[string], `SELECT id FROM studies ORDER BY id`)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := d.Studies.CheckLedger(ctx, id); err != nil {
			return checked, err
		}
		checked++
	}
	return checked, nil
}
