package db

import (
	"cmp"
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

// Accounts is the account.Store, where its methods are described. They join the transaction of
// DB.Once if their context comes from there.
type Accounts struct {
	db *DB
}

// useResolution is the precision of times of last use, so that not every request writes.
const useResolution = time.Minute

// Authenticate identifies a token, session or share by its secret, and records its use.
func (a *Accounts) Authenticate(ctx context.Context, secret string) (account.Identity, error) {
	var who account.Identity
	var expires, used *time.Time
	var ended bool
	err := a.db.in(ctx).QueryRow(ctx, `
		SELECT kind, c.id, coalesce(p.id, ''), coalesce(owner, ''), coalesce(p.name, c.name), coalesce(p.role, c.role), coalesce(study_id, ''),
			expires_at, used_at, coalesce(revoked_at, disabled_at) IS NOT NULL, by_pin
		FROM credentials c LEFT JOIN people p ON p.id = person_id
		WHERE hash = $1 AND kind IN ('token', 'session', 'share')`,
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
	if used == nil || used.Before(now.Add(-useResolution)) {
		if err := a.noteUse(ctx, who.ID, now); err != nil && pgError(err).Code == "" { // a database that takes no writes can still be read
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

// noteUse records when a credential was last used and extends a session. That need not survive a
// crash, so its commit waits neither for the disk nor for a standby.
func (a *Accounts) noteUse(ctx context.Context, id string, now time.Time) error {
	_, err := a.db.pool.Exec(ctx, `
		UPDATE credentials SET used_at = $2, expires_at = CASE kind WHEN 'session' THEN least($3, created_at + $4) ELSE expires_at END
		FROM (SELECT set_config('synchronous_commit', 'off', true)) AS hurry WHERE id = $1`, // never in a transaction that stores anything else
		id, now, now.Add(account.SessionIdleLife), account.SessionLife)
	return unavailable(ctx, err)
}

// exclusively runs a write of accounts while no other runs on any server: permissions that it has
// read still hold when its result is stored.
func (a *Accounts) exclusively(ctx context.Context, do func(tx pgx.Tx) error) error {
	return a.db.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('headroom accounts'))`); err != nil {
			return err
		}
		return do(tx)
	})
}

// exclusivelyNotifying is alone for a write that may end somebody's access: it notifies those who
// serve long answers to authenticate their callers again. Unlike the notifications of studies these
// are sent within the transaction, since changes of accounts are rare.
func (a *Accounts) exclusivelyNotifying(ctx context.Context, do func(tx pgx.Tx) error) error {
	return a.exclusively(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_notify($1, '')`, accountChannel); err != nil {
			return err
		}
		return do(tx)
	})
}

func (a *Accounts) changeOne(ctx context.Context, statement string, args ...any) error {
	return a.exclusivelyNotifying(ctx, func(tx pgx.Tx) error {
		return changeRow(ctx, tx, statement, args...)
	})
}

type credential struct {
	kind          string
	name          string
	role          account.Role
	studyID       *string // nil = every study
	personID      string
	by            account.Identity
	expires, used *time.Time
	byPIN         bool
	secret        string
}

// The columns returned for each kind of credential.
const (
	tokenColumns   = `id, name, role, coalesce(study_id, '') AS study_id, by, created_at, expires_at, used_at AS last_used, revoked_at`
	sessionColumns = `id, person_id, name AS device, created_at, used_at AS last_seen, expires_at`
	linkColumns    = `id, kind, coalesce(person_id, '') AS person_id, name, role, by, created_at, expires_at, used_at, revoked_at`
	shareColumns   = `id, study_id, name, by, created_at, expires_at, used_at AS last_used, revoked_at`
)

// unspent holds for all credentials except links that were used, which work once.
const unspent = `(used_at IS NULL OR kind NOT IN ('sign_in', 'invite'))`

// inForce holds for credentials that are valid at $1.
const inForce = unspent + ` AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)`

func insert[T any](ctx context.Context, tx pgx.Tx, now time.Time, columns string, c credential) (made T, secret string, err error) {
	secret = cmp.Or(c.secret, account.NewSecret())
	stored, err := collect(ctx, tx, pgx.RowToStructByName[T], `
		INSERT INTO credentials (id, hash, kind, name, role, study_id, person_id, by, owner, created_at, expires_at, used_at, by_pin)
		VALUES ($1, $2, $3, $4, nullif($5, ''), $6, nullif($7, ''), $8, nullif($9, ''), $10, $11, $12, $13) RETURNING `+columns,
		account.NewID(), account.Hash(secret), c.kind, c.name, c.role, c.studyID, c.personID, c.by.By(), c.by.OwnerID, now, c.expires, c.used, c.byPIN)
	if err != nil {
		return made, "", err
	}
	return stored[0], secret, nil
}

// insertGiven is insert for a credential that is given to others.
func insertGiven[T any](ctx context.Context, a *Accounts, columns string, c credential) (made T, secret string, err error) {
	err = a.exclusively(ctx, func(tx pgx.Tx) error {
		if err := a.checkGiver(ctx, tx, &c); err != nil {
			return err
		}
		made, secret, err = insert[T](ctx, tx, a.db.now(), columns, c)
		return err
	})
	return made, secret, err
}

// checkGiver refuses a giver who has just lost the right to give the credential, a token whose name
// is taken, and a sign-in link for a person who may not sign in; for such a link it sets the
// person's name and role.
func (a *Accounts) checkGiver(ctx context.Context, tx pgx.Tx, c *credential) error {
	if c.by.ID != "" {
		has, err := collect(ctx, tx, pgx.RowTo[account.Role], `
			SELECT coalesce(p.role, c.role) FROM credentials c LEFT JOIN people p ON p.id = person_id WHERE c.id = $2 AND disabled_at IS NULL AND `+inForce, a.db.now(), c.by.ID)
		if err == nil && (len(has) == 0 || !has[0].Includes(c.by.Role)) {
			err = account.ErrExpired
		}
		if err != nil {
			return err
		}
	}
	switch c.kind {
	case "token": // names of an owner's valid tokens are unique, because the ledger uses them
		taken := &account.Invalid{Field: "name", Message: "a token of yours has that name: choose another, or revoke that one first"}
		return isFree(ctx, tx, c.name, taken, `SELECT name FROM credentials WHERE kind = 'token' AND coalesce(owner, '') = $2 AND `+inForce, a.db.now(), c.by.OwnerID)
	case string(account.SignIn):
		person, err := a.person(ctx, tx, c.personID)
		c.name, c.role = person.Name, person.Role
		return err
	}
	return nil
}

const selectPeople = `
	SELECT id, name, role, created_at, (SELECT max(used_at) FROM credentials WHERE person_id = people.id AND kind = 'session') AS last_seen, disabled_at, tokens, links, shares
	FROM people LEFT JOIN (
		SELECT owner, array_agg(name ORDER BY lower(name)) FILTER (WHERE kind = 'token') AS tokens,
			array_agg(name ORDER BY lower(name)) FILTER (WHERE kind IN ('sign_in', 'invite')) AS links,
			array_agg(name ORDER BY lower(name)) FILTER (WHERE kind = 'share') AS shares
		FROM credentials WHERE ` + inForce + ` GROUP BY owner) given ON owner = people.id`

func (a *Accounts) People(ctx context.Context) ([]account.Person, error) {
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Person], selectPeople+` ORDER BY lower(name)`, a.db.now())
}

