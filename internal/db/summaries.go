package db

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// Summaries lists studies, newest change first: one read of the studies' rows, of a page as many as
// it has.
func (s *Studies) Summaries(ctx context.Context, wanted study.Listing) ([]ledger.Summary, error) {
	before, id := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, ""
	if wanted.After != nil {
		before, id = pgtype.Timestamptz{Time: wanted.After.UpdatedAt, Valid: true}, wanted.After.ID
	}
	ends := map[string]study.Known{}
	vouch := s.db.voucher(ctx)
	found, err := list(ctx, s.db.in(ctx), func(row pgx.CollectableRow) (ledger.Summary, error) {
		var one ledger.Summary
		var hash string
		err := row.Scan(&one.ID, &one.Name, &one.State, &one.Algorithm, &one.Version, &one.CreatedAt, &one.UpdatedAt,
			&one.Trials, &one.Waiting, &one.OldestWaiting, &one.Feasible, &one.Known, &one.Best, &one.Limits, &one.SimulatedLab, &hash)
		ends[one.ID] = study.Known{Version: one.Version, Hash: hash}
		return one, err
	}, listStudies, before, id, wanted.Only, wanted.States, wanted.Limit)
	if err == nil {
		err = vouch(ends)
	}
	return found, err
}

const listStudies = `
	SELECT id, name, state, algorithm, version, created_at, updated_at, coalesce(trials, 0), waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, hash
	FROM studies
	WHERE (updated_at, id) < ($1, $2) AND ($3::text[] IS NULL OR id = ANY ($3)) AND ($4::text[] IS NULL OR state = ANY ($4))
	ORDER BY updated_at DESC, id DESC LIMIT nullif($5::bigint, 0)`

// count works out from the ledgers what stands on the rows of studies, where a migration left it
// open. A ledger that cannot be folded leaves its study uncounted, and the server starts.
func (s *Studies) count(ctx context.Context) error {
	ids, err := list(ctx, s.db.in(ctx), pgx.RowTo[string], `SELECT id FROM studies WHERE trials IS NULL ORDER BY id`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		events, err := s.Events(ctx, id, 0, 0)
		if err != nil {
			return err
		}
		now, err := ledger.Summarise(id, events)
		if err != nil {
			slog.Error("the trials of a study cannot be counted", "study", id, "error", err)
			continue
		}
		// A server that wrote to the study meanwhile has counted it.
		if _, err := s.db.in(ctx).Exec(ctx, `
			UPDATE studies SET trials = $3, waiting = $4, oldest_waiting = $5, feasible = $6, known = $7, best = $8
			WHERE id = $1 AND version = $2`,
			id, now.Version, now.Trials, now.Waiting, now.OldestWaiting, now.Feasible, now.Known, now.Best); err != nil {
			return away(ctx, err)
		}
	}
	return nil
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
