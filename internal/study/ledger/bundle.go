package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"headroom/internal/study/design"
)

// BundleFormat names the form of Bundle.
const BundleFormat = "headroom-study/1"

// Bundle is a study with its ledger, as export.json writes it and ImportBundle reads it. The events
// alone say everything; the rest is for people, and must agree with them.
type Bundle struct {
	Format     string            `json:"format"` // BundleFormat
	Definition design.Definition `json:"definition"`
	State      State             `json:"state"`
	Version    int64             `json:"version"` // of the last event
	Hash       string            `json:"hash"`    // of the last event
	Events     []Event           `json:"events"`
}

// EndsWith tells what stands against the last event of the bundle's ledger being the one that it
// names.
func (b Bundle) EndsWith(last Event) error {
	switch {
	case last.Seq == 0:
		return errors.New("the ledger is empty")
	case b.Version != last.Seq || b.Hash != last.Hash:
		return fmt.Errorf("the ledger ends with event %d and hash %s, but should end with event %d and hash %s", last.Seq, last.Hash, b.Version, b.Hash)
	}
	return nil
}

// What a BundleReader hands on at once, and the largest member that it takes in: an event can hold
// a request's body, many times over where an ask for several trials brought its values along.
const (
	eventsAtOnce  = 500
	bytesAtOnce   = 4 << 20
	largestMember = 64 << 20
	mostItems     = 10_000 // in a list: candidates, and values for each of them
	mostMembers   = 1_000
)

// ErrMemberTooLarge is what a BundleReader says of an event, or a definition, that it cannot take
// in.
var ErrMemberTooLarge = fmt.Errorf("one of its events is larger than %d MiB", largestMember>>20)

// BundleReader reads an exported study part by part, and checks on the way that it is whole: every
// hash follows from what stands before it, and the last event is the one that the bundle names.
type BundleReader struct {
	in      *rationed
	decoder *json.Decoder
	seen    map[string]bool // members of the bundle read so far
	head    Bundle          // all but the events
	last    Event           // the last one read
}

// NewBundleReader reads from file, once, and no more of it at a time than it must.
func NewBundleReader(file io.Reader) *BundleReader {
	in := &rationed{file: file}
	decoder := json.NewDecoder(in)
	decoder.UseNumber() // one too large is no error of its own where none should be
	return &BundleReader{in: in, decoder: decoder, seen: map[string]bool{}}
}

// Parts are the events, some at a time, until the bundle has ended well; else an error comes last.
// What is wrong with the bundle is *design.Invalid; what stands in the way of reading it is
// *Malformed, the error of encoding/json or of the file, or ErrMemberTooLarge.
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

// open reads up to the list of events.
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

// Describes tells what stands against the bundle's definition and state, where it has them, being
// those of the study that its events make.
func (r *BundleReader) Describes(after *Snapshot) error {
	switch {
	case r.seen["definition"] && !r.head.Definition.Same(after.Definition):
		return design.NewInvalid("definition", "is not the one that the events lead to", nil)
	case r.seen["state"] && r.head.State != after.State:
		return design.NewInvalid("state", fmt.Sprintf("is not the one that the events lead to, %s", after.State), r.head.State)
	}
	return nil
}

// members reads members of the bundle, up to the list of events or to the end.
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
	if err := r.value(into); err != nil {
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
		if err := r.value(&event); err != nil {
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

// value reads the next value, as strictly as the ledger does: no name twice, no member unknown, no
// number beyond a float64. Nothing is made of one that holds more values than an event can.
func (r *BundleReader) value(into any) error {
	var text json.RawMessage
	if err := r.decoder.Decode(&text); err != nil {
		return cutShort(err)
	}
	if _, err := canonicalWithin(text, mostItems, mostMembers); err != nil {
		return notABundle(err)
	}
	if err := decodeExactly(text, into); err != nil {
		return notABundle(err)
	}
	return nil
}

func (r *BundleReader) expect(want json.Delim) error {
	token, err := r.token()
	if err == nil && token != want {
		return notABundle(fmt.Errorf("%v where %v should be", token, want))
	}
	return err
}

// token reads a token that must be there.
func (r *BundleReader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	return token, cutShort(err)
}

// cutShort tells the end of the file in the middle of a bundle from that of a whole one.
func cutShort(err error) error {
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

// rationed reads no more than its ration until it is given another.
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
