package study

import (
	"context"
	"errors"
	"fmt"
)

// What can be wrong with a request beyond its form. Wrap them with fmt.Errorf("…: %w") to add the
// sentence that people read.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict with the present state")
	ErrStale    = errors.New("the study has changed since")
	ErrTooLarge = errors.New("too large")
	ErrReused   = errors.New("idempotency key used for another request")
	// ErrUnavailable wraps what went wrong between here and the database; trying again later may
	// help.
	ErrUnavailable = errors.New("the database is away")
)

// Behind is a database server that was refused as it goes back behind what was seen of the
// database.
type Behind struct {
	Sentence string // for anybody
	Advice   string // for whoever runs the program: it names the server, and what to do
}

func (b *Behind) Error() string { return b.Sentence + " " + b.Advice }
func (b *Behind) Unwrap() error { return ErrUnavailable }

// refusal is one of the errors above with the sentence that people read.
type refusal struct {
	sentence string
	because  error
}

func (r *refusal) Error() string { return r.sentence }
func (r *refusal) Unwrap() error { return r.because }

// conflict is what cannot be done with the study as it is now.
func conflict(format string, values ...any) error {
	return &refusal{fmt.Sprintf(format, values...), ErrConflict}
}

// notComputable is a model that cannot be computed with the numbers as they are now; what ended the
// work early stays what it was.
func notComputable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if refused := tooLarge(err); refused != nil {
		return refused
	}
	return conflict("The model cannot be computed: %v. Change the model or its settings.", err)
}

// notFound is a thing that the study does not have.
func notFound(format string, values ...any) error {
	return &refusal{fmt.Sprintf(format, values...), ErrNotFound}
}
