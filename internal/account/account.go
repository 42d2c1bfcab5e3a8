// Package account says who may do what: people and their sessions, API tokens, sign-in and invite
// links, and read-only links to one study. It holds the types and the rules; package db keeps them.
//
// Every credential is an opaque secret of 130 random bits. Only its SHA-256 is stored, and it is
// found by an indexed lookup of that hash, so nothing compares secrets byte by byte.
package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How long credentials last.
const (
	SignInLinkLife  = 10 * time.Minute
	InviteLife      = 7 * 24 * time.Hour   // when the admin names no other
	LongestInvite   = 30 * 24 * time.Hour  // the most an admin may give
	SessionIdleLife = 14 * 24 * time.Hour  // without a visit; each visit starts it anew
	SessionLife     = 180 * 24 * time.Hour // with visits
	UsualShareLife  = 30 * 24 * time.Hour  // when nobody says
	LongestShare    = 366 * 24 * time.Hour
)

// Kind is how a caller proved who they are.
type Kind string

const (
	BySession Kind = "session" // a person's cookie
	ByToken   Kind = "token"   // Authorization: Bearer
	ByShare   Kind = "share"   // a read-only link to one study
)

// Identity is a caller who has been recognised.
type Identity struct {
	Kind      Kind
	ID        string // of the session, token or share
	PersonID  string // "" unless a session
	OwnerID   string // the person who answers for it: who signed in, or made the token or share; "" = the server
	Name      string // of the person, token or share
	Role      Role
	StudyID   string    // "" = every study
	ExpiresAt time.Time // zero = never; a sliding session's present end
	ByPIN     bool      // a session begun by a PIN, which makes no admin and no further sign-in
}

// Caller names the caller in the scope of idempotency keys. A person keeps theirs over sessions.
func (i Identity) Caller() string {
	if i.Kind == BySession {
		return "person:" + i.PersonID
	}
	return string(i.Kind) + ":" + i.ID
}

// By names the caller in the ledger.
func (i Identity) By() string {
	if i.Kind == ByToken {
		return i.Name + " (token)"
	}
	return i.Name
}

// MayRead says whether the study may be seen. A study the caller may not see must be answered like
// one that is not there.
func (i Identity) MayRead(studyID string) bool {
	return i.Role.Includes(Viewer) && (i.StudyID == "" || i.StudyID == studyID)
}

// MayOperate says whether the study may be asked, told and corrected.
func (i Identity) MayOperate(studyID string) bool {
	return i.Role.Includes(Operator) && i.MayRead(studyID)
}

// MayCreateStudies says whether the caller may make new studies.
func (i Identity) MayCreateStudies() bool { return i.Role.Includes(Operator) && i.StudyID == "" }

// MayAdminister says whether people, tokens and links may be managed.
func (i Identity) MayAdminister() bool { return i.Role.Includes(Admin) && i.StudyID == "" }

// Token is a credential of a script.
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
	Name       string     `json:"name"` // unique ignoring case: the ledger names people by it
	Role       Role       `json:"role"`
	CreatedAt  time.Time  `json:"created_at"`
	LastSeen   *time.Time `json:"last_seen"`
	DisabledAt *time.Time `json:"disabled_at"`
	// What the person gave out and is in force, by name: others may hold it, and the person too.
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
	PersonID  string     `json:"person_id,omitempty"` // invites: once used
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

// Share is a read-only link to one study. It may be opened by many people until it expires or is
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

// Store keeps accounts; db.Accounts is one. Methods that make a credential return its secret beside
// it, this once. Writes check their input (*Invalid) and tell listeners, so that an open event
// stream of a caller whose credential ended can close at once: it authenticates again when it hears
// of a change.
type Store interface {
	// Authenticate recognises a token, session or share by its secret. ErrNoCredentials,
	// ErrExpired. Each visit prolongs a session.
	Authenticate(ctx context.Context, secret string) (Identity, error)

	CreateToken(ctx context.Context, by Identity, want NewToken) (Token, string, error)
	Tokens(ctx context.Context) ([]Token, error)      // newest first, revoked ones too
	RevokeToken(ctx context.Context, id string) error // ErrNotFound

	People(ctx context.Context) ([]Person, error) // by name
	// SetRole and SetDisabled refuse to leave no admin (ErrLastAdmin). Disabling ends at once the
	// person's sessions and what the person gave out: tokens, unused links, shares. Whoever is no
	// admin any more loses, of what they gave out, unused links and tokens that may do more than
	// their role.
	SetRole(ctx context.Context, personID string, role Role) error
	SetDisabled(ctx context.Context, personID string, disabled bool) error

	// CreateSignInLink makes a link by which a person signs in on another device.
	CreateSignInLink(ctx context.Context, by Identity, personID string) (Link, string, error)
	CreateInvite(ctx context.Context, by Identity, want NewInvite) (Link, string, error)
	Invites(ctx context.Context) ([]Link, error) // newest first
	RevokeInvite(ctx context.Context, id string) error
	// Look says what a link would do without using it up: browsers and mail programs fetch links
	// unasked, so only a form's POST may redeem. ErrNoCredentials, ErrExpired, ErrUsed.
	Look(ctx context.Context, secret string) (Link, error)
	// Redeem uses a link up and signs its person in; device is the browser's User-Agent.
	Redeem(ctx context.Context, secret, device string) (Session, string, error)

	Sessions(ctx context.Context, personID string) ([]Session, error) // live ones, latest visit first
	EndSession(ctx context.Context, personID, id string) error

	// SetPIN lets a person come back by a PIN on a device, which has a secret of its own. *Invalid.
	SetPIN(ctx context.Context, personID, device, pin, browser string) error
	ForgetPINs(ctx context.Context, personID string) error // on every device
	PINs(ctx context.Context, personID string) ([]PIN, error)
	OnDevice(ctx context.Context, device string) ([]OnDevice, error) // by name
	// ComeBack signs a person in by a PIN set on this device, and ends the session that the browser
	// had; leaving is its id, "" for none. *WrongPIN.
	ComeBack(ctx context.Context, personID, device, pin, browser, leaving string) (Session, string, error)

	// CreateShare makes a read-only link. Its secret is the credential itself: the page that the
	// link opens authenticates it and sets it as a cookie.
	CreateShare(ctx context.Context, by Identity, want NewShare) (Share, string, error)
	Shares(ctx context.Context, studyID string) ([]Share, error) // newest first
	RevokeShare(ctx context.Context, studyID, id string) error
}

// Role is what a caller may do. Each includes those before it.
type Role string

const (
	Viewer   Role = "viewer"   // read, and the requests that only read
	Operator Role = "operator" // make studies, ask, tell, correct
	Admin    Role = "admin"    // all
)

// Roles from least to most.
var Roles = []Role{Viewer, Operator, Admin}

// ParseRole returns the role of that name.
func ParseRole(name string) (Role, error) {
	if slices.Contains(Roles, Role(name)) {
		return Role(name), nil
	}
	return "", fmt.Errorf("%q is no role: use %s, %s or %s", name, Viewer, Operator, Admin)
}

// Includes says whether r may do all that other may. An unknown role includes nothing and is
// included in nothing.
func (r Role) Includes(other Role) bool {
	mine, theirs := slices.Index(Roles, r), slices.Index(Roles, other)
	return theirs >= 0 && mine >= theirs
}

// Title is the role as a person reads it.
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

// NewID returns a new identifier, which need not be secret.
func NewID() string { return strings.ToLower(rand.Text())[:16] }

// Hash is all that is stored of a secret. A fast hash is enough: secrets are random, there is
// nothing to guess.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
