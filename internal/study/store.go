package study

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"iter"
	"strconv"
	"strings"
	"time"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Store keeps studies. Package db implements it on PostgreSQL.
type Store interface {
	// Create writes a new study. Its events come in parts, each with the study after it; the last
	// part has what to store under the idempotency key. All parts are stored in one transaction. If
	// a part comes with an error, nothing is stored and that error is returned.
	Create(ctx context.Context, id string, cmd Command, parts iter.Seq2[Append, error]) error

	// Write appends to a study what decide makes of the events after known, updates the study's row
	// and stores the result under the idempotency key, all in one transaction; then it notifies
	// listeners.
	//
	// It first assumes that nothing has happened since known: it calls decide without events and
	// stores the result only if that holds. Otherwise, or when decide refuses, it locks the study
	// and calls decide again with the new events. So decide may be called twice, and the second
	// call counts. Errors: ErrNotFound, ErrStale (cmd.IfMatch), ErrReused, *AlreadyDone, or the
	// last error of decide; nothing is stored then.
	Write(ctx context.Context, id string, cmd Command, known Known, decide func(news []ledger.Event) (Append, error)) error

	// Choosing runs choose while holding the study's choosing lock, so that the decisions of one
	// study are made one at a time across all servers. Tells do not wait for it.
	Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error

	// Events returns the events with seq > after in order, at most limit (0 means all). It returns
	// ErrNotFound when there is no such study.
	Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error)

	// Ends returns the end of a study's ledger twice: as the study's row has it and as its last
	// event has it. The two are equal unless somebody tampered with them.
	Ends(ctx context.Context, id string) (row, last Known, err error)

	// KeepVerified stores the outcome of a verification, unless it is a success and a later version
	// has been verified already.
	KeepVerified(ctx context.Context, id string, outcome Verified) error

	// Verified returns the last outcome of verifying a study, nil if there is none.
	Verified(ctx context.Context, id string) (*Verified, error)

	// Summaries lists studies, newest change first.
	Summaries(ctx context.Context, list Listing) ([]ledger.Summary, error)
}

// Known identifies the end of a study's ledger: the number and hash of the last event.
type Known struct {
	Version int64
	Hash    string
}

// Fits returns an error if last cannot be the end of the ledger that k describes.
func (k Known) Fits(last Known) error {
	return ledger.Bundle{Version: k.Version, Hash: k.Hash}.EndsWith(ledger.Event{Seq: last.Version, Hash: last.Hash})
}

// Append is what a write adds. Its events are complete: ledger.Next has filled in seq, at and hash.
type Append struct {
	Events []ledger.Event
	After  *ledger.Snapshot // the study after the events, from which its row is updated
	Done   *Done            // stored under the idempotency key, if there is one
}

// InOnePart returns the only part of a study whose events come all at once.
func InOnePart(first Append) iter.Seq2[Append, error] {
	return func(yield func(Append, error) bool) { yield(first, nil) }
}

// Command is what every write has in common: who writes, under which conditions, and once or each
// time.
type Command struct {
	By      string          // the writer's name in the ledger
	Author  string          // the writer's identity, see account.Identity.Caller
	IfMatch int64           // refuse with ErrStale unless the study is at this version; 0 = any
	Key     *IdempotencyKey // nil: every request counts
	// Sure is set by forms: the doubts that a person confirmed, as Doubted names them. If other
	// doubts arise, *Doubtful is returned and nothing is stored. With nil nothing is asked.
	Sure *string
}

// IdempotencyKey makes a request of a caller count once. Body has the hash of what was sent once
// that has been read.
type IdempotencyKey struct {
	Caller, Request, Key string
	Body                 hash.Hash
}

// Done is the result of a request: the study after it and the trials concerned, or, where no study
// is involved, what it made.
type Done struct {
	Study   string
	Version int64
	Trials  []int
	Made    []byte
}

// AlreadyDone is returned, as an error, when an idempotency key was used for the same request before.
type AlreadyDone struct{ Done Done }

func (*AlreadyDone) Error() string { return "this request was carried out before" }

// Listing selects studies. They are listed with the newest change first.
type Listing struct {
	Only   []string       // these studies only, if not nil
	States []ledger.State // in one of these states, if not nil
	Find   string         // only those with all of these words, see [design.Definition.Words], ignoring case
	After  *Mark          // only those behind this mark
	Limit  int            // at most this many; 0 = all
}

// Mark is a position in the list of studies: just behind the study with this id and time of last
// change. A study that changes moves to the front, so it does not disturb the marks behind it.
type Mark struct {
	UpdatedAt time.Time
	ID        string
}

// String returns the mark as one word: microseconds since 1970, a dot, the id.
func (m Mark) String() string { return strconv.FormatInt(m.UpdatedAt.UnixMicro(), 10) + "." + m.ID }

// ParseMark parses the result of String.
func ParseMark(text string) (Mark, error) {
	at, id, dotted := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !dotted || id == "" || micros < 0 || micros > latestMark {
		return Mark{}, fmt.Errorf("%q is not the next of a page of studies", text)
	}
	return Mark{UpdatedAt: time.UnixMicro(micros).UTC(), ID: id}, nil
}

// latestMark is the end of the year 9999, in microseconds since 1970.
const latestMark = 253402300799999999

// The reasons for which a well-formed request is refused. Wrap them with fmt.Errorf("…: %w") to add
// the sentence that people read.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict with the present state")
	ErrStale    = errors.New("the study has changed since; read it again before you change it")
	ErrTooLarge = errors.New("too large")
	ErrReused   = errors.New("idempotency key used for another request")
	// ErrUnavailable wraps failures to reach the database; trying again later may help.
	ErrUnavailable = errors.New("the database is away")
	// ErrNewer says that a newer program has migrated the database; the error that wraps it says
	// how far.
	ErrNewer = errors.New("the database is newer than this program")
)

// Behind is the error for a database server that is refused because it lacks data that was already
// seen in the database.
type Behind struct {
	Sentence string // for anybody
	Advice   string // for whoever runs the program: the server, and what to do
}

func (b *Behind) Error() string { return b.Sentence + " " + b.Advice }

func (b *Behind) Unwrap() error { return ErrUnavailable }

// Later is the error for what cannot be done right now although the database is there.
type Later struct{ Sentence string }

func (l *Later) Error() string { return l.Sentence }

func (l *Later) Unwrap() error { return ErrUnavailable }

// Damaged is the error for a ledger that fails its checks. Trying again does not help.
type Damaged struct {
	ID  string // of the study
	Why error
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("The ledger of study %s is damaged (%s). Trying again does not help: an earlier backup may have it whole.", d.ID, d.Why)
}

func (d *Damaged) Unwrap() error { return d.Why }

// refusal joins one of the errors above with the sentence that people read.
type refusal struct {
	sentence string
	because  error
}

func (r *refusal) Error() string { return r.sentence }

func (r *refusal) Unwrap() error { return r.because }

// NoStudy returns the error for an id of no study, or of one that the caller may not know of; it
// wraps ErrNotFound.
func NoStudy(id string) error {
	return &refusal{"There is no study " + design.Shorten(id) + ", or none that you may see.", ErrNotFound}
}

func conflict(format string, values ...any) error {
	return &refusal{fmt.Sprintf(format, values...), ErrConflict}
}
