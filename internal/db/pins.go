package db

import (
	"context"
	"crypto/subtle"
	"errors"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

func (a *Accounts) SetPIN(ctx context.Context, personID, device, pin, browser string) error {
	if err := account.CheckPIN(pin); err != nil {
		return err
	}
	derived, err := account.DerivePIN(pin, device, personID)
	if err != nil {
		return err
	}
	return a.changePINs(ctx, `
		INSERT INTO pins (device, person_id, derived, browser, last_used) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (device, person_id) DO UPDATE SET derived = $3, browser = $4, wrong = 0, last_used = $5`,
		account.Hash(device), personID, derived, printable(browser), a.db.now())
}

func (a *Accounts) ForgetPINs(ctx context.Context, personID string) error {
	return a.changePINs(ctx, `DELETE FROM pins WHERE person_id = $1`, personID)
}

// changePINs is a write that ends nobody's session, so that no listener hears of it.
func (a *Accounts) changePINs(ctx context.Context, statement string, args ...any) error {
	return a.db.transact(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}

// PINs lists where a person can come back, the last used first.
func (a *Accounts) PINs(ctx context.Context, personID string) ([]account.PIN, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByPos[account.PIN], `
		SELECT browser, last_used FROM pins WHERE person_id = $1 AND last_used > $2 ORDER BY last_used DESC, device`, personID, a.db.now().Add(-account.SessionLife))
}

func (a *Accounts) OnDevice(ctx context.Context, device string) ([]account.OnDevice, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByPos[account.OnDevice], `
		SELECT p.id, p.name, greatest(0, $3 - wrong) FROM pins JOIN people p ON p.id = person_id
		WHERE device = $1 AND last_used > $2 AND disabled_at IS NULL ORDER BY lower(p.name)`,
		account.Hash(device), a.db.now().Add(-account.SessionLife), account.PINTries)
}

func (a *Accounts) ComeBack(ctx context.Context, personID, device, pin, browser, leaving string) (account.Session, string, error) {
	var derived []byte
	var wrong int
	err := a.db.in(ctx).QueryRow(ctx, `
		UPDATE pins SET wrong = wrong + 1 FROM people p
		WHERE device = $1 AND person_id = $2 AND p.id = $2 AND disabled_at IS NULL AND last_used > $3 AND wrong < $4
		RETURNING derived, wrong`, // each try counts before it is known to be right, so that many at once get no more
		account.Hash(device), personID, a.db.now().Add(-account.SessionLife), account.PINTries).Scan(&derived, &wrong)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return account.Session{}, "", &account.WrongPIN{}
	case err != nil:
		return account.Session{}, "", unavailable(ctx, err)
	}
	tried, err := account.DerivePIN(pin, device, personID)
	if err != nil {
		return account.Session{}, "", err
	}
	if subtle.ConstantTimeCompare(tried, derived) != 1 {
		return account.Session{}, "", &account.WrongPIN{Left: account.PINTries - wrong}
	}
	var session account.Session
	var secret string
	err = a.change(ctx, func(tx pgx.Tx) error {
		person, err := a.person(ctx, tx, personID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE pins SET wrong = 0, last_used = $3 WHERE device = $1 AND person_id = $2`, account.Hash(device), personID, a.db.now()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM sessions WHERE id = $1`, leaving); err != nil {
			return err
		}
		session, secret, err = a.addSession(ctx, tx, person, browser, true)
		return err
	})
	if errors.Is(err, account.ErrNotFound) {
		err = &account.WrongPIN{}
	}
	return session, secret, err
}
