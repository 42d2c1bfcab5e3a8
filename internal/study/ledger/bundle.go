package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"headroom/internal/study/design"
)

// BundleFormat is the format name of a Bundle.
const BundleFormat = "headroom-study/1"

// Bundle is a study with its ledger, as export.json has it and ImportBundle reads it. The events
// determine everything; the other members are for people and must agree with them.
type Bundle struct {
	Format     string            `json:"format"` // BundleFormat
	Definition design.Definition `json:"definition"`
	State      State             `json:"state"`
	Version    int64             `json:"version"` // of the last event
	Hash       string            `json:"hash"`    // of the last event
	Events     []Event           `json:"events"`
}

// EndsWith returns an error if last is not the event that the bundle says is the last one.
func (b Bundle) EndsWith(last Event) error {
	switch {
	case last.Seq == 0:
		return errors.New("the ledger is empty")
	case b.Version != last.Seq || b.Hash != last.Hash:
		return fmt.Errorf("the ledger ends with event %d and hash %s, but should end with event %d and hash %s", last.Seq, last.Hash, b.Version, b.Hash)
	}
	return nil
}

// What a BundleReader returns at once, and the largest member that it accepts. An event can be
// several times as large as the body of a request, since an ask for several trials can bring values
// for each.
const (
	eventsAtOnce  = 500
	bytesAtOnce   = 4 << 20
	largestMember = 64 << 20
	mostItems     = design.MaxCandidates // in a list: candidates, and values for each of them
	mostMembers   = 1_000
)

// ErrMemberTooLarge is the error of a BundleReader for an event or a definition beyond its limits.
var ErrMemberTooLarge = fmt.Errorf("one of its events is larger than %d MiB", largestMember>>20)

// BundleReader reads an exported study in parts, and checks that it is complete: each hash follows
// from what precedes it, and the last event is the one that the bundle names.
type BundleReader struct {
	in      *rationed
	decoder *json.Decoder
	seen    map[string]bool // names of members read so far
	head    Bundle          // all but the events
	last    Event           // the last one read
}

// NewBundleReader returns a reader of file that reads it once and holds no more of it than it must.
func NewBundleReader(file io.Reader) *BundleReader {
	in := &rationed{file: file}
	decoder := json.NewDecoder(in)
	decoder.UseNumber() // a number too large for a float64 fails later, with a better message
	return &BundleReader{in: in, decoder: decoder, seen: map[string]bool{}}
}

