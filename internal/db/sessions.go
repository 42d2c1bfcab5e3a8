package db

import (
	"context"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

// longestDevice cuts what browsers say about themselves, in characters.
const longestDevice = 200

func (a *Accounts) addSession(ctx context.Context, tx pgx.Tx, person account.Person, device string, byPIN bool) (account.Session, string, error) {
	now := a.db.now()
	s := account.Session{
		ID: account.NewID(), PersonID: person.ID, Device: printable(device), CreatedAt: now, LastSeen: now, ExpiresAt: now.Add(account.SessionIdleLife),
	}
	secret := account.NewSecret()
	_, err := tx.Exec(ctx, `
		INSERT INTO sessions (id, hash, person_id, device, created_at, last_seen, expires_at, by_pin) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ID, account.Hash(secret), s.PersonID, s.Device, s.CreatedAt, s.LastSeen, s.ExpiresAt, byPIN)
	return s, secret, err
}

// printable makes a header that a stranger sent fit to be stored and shown.
func printable(header string) string {
	kept := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, header))
	return string(kept[:min(len(kept), longestDevice)])
}

func (a *Accounts) Sessions(ctx context.Context, personID string) ([]account.Session, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Session], `
		SELECT id, person_id, device, created_at, last_seen, expires_at FROM sessions
		WHERE person_id = $1 AND expires_at > $2 ORDER BY last_seen DESC, id`, personID, a.db.now())
}

// EndSession signs a browser out at once.
func (a *Accounts) EndSession(ctx context.Context, personID, id string) error {
	return a.changeOne(ctx, `DELETE FROM sessions WHERE person_id = $1 AND id = $2`, personID, id)
}
