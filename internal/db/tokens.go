package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

// givenTokenID is the row of the admin token that servers are given. There is one, so that a new
// secret ends the old one; those that servers made and keep in their data folders have rows of
// their own.
const givenTokenID = "admin"

// theServer is who made admin tokens.
const theServer = "the server"

func (a *Accounts) CreateToken(ctx context.Context, by account.Identity, want account.NewToken) (account.Token, string, error) {
	now := a.db.now()
	if err := want.Check(now); err != nil {
		return account.Token{}, "", err
	}
	token := account.Token{
		ID: account.NewID(), Name: want.Name, Role: want.Role, StudyID: want.StudyID, By: by.By(), CreatedAt: now,
	}
	if want.ExpiresAt != nil {
		token.ExpiresAt = new(want.ExpiresAt.UTC())
	}
	secret, err := a.giving(ctx, by, func(tx pgx.Tx, hash []byte) error {
		if err := tokenNameIsFree(ctx, tx, by.OwnerID, want.Name, now); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO tokens (id, hash, name, role, study_id, by, created_at, expires_at, owner)
			VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, nullif($9, ''))`,
			token.ID, hash, token.Name, token.Role, token.StudyID, token.By, token.CreatedAt, token.ExpiresAt, by.OwnerID)
		return err
	})
	if pgError(err).ConstraintName == "tokens_study_id_fkey" {
		err = &account.Invalid{Field: "study_id", Message: "there is no such study"}
	}
	return token, secret, err
}

// tokenNameIsFree makes sure that no token of the owner that is in force has the name: the ledger
// names its callers by it.
func tokenNameIsFree(ctx context.Context, tx pgx.Tx, owner, name string, now time.Time) error {
	var taken bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM tokens WHERE coalesce(owner, '') = $1 AND lower(name) = lower($2)
		AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3))`, owner, name, now).Scan(&taken)
	if err == nil && taken {
		err = &account.Invalid{Field: "name", Message: "a token of yours has that name: choose another, or revoke that one first"}
	}
	return err
}

func (a *Accounts) Tokens(ctx context.Context) ([]account.Token, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Token], `
		SELECT id, name, role, coalesce(study_id, '') AS study_id, by, created_at, expires_at, last_used, revoked_at
		FROM tokens ORDER BY created_at DESC, id`)
}

// RevokeToken ends a token at once.
func (a *Accounts) RevokeToken(ctx context.Context, id string) error {
	return a.changeOne(ctx, `UPDATE tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1`, id, a.db.now())
}

// EnsureAdmin makes a first person with the role admin when there is none, and returns the person
// who was admin first. Starting the program is the right to be admin: who can do that owns the
// database.
func (a *Accounts) EnsureAdmin(ctx context.Context) (account.Person, error) {
	var first account.Person
	err := a.changeAlone(ctx, func(tx pgx.Tx) (err error) {
		if first, err = firstAdmin(ctx, tx); errors.Is(err, account.ErrNotFound) {
			first, err = a.addPerson(ctx, tx, "Admin", account.Admin)
		}
		return err
	})
	return first, err
}

// AdmitServer makes secret an admin token: the one that servers are given, which ends the one given
// before, or one that a server keeps for itself. What was ended stays so, which is
// account.ErrExpired.
func (a *Accounts) AdmitServer(ctx context.Context, secret string, given bool) error {
	hash := account.Hash(secret)
	return a.changeAlone(ctx, func(tx pgx.Tx) error {
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

// changeAlone is change by one after another, as of servers that start together.
func (a *Accounts) changeAlone(ctx context.Context, do func(tx pgx.Tx) error) error {
	return a.change(ctx, func(tx pgx.Tx) error {
		if err := alone(ctx, tx); err != nil {
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