// person returns a person who may sign in.
func (a *Accounts) person(ctx context.Context, q querier, id string) (account.Person, error) {
	return a.onePerson(ctx, q, `WHERE id = $2 AND disabled_at IS NULL`, id)
}

// onePerson returns the person selected by a condition, whose arguments count from $2, or
// ErrNotFound.
func (a *Accounts) onePerson(ctx context.Context, q querier, condition string, args ...any) (account.Person, error) {
	found, err := collect(ctx, q, pgx.RowToStructByName[account.Person], selectPeople+" "+condition, append([]any{a.db.now()}, args...)...)
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
	if err := nameIsFree(ctx, q, name); err != nil {
		return p, err
	}
	_, err := q.Exec(ctx, `INSERT INTO people (id, name, role, created_at) VALUES ($1, $2, $3, $4)`, p.ID, p.Name, p.Role, p.CreatedAt)
	if pgError(err).ConstraintName == "people_by_name" { // the database's locale equates more letters
		return p, account.ErrNameTaken
	}
	return p, err
}

// SetRole changes a person's role from their next request on.
func (a *Accounts) SetRole(ctx context.Context, personID string, role account.Role) error {
	if err := account.CheckRole(role); err != nil {
		return err
	}
	return a.exclusivelyNotifying(ctx, func(tx pgx.Tx) error {
		if role != account.Admin {
			if err := a.keepAnAdmin(ctx, tx, personID); err != nil {
				return err
			}
			above := account.Roles[slices.Index(account.Roles, role)+1:]
			_, err := tx.Exec(ctx, revoke+`owner = $2 AND (kind IN ('sign_in', 'invite') OR kind = 'token' AND role = ANY ($3))`, a.db.now(), personID, above)
			if err != nil {
				return err
			}
		}
		return changeRow(ctx, tx, `UPDATE people SET role = $2 WHERE id = $1`, personID, role)
	})
}

