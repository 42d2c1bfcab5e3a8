package db

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
)

const selectPeople = `
	SELECT id, name, role, created_at, (SELECT max(last_seen) FROM sessions WHERE person_id = people.id) AS last_seen, disabled_at,
		ARRAY(SELECT name FROM tokens WHERE owner = people.id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) ORDER BY lower(name)) AS tokens,
		ARRAY(SELECT name FROM links WHERE owner = people.id AND used_at IS NULL AND revoked_at IS NULL AND expires_at > now() ORDER BY lower(name)) AS links,
		ARRAY(SELECT name FROM shares WHERE owner = people.id AND revoked_at IS NULL AND expires_at > now() ORDER BY lower(name)) AS shares
	FROM people`

func (a *Accounts) People(ctx context.Context) ([]account.Person, error) {
	return list(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Person], selectPeople+` ORDER BY lower(name)`)
}

// person finds somebody who may sign in.
func (a *Accounts) person(ctx context.Context, q querier, id string) (account.Person, error) {
	return onePerson(ctx, q, `WHERE id = $1 AND disabled_at IS NULL`, id)
}

// onePerson finds the one person whom a condition names, or ErrNotFound.
func onePerson(ctx context.Context, q querier, condition string, args ...any) (account.Person, error) {
	found, err := list(ctx, q, pgx.RowToStructByName[account.Person], selectPeople+" "+condition, args...)
	if err == nil && len(found) == 0 {
		err = account.ErrNotFound
	}
	if err != nil {
		return account.Person{}, err
	}
	return found[0], nil
}

func (a *Accounts) addPerson(ctx context.Context, q querier, name string, role account.Role) (account.Person, error) {
	p := account.Person{ID: account.NewID(), Name: name, Role: role, CreatedAt: a.db.now()}
	_, err := q.Exec(ctx, `INSERT INTO people (id, name, role, created_at) VALUES ($1, $2, $3, $4)`, p.ID, p.Name, p.Role, p.CreatedAt)
	if pgError(err).ConstraintName == "people_by_name" {
		return p, account.ErrNameTaken
	}
	return p, err
}

// SetRole changes what a person may do, from their next request on.
func (a *Accounts) SetRole(ctx context.Context, personID string, role account.Role) error {
	if err := account.CheckRole(role); err != nil {
		return err
	}
	return a.changeAlone(ctx, func(tx pgx.Tx) error {
		if role != account.Admin {
			if err := a.keepAnAdmin(ctx, tx, personID); err != nil {
				return err
			}
			if err := a.takeBack(ctx, tx, personID, account.Roles[slices.Index(account.Roles, role)+1:]); err != nil {
				return err
			}
		}
		return changeRow(ctx, tx, `UPDATE people SET role = $2 WHERE id = $1`, personID, role)
	})
}

// takeBack ends what a person gave out: unused links, and tokens with one of the roles.
func (a *Accounts) takeBack(ctx context.Context, tx pgx.Tx, personID string, roles []account.Role) error {
	if _, err := tx.Exec(ctx, `UPDATE tokens SET revoked_at = $2 WHERE owner = $1 AND revoked_at IS NULL AND role = ANY ($3)`, personID, a.db.now(), roles); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE links SET revoked_at = $2 WHERE owner = $1 AND used_at IS NULL AND revoked_at IS NULL`, personID, a.db.now())
	return err
}

// SetDisabled shuts a person out and ends their sessions, links and all that they gave out, or lets
// them be invited in again by a sign-in link.
func (a *Accounts) SetDisabled(ctx context.Context, personID string, disabled bool) error {
	return a.changeAlone(ctx, func(tx pgx.Tx) error {
		if !disabled {
			return changeRow(ctx, tx, `UPDATE people SET disabled_at = NULL WHERE id = $1`, personID)
		}
		if err := a.keepAnAdmin(ctx, tx, personID); err != nil {
			return err
		}
		now := a.db.now()
		if err := changeRow(ctx, tx, `UPDATE people SET disabled_at = coalesce(disabled_at, $2) WHERE id = $1`, personID, now); err != nil {
			return err
		}
		if err := a.takeBack(ctx, tx, personID, account.Roles); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE links SET revoked_at = $2 WHERE person_id = $1 AND used_at IS NULL AND revoked_at IS NULL`, personID, now)
		batch.Queue(`UPDATE shares SET revoked_at = $2 WHERE owner = $1 AND revoked_at IS NULL`, personID, now)
		batch.Queue(`DELETE FROM pins WHERE person_id = $1`, personID)
		batch.Queue(`DELETE FROM sessions WHERE person_id = $1`, personID)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// changeRow runs a statement that must find a row.
func changeRow(ctx context.Context, tx pgx.Tx, statement string, args ...any) error {
	tag, err := tx.Exec(ctx, statement, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return account.ErrNotFound
	}
	return err
}

// keepAnAdmin locks the admins' rows and makes sure that somebody else than this person is one.
func (a *Accounts) keepAnAdmin(ctx context.Context, tx pgx.Tx, personID string) error {
	admins, err := list(ctx, tx, pgx.RowTo[string], `
		SELECT id FROM people WHERE role = 'admin' AND disabled_at IS NULL ORDER BY id FOR UPDATE`)
	if err != nil {
		return err
	}
	if len(admins) == 1 && admins[0] == personID {
		return account.ErrLastAdmin
	}
	return nil
}

// nameIsFree makes sure that nobody has the name.
func (a *Accounts) nameIsFree(ctx context.Context, name string) error {
	var taken bool
	err := a.db.in(ctx).QueryRow(ctx, `SELECT EXISTS (SELECT FROM people WHERE lower(name) = lower($1))`, name).Scan(&taken)
	if err == nil && taken {
		err = account.ErrNameTaken
	}
	return unavailable(ctx, err)
}
