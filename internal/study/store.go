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

	"headroom/internal/study/ledger"
)

// Store keeps studies. Package db implements it on PostgreSQL.
type Store interface {
	// Create writes a new study whose events come in parts, each with the study after it and the
	// last with what to store under the idempotency key. All are stored, in one transaction, or none, as
	// when a part comes with an error, which is returned.
	Create(ctx context.Context, id string, cmd Command, parts iter.Seq2[Append, error]) error

	// Write appends to a study what decide makes of the events after known, updates the study's row
	// and stores what was done under the idempotency key: all in one transaction, after which it notifies
	// listeners. It first takes the caller's word that nothing has happened since known, and has
	// what decide makes of no news stored only if that is so; else, or when decide refuses, decide
	// is called again with the news while the study is locked. So decide may be called twice, and
	// its second call counts. Errors: ErrNotFound, ErrStale (cmd.IfMatch), ErrReused, *AlreadyDone,
	// or whatever decide returned last (nothing is stored then).
	Write(ctx context.Context, id string, cmd Command, known Known, decide func(news []ledger.Event) (Append, error)) error

	// Choosing runs choose while holding the study's choosing lock, so that decisions of one study
	// are made one after another, on all servers. Tells do not wait for it.
	Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error

	// Events returns the events with after < seq, at most limit (0 = all), in order. ErrNotFound
	// when there is no such study.
	Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error)

	// Ends returns the end of a study's ledger as the study's row has it, and as its last event does:
	// the same, where nobody touched them.
	Ends(ctx context.Context, id string) (row, last Known, err error)

	// KeepVerified remembers how verifying a study ended, unless it held and a later version has been
	// verified already.
	KeepVerified(ctx context.Context, id string, outcome Verified) error

	// Verified is how verifying a study ended last, nil if it was not verified yet.
	Verified(ctx context.Context, id string) (*Verified, error)

	// Summaries lists studies, newest change first.
	Summaries(ctx context.Context, list Listing) ([]ledger.Summary, error)
}

// Known is the end of a study's ledger as a caller knows it: the last event's seq and hash.
type Known struct {
	Version int64
	Hash    string
}

// Fits tells what stands against last being the end of the ledger that k names the end of.
func (k Known) Fits(last Known) error {
	return ledger.Bundle{Version: k.Version, Hash: k.Hash}.EndsWith(ledger.Event{Seq: last.Version, Hash: last.Hash})
}

// Append is what a write adds: complete events (seq, at and hash filled in by Chain).
type Append struct {
	Events []ledger.Event
	After  *ledger.Snapshot // the study with the events folded in; its row is brought up to it
	Done   *Done            // stored under the idempotency key, when there is one
}

// InOnePart are the parts of a study whose events come all at once.
func InOnePart(first Append) iter.Seq2[Append, error] {
	return func(yield func(Append, error) bool) { yield(first, nil) }
}

// Command is how a write enters.
type Command struct {
	By      string          // who, as the ledger names them
	Author  string          // who, as account.Identity.Caller has it
	IfMatch int64           // refuse with ErrStale unless the study is at this version; 0 = any
	Key     *IdempotencyKey // nil: each time counts
	// Sure is for forms: what people confirmed of doubts, see Doubted. With other doubts than
	// these, *Doubtful is returned and nothing stored. nil asks nothing back.
	Sure *string
}

// IdempotencyKey is a key under which a request of a caller counts once. Body sums up what was sent with it,
// once that is read.
type IdempotencyKey struct {
	Caller, Request, Key string
	Body                 hash.Hash
}

// Done is what a request did: the study after it and the trials concerned, or what it made that is
// of no study.
type Done struct {
	Study   string
	Version int64
	Trials  []int
	Made    []byte
}

// AlreadyDone is returned, as an error, when an idempotency key was used for the same request before.
type AlreadyDone struct{ Done Done }

func (*AlreadyDone) Error() string { return "this request was carried out before" }

// Listing says which studies to list. They come newest change first.
type Listing struct {
	Only   []string       // these studies alone, when not nil
	States []ledger.State // in one of these states, when not nil
	Find   string         // only those that have each word of it, see [design.Definition.Words], in any case
	After  *Mark          // only those behind this place
	Limit  int            // at most so many; 0 = all
}

// Mark is a place in the list of studies: right behind one that had this id and this last change. A
// study that changes moves to the front of the list and disturbs no place behind it.
type Mark struct {
	UpdatedAt time.Time
	ID        string
}

// String is the mark as one word: microseconds since 1970, a dot, the id.
func (m Mark) String() string { return strconv.FormatInt(m.UpdatedAt.UnixMicro(), 10) + "." + m.ID }

// ParseMark reads what String wrote.
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
	// ErrNewer wraps how far ahead of this program a newer one has migrated the database.
	ErrNewer = errors.New("the database is newer than this program")
)

// Behind is a database server that was refused as it goes back behind what was seen of the
// database.
type Behind struct {
	Sentence string // for anybody
	Advice   string // for whoever runs the program: it names the server, and what to do
}

func (b *Behind) Error() string { return b.Sentence + " " + b.Advice }

func (b *Behind) Unwrap() error { return ErrUnavailable }

// Later is what cannot be done now though the database is there, in a sentence that people read.
type Later struct{ Sentence string }

func (l *Later) Error() string { return l.Sentence }

func (l *Later) Unwrap() error { return ErrUnavailable }

// Damaged is a ledger that does not hold, and will not by being asked for again.
type Damaged struct {
	ID  string // of the study
	Why error
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("The ledger of study %s is damaged (%s). Trying again does not help: an earlier backup may have it whole.", d.ID, d.Why)
}

func (d *Damaged) Unwrap() error { return d.Why }

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
