package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

// Accounts is the account.Store, which says what its methods do. They take part in the transaction
// of DB.Once when their context comes from there.
type Accounts struct {
	db *DB
}

// usedToWithin is how exactly last uses are kept, so that not every request writes.
const usedToWithin = time.Minute

// Authenticate recognises a token, session or share by its secret, and takes note of the use.
func (a *Accounts) Authenticate(ctx context.Context, secret string) (account.Identity, error) {
	var who account.Identity
	var expires, used *time.Time
	var ended bool
	err := a.db.in(ctx).QueryRow(ctx, `
		SELECT 'token', id, '', coalesce(owner, ''), name, role, coalesce(study_id, ''), expires_at, last_used, revoked_at IS NOT NULL, false FROM tokens WHERE hash = $1
		UNION ALL
		SELECT 'session', s.id, p.id, p.id, p.name, p.role, '', s.expires_at, s.last_seen, p.disabled_at IS NOT NULL, s.by_pin
			FROM sessions s JOIN people p ON p.id = s.person_id WHERE s.hash = $1
		UNION ALL
		SELECT 'share', id, '', coalesce(owner, ''), name, 'viewer', study_id, expires_at, last_used, revoked_at IS NOT NULL, false FROM shares WHERE hash = $1`,
		account.Hash(secret),
	).Scan(&who.Kind, &who.ID, &who.PersonID, &who.OwnerID, &who.Name, &who.Role, &who.StudyID, &expires, &used, &ended, &who.ByPIN)
	now := a.db.now()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return account.Identity{}, account.ErrNoCredentials
	case err != nil:
		return account.Identity{}, unavailable(ctx, err)
	case ended || (expires != nil && !expires.After(now)):
		return account.Identity{}, account.ErrExpired
	}
	if used == nil || used.Before(now.Add(-usedToWithin)) {
		if err := a.noteUse(ctx, who, now); err != nil {
			return account.Identity{}, err
		}
	}
	if expires != nil {
		who.ExpiresAt = *expires
	}
	if who.ByPIN {
		who.Role = account.RoleByPIN(who.Role)
	}
	return who, nil
}

// noteUse keeps when a credential was last used; a session's use prolongs it. That need not outlive
// a crash, so its commit waits neither for the disk nor for a standby.
func (a *Accounts) noteUse(ctx context.Context, who account.Identity, now time.Time) error {
	const hurry = ` FROM (SELECT set_config('synchronous_commit', 'off', true)) AS hurry`
	q := a.db.pool // in no transaction that something else is stored in
	var err error
	switch who.Kind {
	case account.ByToken:
		_, err = q.Exec(ctx, `UPDATE tokens SET last_used = $2`+hurry+` WHERE id = $1`, who.ID, now)
	case account.ByShare:
		_, err = q.Exec(ctx, `UPDATE shares SET last_used = $2`+hurry+` WHERE id = $1`, who.ID, now)
	case account.BySession:
		_, err = q.Exec(ctx, `UPDATE sessions SET last_seen = $2, expires_at = least($3, created_at + $4)`+hurry+` WHERE id = $1`,
			who.ID, now, now.Add(account.SessionIdleLife), account.SessionLife)
	}
	return unavailable(ctx, err)
}

// change runs a write and tells whoever serves a long answer to look at its caller again. Unlike
// those of studies these notifications are part of the transaction: changes of accounts are rare.
func (a *Accounts) change(ctx context.Context, do func(tx pgx.Tx) error) error {
	return a.db.transact(ctx, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `SELECT pg_notify($1, '')`, accountChannel)
		return err
	})
}

// changeOne is change by one statement, which must find a row.
func (a *Accounts) changeOne(ctx context.Context, statement string, args ...any) error {
	return a.change(ctx, func(tx pgx.Tx) error {
		return changeRow(ctx, tx, statement, args...)
	})
}

// giving makes a credential by somebody and returns its secret, of which make stores the hash,
// unless they have just lost the right to: what takes it waits for what is being given, and the
// other way round.
func (a *Accounts) giving(ctx context.Context, by account.Identity, make func(tx pgx.Tx, hash []byte) error) (secret string, err error) {
	secret = account.NewSecret()
	err = a.db.transact(ctx, func(tx pgx.Tx) error {
		if err := alone(ctx, tx); err != nil {
			return err
		}
		if by.OwnerID != "" {
			owner, err := a.person(ctx, tx, by.OwnerID)
			if errors.Is(err, account.ErrNotFound) || err == nil && !owner.Role.Includes(by.Role) {
				return account.ErrExpired
			}
			if err != nil {
				return err
			}
		}
		return make(tx, account.Hash(secret))
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// alone makes transactions that change who may do what wait for one another.
func alone(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('headroom accounts'))`)
	return err
}