// revoke ends at $1 the credentials selected by a condition after it.
const revoke = `UPDATE credentials SET revoked_at = coalesce(revoked_at, $1) WHERE ` + unspent + ` AND `

// SetDisabled locks a person out and ends their sessions, links and everything they gave to others,
// or lets them be invited again by a sign-in link.
func (a *Accounts) SetDisabled(ctx context.Context, personID string, disabled bool) error {
	return a.exclusivelyNotifying(ctx, func(tx pgx.Tx) error {
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
		batch := &pgx.Batch{}
		batch.Queue(revoke+`(owner = $2 OR person_id = $2)`, now, personID)
		batch.Queue(`DELETE FROM pins WHERE person_id = $1`, personID)
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

// keepAnAdmin returns an error unless somebody other than this person is an admin.
func (a *Accounts) keepAnAdmin(ctx context.Context, tx pgx.Tx, personID string) error {
	admins, err := collect(ctx, tx, pgx.RowTo[string], `SELECT id FROM people WHERE role = 'admin' AND disabled_at IS NULL`)
	if err != nil {
		return err
	}
	if len(admins) == 1 && admins[0] == personID {
		return account.ErrLastAdmin
	}
	return nil
}

// isFree returns taken if one of the names that a statement selects equals this one, ignoring case.
// PostgreSQL is not asked to compare, since it knows the case of non-ASCII letters in some locales
// only.
func isFree(ctx context.Context, q querier, name string, taken error, names string, args ...any) error {
	all, err := collect(ctx, q, pgx.RowTo[string], names, args...)
	if err == nil && slices.ContainsFunc(all, func(one string) bool { return strings.EqualFold(one, name) }) {
		err = taken
	}
	return err
}

func nameIsFree(ctx context.Context, q querier, name string) error {
	return isFree(ctx, q, name, account.ErrNameTaken, `SELECT name FROM people`)
}

// givenTokenID is the id of the admin token that is configured for servers. There is only one, so a
// new secret ends the old one. Tokens that servers generate and keep in their data folders have ids
// of their own.
const givenTokenID = "admin"

// theServer is the creator of admin tokens.
const theServer = "the server"

func (a *Accounts) CreateToken(ctx context.Context, by account.Identity, want account.NewToken) (account.Token, string, error) {
	if err := want.Check(a.db.now()); err != nil {
		return account.Token{}, "", err
	}
	token, secret, err := insertGiven[account.Token](ctx, a, tokenColumns, credential{
		kind: "token", name: want.Name, role: want.Role, studyID: want.StudyID, by: by, expires: want.ExpiresAt,
	})
	if pgError(err).ConstraintName == "credentials_study_id_fkey" {
		err = &account.Invalid{Field: "study_id", Message: "there is no such study"}
	}
	return token, secret, err
}

func (a *Accounts) Tokens(ctx context.Context) ([]account.Token, error) {
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Token], `
		SELECT `+tokenColumns+` FROM credentials WHERE kind = 'token' ORDER BY created_at DESC, id`)
}

// RevokeToken ends a token at once.
func (a *Accounts) RevokeToken(ctx context.Context, id string) error {
	return a.changeOne(ctx, revoke+`kind = 'token' AND id = $2`, a.db.now(), id)
}

// EnsureAdmin creates a person with the role admin if there is none, and returns the first admin.
// Whoever can start the program owns the database and so has the right to be admin.
func (a *Accounts) EnsureAdmin(ctx context.Context) (first account.Person, err error) {
	err = a.exclusivelyNotifying(ctx, func(tx pgx.Tx) (err error) {
		if first, err = a.onePerson(ctx, tx, firstAdmin); errors.Is(err, account.ErrNotFound) {
			first, err = a.addPerson(ctx, tx, "Admin", account.Admin)
		}
		return err
	})
	return first, err
}

// AdmitServer makes secret an admin token: the configured one, which ends the previous one, or one
// that a server keeps for itself. A token that was ended stays so (account.ErrExpired).
func (a *Accounts) AdmitServer(ctx context.Context, secret string, given bool) error {
	hash, id := account.Hash(secret), account.NewID()
	if given {
		id = givenTokenID
	}
	return a.exclusivelyNotifying(ctx, func(tx pgx.Tx) error {
		if given {
			_, err := tx.Exec(ctx, `UPDATE credentials SET id = $3, revoked_at = coalesce(revoked_at, $4) WHERE id = $1 AND hash <> $2`, givenTokenID, hash, account.NewID(), a.db.now())
			if err != nil {
				return err
			}
		}
		var admits, ended bool
		err := tx.QueryRow(ctx, `SELECT kind = 'token' AND role = 'admin' AND by = $2, revoked_at IS NOT NULL FROM credentials WHERE hash = $1`, hash, theServer).Scan(&admits, &ended)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			_, err := tx.Exec(ctx, `
				INSERT INTO credentials (id, hash, kind, name, role, by, created_at) VALUES ($1, $2, 'token', 'admin', 'admin', $3, $4)`, id, hash, theServer, a.db.now())
			return err
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

const firstAdmin = `WHERE role = 'admin' AND disabled_at IS NULL ORDER BY created_at, id LIMIT 1`

func (a *Accounts) SetPIN(ctx context.Context, personID, device, pin, browser string) error {
	if err := account.CheckPIN(pin); err != nil {
		return err
	}
	derived, err := account.DerivePIN(pin, device, personID)
	if err != nil {
		return err
	}
	return a.exclusively(ctx, func(tx pgx.Tx) error {
		return changeRow(ctx, tx, `
			INSERT INTO pins (device, person_id, derived, browser, last_used) SELECT $1, id, $3, $4, $5 FROM people WHERE id = $2 AND disabled_at IS NULL
			ON CONFLICT (device, person_id) DO UPDATE SET derived = $3, browser = $4, wrong = 0, last_used = $5`,
			account.Hash(device), personID, derived, printable(browser), a.db.now())
	})
}

func (a *Accounts) ForgetPINs(ctx context.Context, personID string) error {
	return a.exclusively(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM pins WHERE person_id = $1`, personID)
		return err
	})
}

// PINs returns the devices on which a person can sign in by a PIN, the last used first.
func (a *Accounts) PINs(ctx context.Context, personID string) ([]account.PIN, error) {
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByPos[account.PIN], `
		SELECT browser, last_used FROM pins WHERE person_id = $1 AND last_used > $2 ORDER BY last_used DESC, device`, personID, a.db.now().Add(-account.SessionLife))
}

func (a *Accounts) OnDevice(ctx context.Context, device string) ([]account.OnDevice, error) {
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByPos[account.OnDevice], `
		SELECT p.id, p.name, greatest(0, $3 - wrong) FROM pins JOIN people p ON p.id = person_id
		WHERE device = $1 AND last_used > $2 AND disabled_at IS NULL ORDER BY lower(p.name)`,
		account.Hash(device), a.db.now().Add(-account.SessionLife), account.PINTries)
}

func (a *Accounts) ComeBack(ctx context.Context, personID, device, pin, browser, leaving string) (session account.Session, secret string, err error) {
	var derived []byte
	var wrong int
	err = a.db.in(ctx).QueryRow(ctx, `
		UPDATE pins SET wrong = wrong + 1 FROM people p
		WHERE device = $1 AND person_id = $2 AND p.id = $2 AND disabled_at IS NULL AND last_used > $3 AND wrong < $4
		RETURNING derived, wrong`, // each try counts before it is checked, so that simultaneous tries get no more
		account.Hash(device), personID, a.db.now().Add(-account.SessionLife), account.PINTries).Scan(&derived, &wrong)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return session, "", &account.WrongPIN{}
	case err != nil:
		return session, "", unavailable(ctx, err)
	}
	tried, err := account.DerivePIN(pin, device, personID)
	if err != nil {
		return session, "", err
	}
	if subtle.ConstantTimeCompare(tried, derived) != 1 {
		return session, "", &account.WrongPIN{Left: account.PINTries - wrong}
	}
	err = a.exclusivelyNotifying(ctx, func(tx pgx.Tx) error {
		person, err := a.person(ctx, tx, personID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE pins SET wrong = 0, last_used = $3 WHERE device = $1 AND person_id = $2`, account.Hash(device), personID, a.db.now()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, revoke+`kind = 'session' AND id = $2`, a.db.now(), leaving); err != nil {
			return err
		}
		session, secret, err = a.addSession(ctx, tx, person, credential{name: browser, byPIN: true})
		return err
	})
	if errors.Is(err, account.ErrNotFound) {
		err = &account.WrongPIN{}
	}
	return session, secret, err
}

// longestDevice is how many characters are kept of a browser's description of itself.
const longestDevice = 200

// addSession stores a session of a person; begun says how and in which browser it began.
func (a *Accounts) addSession(ctx context.Context, tx pgx.Tx, person account.Person, begun credential) (account.Session, string, error) {
	now := a.db.now()
	begun.kind, begun.name, begun.personID, begun.by = "session", printable(begun.name), person.ID, account.Identity{Name: person.Name, OwnerID: person.ID}
	begun.expires, begun.used = new(now.Add(account.SessionIdleLife)), &now
	return insert[account.Session](ctx, tx, now, sessionColumns, begun)
}

// printable makes a header from anybody fit to be stored and shown.
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
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Session], `
		SELECT `+sessionColumns+` FROM credentials
		WHERE kind = 'session' AND person_id = $2 AND `+inForce+` ORDER BY used_at DESC, id`, a.db.now(), personID)
}

