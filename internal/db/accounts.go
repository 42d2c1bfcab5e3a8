package db

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

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
