package db

import (
	"context"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

const selectLinks = `
	SELECT id, kind, coalesce(person_id, '') AS person_id, name, role, by, created_at, expires_at, used_at, revoked_at FROM links`

func (a *Accounts) CreateSignInLink(ctx context.Context, by account.Identity, personID string) (account.Link, string, error) {
	person, err := a.person(ctx, a.db.in(ctx), personID)
	if err != nil {
		return account.Link{}, "", err
	}
	now := a.db.now()
	return a.addLink(ctx, by, account.Link{
		ID: account.NewID(), Kind: account.SignIn, PersonID: person.ID, Name: person.Name, Role: person.Role,
		By: by.By(), CreatedAt: now, ExpiresAt: now.Add(account.SignInLinkLife),
	})
}

// CreateInvite makes a link that makes a person.
func (a *Accounts) CreateInvite(ctx context.Context, by account.Identity, want account.NewInvite) (account.Link, string, error) {
	now := a.db.now()
	if err := want.Check(now); err != nil {
		return account.Link{}, "", err
	}
	if err := a.nameIsFree(ctx, want.Name); err != nil {
		return account.Link{}, "", err
	}
	expires := now.Add(account.InviteLife)
	if want.ExpiresAt != nil {
		expires = want.ExpiresAt.UTC()
	}
	return a.addLink(ctx, by, account.Link{
		ID: account.NewID(), Kind: account.Invite, Name: want.Name, Role: want.Role, By: by.By(), CreatedAt: now, ExpiresAt: expires,
	})
}

func (a *Accounts) addLink(ctx context.Context, by account.Identity, l account.Link) (account.Link, string, error) {
	secret, err := a.giving(ctx, by, func(tx pgx.Tx, hash []byte) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO links (id, hash, kind, person_id, name, role, by, created_at, expires_at, owner)
			VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, $9, nullif($10, ''))`,
			l.ID, hash, l.Kind, l.PersonID, l.Name, l.Role, l.By, l.CreatedAt, l.ExpiresAt, by.OwnerID)
		return err
	})
	return l, secret, err
}

func (a *Accounts) Invites(ctx context.Context) ([]account.Link, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Link], selectLinks+` WHERE kind = 'invite' ORDER BY created_at DESC, id`)
}

// RevokeInvite ends an invite that nobody has used.
func (a *Accounts) RevokeInvite(ctx context.Context, id string) error {
	return a.changeOne(ctx, `
		UPDATE links SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 AND kind = 'invite' AND used_at IS NULL`, id, a.db.now())
}

func (a *Accounts) Look(ctx context.Context, secret string) (account.Link, error) {
	return a.usable(ctx, a.db.in(ctx), secret, "")
}

// usable finds the link of a secret and checks that it can be used. lock is "" or FOR UPDATE.
func (a *Accounts) usable(ctx context.Context, q querier, secret, lock string) (account.Link, error) {
	found, err := list(ctx, q, pgx.RowToStructByName[account.Link], selectLinks+` WHERE hash = $1 `+lock, account.Hash(secret))
	switch {
	case err != nil:
		return account.Link{}, err
	case len(found) == 0:
		return account.Link{}, account.ErrNoCredentials
	case found[0].UsedAt != nil:
		return account.Link{}, account.ErrUsed
	case found[0].RevokedAt != nil || !found[0].ExpiresAt.After(a.db.now()):
		return account.Link{}, account.ErrExpired
	}
	return found[0], nil
}

func (a *Accounts) Redeem(ctx context.Context, secret, device string) (account.Session, string, error) {
	var session account.Session
	var sessionSecret string
	err := a.db.transact(ctx, func(tx pgx.Tx) error {
		link, err := a.usable(ctx, tx, secret, "FOR UPDATE")
		if err != nil {
			return err
		}
		person, err := a.personOf(ctx, tx, link)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE links SET used_at = $2, person_id = $3 WHERE id = $1`, link.ID, a.db.now(), person.ID); err != nil {
			return err
		}
		session, sessionSecret, err = a.addSession(ctx, tx, person, device, false)
		return err
	})
	return session, sessionSecret, err
}

// personOf finds the person whom a link signs in, or makes the one it invites.
func (a *Accounts) personOf(ctx context.Context, tx pgx.Tx, link account.Link) (account.Person, error) {
	if link.Kind == account.Invite {
		return a.addPerson(ctx, tx, link.Name, link.Role)
	}
	return a.person(ctx, tx, link.PersonID)
}
