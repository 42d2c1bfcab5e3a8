package account

import (
	"cmp"
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

// checkExpiry refuses an end that has been, or is further away than longest, where that is not 0.
func checkExpiry(at *time.Time, now time.Time, longest time.Duration) error {
	switch {
	case at == nil:
		return nil
	case !at.After(now):
		return &Invalid{"expires_at", "lies in the past"}
	case longest > 0 && at.After(now.Add(longest)):
		return &Invalid{"expires_at", fmt.Sprintf("is more than %d days away", int(longest.Hours()/24))}
	}
	return nil
}
