package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

// givenTokenID is the row of the admin token that servers are given. There is one, so that a new secret ends the old one; those that servers
// made and keep in their data folders have rows of their own.
const givenTokenID = "admin"

// theServer is who made admin tokens.
const theServer = "the server"

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
	err := a.db.exec(ctx, `
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

// EnsureAdmin makes a first person with the role admin when there is none, and returns the person who was admin first. Starting the program is
// the right to be admin: who can do that owns the database.
func (a *Accounts) EnsureAdmin(ctx context.Context) (account.Person, error) {
	var first account.Person
	err := a.startup(ctx, func(tx pgx.Tx) (err error) {
		if first, err = firstAdmin(ctx, tx); errors.Is(err, account.ErrNotFound) {
			first, err = a.addPerson(ctx, tx, "Admin", account.Admin)
		}
		return err
	})
	return first, err
}

// AdmitServer makes secret an admin token: the one that servers are given, which ends the one given before, or one that a server keeps for itself.
// What was ended stays so, which is account.ErrExpired.
func (a *Accounts) AdmitServer(ctx context.Context, secret string, given bool) error {
	hash := account.Hash(secret)
	return a.startup(ctx, func(tx pgx.Tx) error {
		if given {
			_, err := tx.Exec(ctx, `UPDATE tokens SET id = $3, revoked_at = coalesce(revoked_at, $4) WHERE id = $1 AND hash <> $2`, givenTokenID, hash, account.NewID(), a.db.now())
			if err != nil {
				return err
			}
		}
		var admits, ended bool
		err := tx.QueryRow(ctx, `SELECT role = 'admin' AND by = $2, revoked_at IS NOT NULL FROM tokens WHERE hash = $1`, hash, theServer).Scan(&admits, &ended)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return a.addAdminToken(ctx, tx, hash, given)
		case err != nil:
			return err
		case !admits:
			return errors.New("the admin token's secret is that of another token: choose a new one")
		case ended:
			return account.ErrExpired
		}
		return nil
	})
}

func (a *Accounts) addAdminToken(ctx context.Context, tx pgx.Tx, hash []byte, given bool) error {
	id := account.NewID()
	if given {
		id = givenTokenID
	}
	_, err := tx.Exec(ctx, `INSERT INTO tokens (id, hash, name, role, by, created_at) VALUES ($1, $2, 'admin', 'admin', $3, $4)`, id, hash, theServer, a.db.now())
	return err
}

// startup is change for servers that start together: one waits for another.
func (a *Accounts) startup(ctx context.Context, do func(tx pgx.Tx) error) error {
	return a.change(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('headroom accounts'))`); err != nil {
			return err
		}
		return do(tx)
	})
}

// FirstAdmin returns the person who was admin first, or ErrNotFound.
func (a *Accounts) FirstAdmin(ctx context.Context) (account.Person, error) {
	return firstAdmin(ctx, a.db.in(ctx))
}

func firstAdmin(ctx context.Context, q querier) (account.Person, error) {
	return onePerson(ctx, q, `WHERE role = 'admin' AND disabled_at IS NULL ORDER BY created_at, id LIMIT 1`)
}
