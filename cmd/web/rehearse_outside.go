package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
)

// invite adds the tools outside to those who play.
func (r *rehearsing) invite(ctx context.Context, commands []string) error {
	for _, text := range commands {
		label, command, _ := strings.Cut(text, "=")
		if err := checkLabel(label, slices.ContainsFunc(r.algorithms, func(a rehearsed) bool { return a.label == label })); err != nil {
			return fmt.Errorf("-outside: %w", err)
		}
		outside, err := lab.NewOutside(ctx, command)
		if err != nil {
			return fmt.Errorf("-outside %s: %w", label, err)
		}
		r.algorithms = append(r.algorithms, rehearsed{label: label, outside: outside})
	}
	return nil
}
