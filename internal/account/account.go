// Package account defines who may do what: people and their sessions, API tokens, sign-in and
// invite links, and read-only links to one study. It has the types and the rules; package db stores
// them.
//
// Every credential is an opaque secret of 130 random bits. Only its SHA-256 is stored, and it is
// found by an indexed lookup of that hash, so secrets are never compared byte by byte.
package account

import (
	"cmp"
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// How long credentials last.
const (
	SignInLinkLife  = 10 * time.Minute
	InviteLife      = 7 * 24 * time.Hour   // default
	LongestInvite   = 30 * 24 * time.Hour  // maximum
	SessionIdleLife = 14 * 24 * time.Hour  // after the last visit
	SessionLife     = 180 * 24 * time.Hour // in all
	UsualShareLife  = 30 * 24 * time.Hour  // default
	LongestShare    = 366 * 24 * time.Hour
)

// Kind is how a caller is identified.
type Kind string

const (
	BySession Kind = "session" // a person's cookie
	ByToken   Kind = "token"   // Authorization: Bearer
	ByShare   Kind = "share"   // a read-only link to one study
)

// Identity is an identified caller.
type Identity struct {
	Kind      Kind
	ID        string // of the session, token or share
	PersonID  string // "" unless a session
	OwnerID   string // the responsible person: who signed in, or created the token or share; "" = the server
	Name      string // of the person, token or share
	Role      Role
	StudyID   string    // "" = every study
	ExpiresAt time.Time // zero = never; of a session the present end
	ByPIN     bool      // a session begun by a PIN, which gives no admin rights and no further sign-in
}

// Caller returns the caller's name in the scope of idempotency keys. A person keeps it over
// sessions.
func (i Identity) Caller() string {
	if i.Kind == BySession {
		return "person:" + i.PersonID
	}
	return string(i.Kind) + ":" + i.ID
}

// By returns the caller's name in the ledger.
func (i Identity) By() string {
	if i.Kind == ByToken {
		return i.Name + " (token)"
	}
	return i.Name
}

// MayRead reports whether the caller may see the study. A study that the caller may not see must be
// answered for as if it did not exist.
func (i Identity) MayRead(studyID string) bool {
	return i.Role.Includes(Viewer) && (i.StudyID == "" || i.StudyID == studyID)
}

// MayOperate reports whether the caller may ask, tell and correct in the study.
func (i Identity) MayOperate(studyID string) bool {
	return i.Role.Includes(Operator) && i.MayRead(studyID)
}

// MayCreateStudies reports whether the caller may create studies.
func (i Identity) MayCreateStudies() bool { return i.Role.Includes(Operator) && i.StudyID == "" }

// MayAdminister reports whether the caller may manage people, tokens and links.
func (i Identity) MayAdminister() bool { return i.Role.Includes(Admin) && i.StudyID == "" }

// Token is the credential of a script.
type Token struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	StudyID   string     `json:"study_id,omitempty"` // "" = every study
	By        string     `json:"by"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"` // nil = never
	LastUsed  *time.Time `json:"last_used"`  // to within a minute
	RevokedAt *time.Time `json:"revoked_at"`
}

// Person is somebody who signs in.
type Person struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"` // unique ignoring case, since the ledger identifies people by it
	Role       Role       `json:"role"`
	CreatedAt  time.Time  `json:"created_at"`
	LastSeen   *time.Time `json:"last_seen"`
	DisabledAt *time.Time `json:"disabled_at"`
	// Names of the credentials that the person created and that are in force. Others may hold them,
	// and so may the person.
	Tokens, Links, Shares []string `json:"-"`
}