// Parts yields the events, some at a time. If the bundle turns out not to be whole, an error comes
// last: *design.Invalid for a faulty bundle; *Malformed, the error of encoding/json or of the file,
// or ErrMemberTooLarge if it cannot be read.
func (r *BundleReader) Parts() iter.Seq2[[]Event, error] {
	return func(yield func([]Event, error) bool) {
		err := r.open()
		for err == nil && r.decoder.More() {
			var events []Event
			if events, err = r.events(); err == nil && !yield(events, nil) {
				return
			}
		}
		if err == nil {
			err = r.close()
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// open reads up to the start of the list of events.
func (r *BundleReader) open() error {
	r.in.ration = largestMember
	if err := r.expect(json.Delim('{')); err != nil {
		return err
	}
	if err := r.members(); err != nil || r.seen["events"] {
		return err
	}
	if err := r.expect(json.Delim('}')); err != nil {
		return err
	}
	return design.NewInvalid("events", "is missing", nil)
}

// close reads what follows the events.
func (r *BundleReader) close() error {
	if err := r.expect(json.Delim(']')); err != nil {
		return err
	}
	if err := r.members(); err != nil {
		return err
	}
	if err := r.expect(json.Delim('}')); err != nil {
		return err
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("", "something follows the exported study")
	}
	if r.head.Format == "" {
		return design.NewInvalid("format", "is missing", nil)
	}
	if err := r.head.EndsWith(r.last); err != nil {
		return design.NewInvalid("events", err.Error(), nil)
	}
	return nil
}

// Describes returns an error if the bundle has a definition or a state that is not that of the
// study after its events.
func (r *BundleReader) Describes(after *Snapshot) error {
	switch {
	case r.seen["definition"] && !r.head.Definition.Same(after.Definition):
		return design.NewInvalid("definition", "is not the one that follows from the events", nil)
	case r.seen["state"] && r.head.State != after.State:
		return design.NewInvalid("state", fmt.Sprintf("is not the one that follows from the events, %s", after.State), r.head.State)
	}
	return nil
}

// members reads members of the bundle up to the list of events or the end.
func (r *BundleReader) members() error {
	for r.decoder.More() {
		r.in.ration = largestMember
		token, err := r.token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if r.seen[name] {
			return malformed(name, "stands twice")
		}
		r.seen[name] = true
		if name == "events" {
			return r.expect(json.Delim('['))
		}
		if err := r.member(name); err != nil {
			return err
		}
	}
	return nil
}

func (r *BundleReader) member(name string) error {
	into := map[string]any{"format": &r.head.Format, "definition": &r.head.Definition, "state": &r.head.State, "version": &r.head.Version, "hash": &r.head.Hash}[name]
	if into == nil {
		return design.NewInvalid(name, "there is no such field", nil)
	}
	if err := r.value(into, name); err != nil {
		return err
	}
	if name == "format" && r.head.Format != BundleFormat {
		return design.NewInvalid("format", fmt.Sprintf("%q is needed", BundleFormat), r.head.Format)
	}
	return nil
}

func (r *BundleReader) events() ([]Event, error) {
	var events []Event
	from := r.decoder.InputOffset()
	for r.decoder.More() {
		r.in.ration = largestMember
		var event Event
		if err := r.value(&event, fmt.Sprintf("events[%d]", r.last.Seq+int64(len(events)))); err != nil {
			return nil, err
		}
		events = append(events, event)
		if len(events) == eventsAtOnce || r.decoder.InputOffset()-from >= bytesAtOnce {
			break
		}
	}
	if err := CheckContinues(r.last, events); err != nil {
		return nil, design.NewInvalid("events", err.Error(), nil)
	}
	r.last = events[len(events)-1]
	return events, nil
}

// value reads the next value, which is at a field of the bundle, as strictly as the ledger does: no
// duplicate or unknown names and no numbers beyond a float64. A value with more items than an event
// can have is not decoded.
func (r *BundleReader) value(into any, field string) error {
	var text json.RawMessage
	if err := r.decoder.Decode(&text); err != nil {
		return unexpectedEOF(err)
	}
	if _, err := canonicalWithin(text, mostItems, mostMembers); err != nil {
		return notABundle(err)
	}
	if err := decodeExactly(text, into); err != nil {
		return design.NewInvalid(field, "cannot be read: "+err.Error(), nil)
	}
	return nil
}

func (r *BundleReader) expect(want json.Delim) error {
	token, err := r.token()
	if err == nil && token != want {
		return notABundle(fmt.Errorf("%v where %v should be", cmp.Or[any](token, "null"), want))
	}
	return err
}

// token reads a token that must be there.
func (r *BundleReader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	return token, unexpectedEOF(err)
}

// unexpectedEOF turns the end of the file within a bundle into io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func notABundle(err error) error {
	if _, no := errors.AsType[*Malformed](err); no {
		return err
	}
	return design.NewInvalid("", "this is not an exported study: "+err.Error(), nil)
}

// rationed is a reader that returns ErrMemberTooLarge when its ration is used up.
type rationed struct {
	file   io.Reader
	ration int
}

func (r *rationed) Read(into []byte) (int, error) {
	if r.ration <= 0 {
		return 0, ErrMemberTooLarge
	}
	n, err := r.file.Read(into[:min(len(into), r.ration)])
	r.ration -= n
	return n, err
}
