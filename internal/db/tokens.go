package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

// adminTokenID is the row of the token that comes from the environment or the data folder. There is one, so a new
// secret there ends the old one.
const adminTokenID = "admin"

// CreateToken makes a token for a script.
func (a *Accounts) CreateToken(ctx context.Context, by account.Identity, want account.NewToken) (account.Token, string, error) {
	now := a.db.now()
	if err := want.Check(now); err != nil {
		return account.Token{}, "", err
	}
	token := account.Token{
		ID: account.NewID(), Name: want.Name, Role: want.Role, StudyID: want.StudyID, By: by.By(), CreatedAt: now, ExpiresAt: utc(want.ExpiresAt),
	}
	secret := account.NewSecret()
	_, err := a.db.in(ctx).Exec(ctx, `
		INSERT INTO tokens (id, hash, name, role, study_id, by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8)`,
		token.ID, account.Hash(secret), token.Name, token.Role, token.StudyID, token.By, token.CreatedAt, token.ExpiresAt)
	if constraintOf(err) == "tokens_study_id_fkey" {
		return account.Token{}, "", &account.Invalid{Field: "study_id", Message: "there is no such study"}
	}
	if err != nil {
		return account.Token{}, "", away(ctx, err)
	}
	return token, secret, nil
}

// Tokens lists all tokens, newest first.
func (a *Accounts) Tokens(ctx context.Context) ([]account.Token, error) {
	return list(ctx, a.db.in(ctx), scanToken, `
		SELECT id, name, role, coalesce(study_id, ''), by, created_at, expires_at, last_used, revoked_at
		FROM tokens ORDER BY created_at DESC, id`)
}

func scanToken(row pgx.CollectableRow) (account.Token, error) {
	var t account.Token
	err := row.Scan(&t.ID, &t.Name, &t.Role, &t.StudyID, &t.By, &t.CreatedAt, &t.ExpiresAt, &t.LastUsed, &t.RevokedAt)
	t.CreatedAt, t.ExpiresAt, t.LastUsed, t.RevokedAt = t.CreatedAt.UTC(), utc(t.ExpiresAt), utc(t.LastUsed), utc(t.RevokedAt)
	return t, err
}

// RevokeToken ends a token at once.
func (a *Accounts) RevokeToken(ctx context.Context, id string) error {
	return a.changeOne(ctx, `UPDATE tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1`, id, a.db.now())
}

// EnsureAdmin makes secret the admin token, and makes a first person with the role admin when there is none. It returns the
// person who was admin first. Starting the program is the right to be admin: who can do that owns the database.
func (a *Accounts) EnsureAdmin(ctx context.Context, secret string) (account.Person, error) {
	var first account.Person
	err := a.change(ctx, func(tx pgx.Tx) error {
		// Servers that start together wait here for one another.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('headroom accounts'))`); err != nil {
			return err
		}
		if err := a.setAdminToken(ctx, tx, secret); err != nil {
			return err
		}
		var err error
		if first, err = firstAdmin(ctx, tx); errors.Is(err, account.ErrNotFound) {
			first, err = a.addPerson(ctx, tx, "Admin", account.Admin)
		}
		return err
	})
	return first, err
}

// FirstAdmin returns the person who was admin first, or ErrNotFound.
func (a *Accounts) FirstAdmin(ctx context.Context) (account.Person, error) {
	return firstAdmin(ctx, a.db.in(ctx))
}

func firstAdmin(ctx context.Context, q querier) (account.Person, error) {
	return onePerson(ctx, q, `WHERE role = 'admin' AND disabled_at IS NULL ORDER BY created_at, id LIMIT 1`)
}

func (a *Accounts) setAdminToken(ctx context.Context, tx pgx.Tx, secret string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO tokens (id, hash, name, role, by, created_at) VALUES ($1, $2, 'admin', 'admin', 'the server', $3)
		ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, revoked_at = NULL`, adminTokenID, account.Hash(secret), a.db.now())
	if constraintOf(err) == "tokens_hash_key" {
		return errors.New("HEADROOM_ADMIN_TOKEN is the secret of another token: choose a new one")
	}
	if err != nil {
		return fmt.Errorf("storing the admin token: %w", err)
	}
	return nil
}
