package study

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
)

// brokenStore panics when it is read.
type brokenStore struct{ Store }

func (brokenStore) Events(context.Context, string, int64, int) ([]ledger.Event, error) {
	panic("what cannot be")
}

func (brokenStore) Version(context.Context, string) (int64, error) { panic("what cannot be") }

// TestPanicsOfReadingAreErrors reads a ledger together with others, in a goroutine of nobody's own.
func TestPanicsOfReadingAreErrors(t *testing.T) {
	t.Parallel()
	s := NewService(brokenStore{}, Options{Log: slog.New(slog.DiscardHandler)})
	for name, read := range map[string]func() (*ledger.Snapshot, error){
		"load":  func() (*ledger.Snapshot, error) { return s.load(t.Context(), "x") },
		"Since": func() (*ledger.Snapshot, error) { return s.Since(t.Context(), "x", 3) },
	} {
		if _, err := read(); !errors.Is(err, supervisor.ErrPanicked) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
