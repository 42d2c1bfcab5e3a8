package account

import (
	"fmt"
	"slices"
	"strings"
)

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
