package rehearsal

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/optimizer/problems"
)

// Names lists the problems that need no file: the made-up tables, and those of the simulator that a lab could have.
func Names() []string {
	var names []string
	for _, p := range problems.Menu() {
		if _, err := NewFunction(p.Name); err == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// Find makes the problem of that name.
func Find(name string) (*Problem, error) {
	if _, err := problems.Find(name); err != nil {
		return nil, fmt.Errorf("there is no problem %q; there are %s", name, strings.Join(slices.Sorted(slices.Values(Names())), ", "))
	}
	return NewFunction(name)
}
