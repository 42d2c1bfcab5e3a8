package db

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"headroom/internal/study"
)

// KeepVerified remembers how verifying a study ended, unless a later version has been verified
// already.
func (s *Studies) KeepVerified(ctx context.Context, id string, outcome study.Verified) error {
	text, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	_, err = s.db.in(ctx).Exec(ctx, `UPDATE studies SET verified = $2 WHERE id = $1 AND coalesce((verified ->> 'version')::bigint, 0) <= $3`, id, text, outcome.Version)
	return unavailable(ctx, err)
}

// Verified is how verifying a study ended last, nil if it was not verified yet.
func (s *Studies) Verified(ctx context.Context, id string) (*study.Verified, error) {
	var last *study.Verified
	err := s.db.in(ctx).QueryRow(ctx, `SELECT verified FROM studies WHERE id = $1`, id).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noStudy(id)
	}
	return last, unavailable(ctx, err)
}