// Session is a signed-in browser.
type Session struct {
	ID        string    `json:"id"`
	PersonID  string    `json:"person_id"`
	Device    string    `json:"device"` // the browser's own description of itself
	CreatedAt time.Time `json:"created_at"`
	LastSeen  time.Time `json:"last_seen"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Link is a single-use link: a sign-in link for a person who exists, or an invite that makes one.
type Link struct {
	ID        string     `json:"id"`
	Kind      LinkKind   `json:"kind"`
	PersonID  string     `json:"person_id,omitempty"` // of an invite: once used
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	By        string     `json:"by"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// LinkKind is what a link does.
type LinkKind string

const (
	SignIn LinkKind = "sign_in"
	Invite LinkKind = "invite"
)

// Share is a read-only link to one study. Any number of people may open it until it expires or is
// revoked.
type Share struct {
	ID        string     `json:"id"`
	StudyID   string     `json:"study_id"`
	Name      string     `json:"name"` // whom it is for
	By        string     `json:"by"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	LastUsed  *time.Time `json:"last_used"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// Store stores accounts; db.Accounts implements it. Methods that create a credential return its
// secret once, beside it. Writes check their input (*Invalid) and notify listeners, so that an
// event stream can authenticate its caller again and close if the credential has ended.
type Store interface {
	// Authenticate identifies the holder of a token, session or share by its secret, and extends a
	// session. ErrNoCredentials, ErrExpired.
	Authenticate(ctx context.Context, secret string) (Identity, error)

	CreateToken(ctx context.Context, by Identity, want NewToken) (Token, string, error)
	Tokens(ctx context.Context) ([]Token, error)      // newest first, revoked ones too
	RevokeToken(ctx context.Context, id string) error // ErrNotFound

	People(ctx context.Context) ([]Person, error) // by name
	// SetRole and SetDisabled refuse to leave no admin (ErrLastAdmin). Disabling ends at once the
	// person's sessions and the tokens, unused links and shares that the person created. A person
	// who is no longer an admin loses the unused links and the tokens they created that may do more
	// than their new role.
	SetRole(ctx context.Context, personID string, role Role) error
	SetDisabled(ctx context.Context, personID string, disabled bool) error

	// CreateSignInLink makes a link with which a person signs in on another device.
	CreateSignInLink(ctx context.Context, by Identity, personID string) (Link, string, error)
	CreateInvite(ctx context.Context, by Identity, want NewInvite) (Link, string, error)
	Invites(ctx context.Context) ([]Link, error) // newest first
	RevokeInvite(ctx context.Context, id string) error
	// Look returns what a link would do without using it: browsers and mail programs fetch links
	// unasked, so only a form's POST may redeem one. ErrNoCredentials, ErrExpired, ErrUsed.
	Look(ctx context.Context, secret string) (Link, error)
	// Redeem uses a link and signs its person in. If the answer was lost, the browser that used it,
	// identified by a secret of its own ("" for none), gets the same session again. device is its
	// User-Agent.
	Redeem(ctx context.Context, link, browser, device string) (Session, string, error)

	Sessions(ctx context.Context, personID string) ([]Session, error) // live ones, latest visit first
	EndSession(ctx context.Context, personID, id string) error

	// SetPIN lets a person sign in again by a PIN on a device, which has a secret of its own.
	// *Invalid.
	SetPIN(ctx context.Context, personID, device, pin, browser string) error
	ForgetPINs(ctx context.Context, personID string) error // on every device
	PINs(ctx context.Context, personID string) ([]PIN, error)
	OnDevice(ctx context.Context, device string) ([]OnDevice, error) // by name
	// ComeBack signs a person in by a PIN set on this device, and ends the session that the browser
	// had, whose id is leaving, "" for none. *WrongPIN.
	ComeBack(ctx context.Context, personID, device, pin, browser, leaving string) (Session, string, error)

	// CreateShare makes a read-only link. Its secret is the credential itself: the page behind the
	// link authenticates it and sets it as a cookie.
	CreateShare(ctx context.Context, by Identity, want NewShare) (Share, string, error)
	Shares(ctx context.Context, studyID string) ([]Share, error) // newest first
	RevokeShare(ctx context.Context, studyID, id string) error
}

// Role is a set of permissions. Each role includes those before it.
type Role string

const (
	Viewer   Role = "viewer"   // read, and the requests that only read
	Operator Role = "operator" // make studies, ask, tell, correct
	Admin    Role = "admin"    // all
)

// Roles has all roles, from least to most.
var Roles = []Role{Viewer, Operator, Admin}

// Includes reports whether r may do all that other may. An unknown role includes nothing and is
// included in nothing.
func (r Role) Includes(other Role) bool {
	mine, theirs := slices.Index(Roles, r), slices.Index(Roles, other)
	return theirs >= 0 && mine >= theirs
}

// Title returns the role's name with a capital letter.
func (r Role) Title() string {
	if r == "" {
		return ""
	}
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

// SecretPrefix lets people and secret scanners recognise what they found.
const SecretPrefix = "headroom_"

// NewSecret returns a new credential: 130 random bits as text that is safe in URLs, headers and
// cookies.
func NewSecret() string { return SecretPrefix + rand.Text() }

// SecretOf derives a secret from two texts, of which at least one must be secret. If the answer
// with a secret was lost, it can be derived again.
func SecretOf(one, other string) string {
	sum := sha256.Sum256([]byte(one + " " + other))
	return SecretPrefix + base32.StdEncoding.EncodeToString(sum[:])[:len(rand.Text())]
}

// NewID returns a new identifier, which need not be secret.
func NewID() string { return strings.ToLower(rand.Text())[:16] }

// Hash returns what is stored of a secret. A fast hash is enough, since secrets are random and
// cannot be guessed.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Errors of credentials and changes.
var (
	ErrNoCredentials = errors.New("this token, link or session is not known")
	ErrExpired       = errors.New("this token, link or session has expired or was revoked")
	ErrUsed          = errors.New("this link has been used")
	ErrNotFound      = errors.New("no such person, token, session, link or share")
	ErrLastAdmin     = errors.New("this is the last admin: make another one first")
	ErrNameTaken     = errors.New("somebody has that name already")
)

// Invalid is the error for a faulty field of a request.
type Invalid struct {
	Field   string // its name in JSON
	Message string
}

func (e *Invalid) Error() string { return e.Field + ": " + e.Message }

const longestName = 200

// NewToken describes a token to be created.
type NewToken struct {
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	StudyID   *string    `json:"study_id,omitempty"` // nil = every study
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Check returns *Invalid for the first faulty field.
func (n NewToken) Check(now time.Time) error {
	var reach error
	switch {
	case n.StudyID == nil:
	case *n.StudyID == "": // as from a script with an unset variable
		reach = &Invalid{"study_id", "is empty; give the id of a study, or leave it out for a token of every study"}
	case n.Role == Admin:
		reach = &Invalid{"role", "a token for one study is operator or viewer: an admin is admin of everything"}
	}
	return cmp.Or(checkName(n.Name), CheckRole(n.Role), reach, checkExpiry(n.ExpiresAt, now, 0))
}

// NewInvite describes an invite to be created.
type NewInvite struct {
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: InviteLife from now
}

// Check returns *Invalid for the first faulty field.
func (n NewInvite) Check(now time.Time) error {
	return cmp.Or(checkName(n.Name), CheckRole(n.Role), checkExpiry(n.ExpiresAt, now, LongestInvite))
}

// NewShare describes a read-only link to be created.
type NewShare struct {
	StudyID   string    `json:"study_id"`
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Check returns *Invalid for the first faulty field.
func (n NewShare) Check(now time.Time) error {
	return cmp.Or(checkName(n.Name), checkExpiry(&n.ExpiresAt, now, LongestShare))
}

func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return &Invalid{"name", "give a name"}
	case strings.TrimSpace(name) != name:
		return &Invalid{"name", "remove the spaces around it"}
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &Invalid{"name", "use printable characters only"}
	case utf8.RuneCountInString(name) > longestName:
		return &Invalid{"name", fmt.Sprintf("use at most %d characters", longestName)}
	}
	return nil
}

// CheckRole returns *Invalid unless role is one of the roles.
func CheckRole(role Role) error {
	if slices.Contains(Roles, role) {
		return nil
	}
	return &Invalid{"role", fmt.Sprintf("%q is not a role: use %s, %s or %s", role, Viewer, Operator, Admin)}
}

// lastYear is the last year that RFC 3339 can represent.
const lastYear = 9999

// checkExpiry refuses a time in the past, or further away than longest unless that is 0.
func checkExpiry(at *time.Time, now time.Time, longest time.Duration) error {
	switch {
	case at == nil:
		return nil
	case !at.After(now):
		return &Invalid{"expires_at", "is in the past"}
	case at.UTC().Year() > lastYear:
		return &Invalid{"expires_at", "is after the year 9999"}
	case longest > 0 && at.After(now.Add(longest)):
		return &Invalid{"expires_at", fmt.Sprintf("is more than %d days away", int(longest.Hours()/24))}
	}
	return nil
}

const (
	// PINTries is how many wrong PINs of a person a device may try. Then the person signs in by a
	// link and sets a new one.
	PINTries = 5
	// pinRounds of PBKDF2 with SHA-256 take about a tenth of a second.
	pinRounds = 300_000
)

// PIN is a device on which a person can sign in by a PIN.
type PIN struct {
	Browser  string    // the device's own description of itself
	LastUsed time.Time // last sign-in, or when it was set
}

// OnDevice is a person who can sign in on a device by a PIN.
type OnDevice struct {
	PersonID, Name string
	Left           int // remaining tries
}

// WrongPIN is the error for a wrong PIN, and for any PIN of a person who cannot sign in by one.
type WrongPIN struct{ Left int }

func (e *WrongPIN) Error() string {
	return fmt.Sprintf("that is not the PIN; tries left: %d", e.Left)
}

// CheckPIN returns *Invalid for a text that is no PIN or that is easily guessed.
func CheckPIN(pin string) error {
	if len(pin) < 4 || len(pin) > 8 || strings.Trim(pin, "0123456789") != "" {
		return &Invalid{"pin", "write 4 to 8 digits"}
	}
	for _, step := range []int{-1, 0, 1} {
		even := true
		for i := 1; i < len(pin); i++ {
			even = even && int(pin[i])-int(pin[i-1]) == step
		}
		if even {
			return &Invalid{"pin", "this is the first that anybody would try: choose digits that are not in a row"}
		}
	}
	return nil
}

// RoleByPIN returns the role of a person who signed in by a PIN: a few digits do not make an admin.
func RoleByPIN(role Role) Role {
	if role.Includes(Operator) {
		return Operator
	}
	return role
}

// DerivePIN returns what is stored of a PIN (PBKDF2, RFC 8018). The salt is a secret of the device,
// so that the database alone does not suffice for guessing.
func DerivePIN(pin, device, personID string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, pin, []byte(device+" "+personID), pinRounds, sha256.Size)
}