// EndSession signs a browser out at once.
func (a *Accounts) EndSession(ctx context.Context, personID, id string) error {
	return a.changeOne(ctx, revoke+`kind = 'session' AND person_id = $2 AND id = $3`, a.db.now(), personID, id)
}

func (a *Accounts) CreateSignInLink(ctx context.Context, by account.Identity, personID string) (account.Link, string, error) {
	return insertGiven[account.Link](ctx, a, linkColumns, credential{
		kind: string(account.SignIn), personID: personID, by: by, expires: new(a.db.now().Add(account.SignInLinkLife)),
	})
}

// CreateInvite makes a link that creates a person.
func (a *Accounts) CreateInvite(ctx context.Context, by account.Identity, want account.NewInvite) (account.Link, string, error) {
	now := a.db.now()
	if err := want.Check(now); err != nil {
		return account.Link{}, "", err
	}
	if err := nameIsFree(ctx, a.db.in(ctx), want.Name); err != nil {
		return account.Link{}, "", err
	}
	expires := cmp.Or(want.ExpiresAt, new(now.Add(account.InviteLife)))
	return insertGiven[account.Link](ctx, a, linkColumns, credential{kind: string(account.Invite), name: want.Name, role: want.Role, by: by, expires: expires})
}

func (a *Accounts) Invites(ctx context.Context) ([]account.Link, error) {
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Link], `
		SELECT `+linkColumns+` FROM credentials WHERE kind = 'invite' ORDER BY created_at DESC, id`)
}

