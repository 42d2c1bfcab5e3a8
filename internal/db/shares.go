package db

import (
	"context"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

func (a *Accounts) CreateShare(ctx context.Context, by account.Identity, want account.NewShare) (account.Share, string, error) {
	now := a.db.now()
	if err := want.Check(now); err != nil {
		return account.Share{}, "", err
	}
	share := account.Share{
		ID: account.NewID(), StudyID: want.StudyID, Name: want.Name, By: by.By(), CreatedAt: now, ExpiresAt: want.ExpiresAt.UTC(),
	}
	secret, err := a.giving(ctx, by, func(tx pgx.Tx, hash []byte) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO shares (id, hash, study_id, name, by, created_at, expires_at, owner) VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''))`,
			share.ID, hash, share.StudyID, share.Name, share.By, share.CreatedAt, share.ExpiresAt, by.OwnerID)
		return err
	})
	if pgError(err).ConstraintName == "shares_study_id_fkey" {
		err = account.ErrNotFound
	}
	return share, secret, err
}

func (a *Accounts) Shares(ctx context.Context, studyID string) ([]account.Share, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Share], `
		SELECT id, study_id, name, by, created_at, expires_at, last_used, revoked_at FROM shares
		WHERE study_id = $1 ORDER BY created_at DESC, id`, studyID)
}

// RevokeShare ends a link at once, for everybody who has it open.
func (a *Accounts) RevokeShare(ctx context.Context, studyID, id string) error {
	return a.changeOne(ctx, `UPDATE shares SET revoked_at = coalesce(revoked_at, $3) WHERE study_id = $1 AND id = $2`, studyID, id, a.db.now())
}
