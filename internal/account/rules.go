package account

import (
	"cmp"
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What can be wrong with a credential or a change.
var (
	ErrNoCredentials = errors.New("no such credential")
	ErrExpired       = errors.New("this credential has expired or was revoked")
	ErrUsed          = errors.New("this link has been used")
	ErrNotFound      = errors.New("no such person, token, session, link or share")
	ErrLastAdmin     = errors.New("this is the last admin: make another one first")
	ErrNameTaken     = errors.New("somebody has that name already")
)

// Invalid is one faulty field of what was asked for.
type Invalid struct {
	Field   string // its name in JSON
	Message string
}

func (e *Invalid) Error() string { return e.Field + ": " + e.Message }

// longestName in characters.
const longestName = 200

// NewToken is a token to be made.
type NewToken struct {
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	StudyID   string     `json:"study_id,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Check returns *Invalid for the first faulty field.
func (n NewToken) Check(now time.Time) error {
	var reach error
	if n.StudyID != "" && n.Role == Admin {
		reach = &Invalid{"role", "a token for one study is operator or viewer: an admin is admin of everything"}
	}
	return cmp.Or(checkName(n.Name), CheckRole(n.Role), reach, checkExpiry(n.ExpiresAt, now, 0))
}

// NewInvite is an invite to be made.
type NewInvite struct {
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: InviteLife from now
}

// Check returns *Invalid for the first faulty field.
func (n NewInvite) Check(now time.Time) error {
	return cmp.Or(checkName(n.Name), CheckRole(n.Role), checkExpiry(n.ExpiresAt, now, LongestInvite))
}

// NewShare is a read-only link to be made.
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

// CheckRole returns *Invalid for what is no role.
func CheckRole(role Role) error {
	if _, err := ParseRole(string(role)); err != nil {
		return &Invalid{"role", err.Error()}
	}
	return nil
}

// lastYear is the last that JSON's form of moments (RFC 3339) can write.
const lastYear = 9999

// checkExpiry refuses an end that has been, or is further away than longest, where that is not 0.
func checkExpiry(at *time.Time, now time.Time, longest time.Duration) error {
	switch {
	case at == nil:
		return nil
	case !at.After(now):
		return &Invalid{"expires_at", "lies in the past"}
	case at.UTC().Year() > lastYear:
		return &Invalid{"expires_at", "lies beyond the year 9999"}
	case longest > 0 && at.After(now.Add(longest)):
		return &Invalid{"expires_at", fmt.Sprintf("is more than %d days away", int(longest.Hours()/24))}
	}
	return nil
}

const (
	// PINTries is how many wrong PINs of a person are looked at on a device; then they sign in by a
	// link, and set it anew.
	PINTries = 5
	// pinRounds of PBKDF2 with SHA-256 take about a tenth of a second.
	pinRounds = 300_000
)

// PIN is where somebody can come back by a PIN.
type PIN struct {
	Browser  string    // the device's own description of itself
	LastUsed time.Time // to come back, or when it was set
}

// OnDevice is somebody who can come back on a device by a PIN.
type OnDevice struct {
	PersonID, Name string
	Left           int // tries; none is left after too many wrong ones
}

// WrongPIN is what a wrong PIN gets, and any PIN of somebody who cannot come back by one.
type WrongPIN struct{ Left int }

func (e *WrongPIN) Error() string {
	if e.Left == 0 {
		return "no PIN works here for this person now: sign in with a link, and set one anew"
	}
	return fmt.Sprintf("that is not the PIN; tries left: %d", e.Left)
}

// CheckPIN returns *Invalid for what is no PIN or among the first that anybody would try.
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

// RoleByPIN is what somebody of that role may do who came in by a PIN: a few digits make no admin.
func RoleByPIN(role Role) Role {
	if role.Includes(Operator) {
		return Operator
	}
	return role
}

// DerivePIN is what is stored of a PIN (PBKDF2, RFC 8018). Its salt is a secret of the device, so
// that the database alone gives nothing to guess at.
func DerivePIN(pin, device, personID string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, pin, []byte(device+" "+personID), pinRounds, sha256.Size)
}