// RevokeInvite ends an invite that nobody has used.
func (a *Accounts) RevokeInvite(ctx context.Context, id string) error {
	return a.changeOne(ctx, revoke+`kind = 'invite' AND id = $2`, a.db.now(), id)
}

func (a *Accounts) Look(ctx context.Context, secret string) (account.Link, error) {
	return a.usableLink(ctx, a.db.in(ctx), secret)
}

func (a *Accounts) usableLink(ctx context.Context, q querier, secret string) (account.Link, error) {
	found, err := collect(ctx, q, pgx.RowToStructByName[account.Link], `
		SELECT `+linkColumns+` FROM credentials WHERE hash = $1 AND kind IN ('sign_in', 'invite')`, account.Hash(secret))
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

func (a *Accounts) Redeem(ctx context.Context, secret, browser, device string) (session account.Session, sessionSecret string, err error) {
	sessionSecret = account.SecretOf(secret, cmp.Or(browser, account.NewSecret()))
	err = a.exclusively(ctx, func(tx pgx.Tx) error {
		link, err := a.usableLink(ctx, tx, secret)
		if errors.Is(err, account.ErrUsed) {
			begun, failed := collect(ctx, tx, pgx.RowToStructByName[account.Session], `SELECT `+sessionColumns+` FROM credentials WHERE hash = $2 AND `+inForce, a.db.now(), account.Hash(sessionSecret))
			if len(begun) > 0 {
				session = begun[0]
				return nil
			}
			err = cmp.Or(failed, err)
		}
		if err != nil {
			return err
		}
		var person account.Person
		if link.Kind == account.Invite {
			person, err = a.addPerson(ctx, tx, link.Name, link.Role)
		} else {
			person, err = a.person(ctx, tx, link.PersonID)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE credentials SET used_at = $2, person_id = $3 WHERE id = $1`, link.ID, a.db.now(), person.ID); err != nil {
			return err
		}
		session, _, err = a.addSession(ctx, tx, person, credential{name: device, secret: sessionSecret})
		return err
	})
	return session, sessionSecret, err
}

func (a *Accounts) CreateShare(ctx context.Context, by account.Identity, want account.NewShare) (account.Share, string, error) {
	if err := want.Check(a.db.now()); err != nil {
		return account.Share{}, "", err
	}
	share, secret, err := insertGiven[account.Share](ctx, a, shareColumns, credential{
		kind: "share", name: want.Name, role: account.Viewer, studyID: &want.StudyID, by: by, expires: &want.ExpiresAt,
	})
	if pgError(err).ConstraintName == "credentials_study_id_fkey" {
		err = account.ErrNotFound
	}
	return share, secret, err
}

func (a *Accounts) Shares(ctx context.Context, studyID string) ([]account.Share, error) {
	return collect(ctx, a.db.in(ctx), pgx.RowToStructByName[account.Share], `
		SELECT `+shareColumns+` FROM credentials WHERE kind = 'share' AND study_id = $1 ORDER BY created_at DESC, id`, studyID)
}

// RevokeShare ends a link at once for everybody who has opened it.
func (a *Accounts) RevokeShare(ctx context.Context, studyID, id string) error {
	return a.changeOne(ctx, revoke+`kind = 'share' AND study_id = $2 AND id = $3`, a.db.now(), studyID, id)
}
