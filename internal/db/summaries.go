package db

import (
	"context"

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
	SELECT id, name, state, algorithm, version, created_at, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, hash
	FROM studies
	WHERE (updated_at, id) < ($1, $2) AND ($3::text[] IS NULL OR id = ANY ($3)) AND ($4::text[] IS NULL OR state = ANY ($4))
	ORDER BY updated_at DESC, id DESC LIMIT nullif($5::bigint, 0)`
