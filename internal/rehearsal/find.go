package rehearsal

import (
	"fmt"
	"strconv"
	"strings"

	"headroom/internal/optimizer/problems"
)

// Listed is a problem that needs no file.
type Listed struct{ Name, Summary string }

// Menu lists the made-up tables, and the problems of the simulator that a laboratory could have.
func Menu() []Listed {
	var list []Listed
	for _, k := range kinds {
		list = append(list, Listed{k.name, k.summary})
	}
	list = append(list, Listed{crashName, crashSummary}, Listed{demoName, demoSummary})
	for _, p := range problems.Menu() {
		if _, err := NewFunction(p.Name); err == nil {
			list = append(list, Listed{p.Name, p.Summary})
		}
	}
	return list
}

// Find makes the problem of that name. A made-up table may be followed by the number of its draw, as in made-mixed-7.
func Find(name string) (*Problem, error) {
	switch name {
	case crashName:
		return newCrash()
	case demoName:
		return newDemo()
	}
	for _, k := range kinds {
		rest, found := strings.CutPrefix(name, k.name)
		if !found {
			continue
		}
		draw, err := strconv.ParseUint(strings.TrimPrefix(rest, "-"), 10, 32)
		if rest == "" {
			draw, err = 1, nil
		}
		if err == nil {
			return k.make(name, draw)
		}
	}
	if _, err := problems.Find(name); err == nil {
		return NewFunction(name)
	}
	var names []string
	for _, l := range Menu() {
		names = append(names, l.Name)
	}
	return nil, fmt.Errorf("there is no problem %q; there are %s", name, strings.Join(names, ", "))
}
