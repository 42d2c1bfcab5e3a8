package account

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

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
