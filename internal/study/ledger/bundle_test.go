package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/mutation"
	"headroom/internal/study/design"
)

// exported is eventful's study as it is exported, by member, and how a bundle is written of
// members.
func exported(t testing.TB) map[string]string {
	b := eventful(t)
	members := map[string]string{}
	for name, value := range map[string]any{"format": BundleFormat, "definition": b.snap.Definition, "state": b.snap.State,
		"version": b.snap.Version, "hash": b.snap.Hash, "events": b.events} {
		text := must.Get(json.Marshal(value))(t)
		members[name] = string(text)
	}
	return members
}

func written(members map[string]string, order ...string) string {
	return "{" + strings.Join(lists.Map(order, func(name string) string { return fmt.Sprintf("%q: %s", name, members[name]) }), ", ") + "}"
}

// readAll reads a bundle to its end.
func readAll(file io.Reader) (events []Event, err error) {
	for more, err := range NewBundleReader(file).Parts() {
		if err != nil {
			return events, err
		}
		if len(more) == 0 {
			return events, errors.New("no events, and not the end")
		}
		events = append(events, more...)
	}
	return events, nil
}

func TestBundlesAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	members := exported(t)
	var want []Event
	must.Do(t, json.Unmarshal([]byte(members["events"]), &want))
	for _, order := range []string{"format definition state version hash events", "events hash version state definition format", "hash version events format"} {
		got, err := readAll(strings.NewReader(" " + written(members, strings.Fields(order)...) + "\n"))
		if err != nil {
			t.Fatalf("%s: %v", order, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got)\n%s", order, diff)
		}
	}
}

func TestBundlesAreReadInPartsOfBoundedSize(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	note := strings.Repeat("x", 9000)
	for len(b.events) < 2*eventsAtOnce {
		chosen := b.chosen(b.snap.Version)
		chosen.Note = note
		b.add(Chosen, chosen)
	}
	text := must.Get(json.Marshal(Bundle{Format: BundleFormat, Definition: b.snap.Definition, State: b.snap.State, Version: b.snap.Version, Hash: b.snap.Hash, Events: b.events}))(t)
	file := &metered{file: strings.NewReader(string(text))}
	parts, from := 0, 0
	for events, err := range NewBundleReader(file).Parts() {
		if err != nil || len(events) > eventsAtOnce || file.read-from > 2*bytesAtOnce {
			t.Fatalf("%d events, %d bytes, %v", len(events), file.read-from, err)
		}
		parts, from = parts+1, file.read
	}
	if parts < 2 || file.read != len(text) {
		t.Errorf("%d of %d bytes in %d parts", file.read, len(text), parts)
	}
}

// metered counts what is read.
type metered struct {
	file io.Reader
	read int
}

func (c *metered) Read(into []byte) (int, error) {
	n, err := c.file.Read(into)
	c.read += n
	return n, err
}

// TestRefusedBundlesAreRefusedInWords: what is wrong, where, and what would be right, not what the
// parser calls it.
func TestRefusedBundlesAreRefusedInWords(t *testing.T) {
	t.Parallel()
	whole := written(exported(t), "format", "definition", "state", "version", "hash", "events")
	for _, c := range []struct{ old, new, says string }{
		{`"seq":2`, `"seq":"2"`, "events[1]: cannot be read: seq must be a whole number, not text"},
		{`"seq":1`, `"seq":1.5`, "events[0]: cannot be read: seq must be a whole number, not 1.5"},
		{`"at":"2026`, `"at":"x`, "events[0]: cannot be read: a time is written as in 2026-05-01T14:02:00Z"},
		{`"at":"2026-03-01T09:00:01.123456Z"`, `"at":2026`, "events[0]: cannot be read: a time is written as in 2026-05-01T14:02:00Z"},
		{`"by"`, `"buy"`, `events[0]: cannot be read: there is no field "buy"`},
		{`"low":20`, `"low":"20"`, "definition: cannot be read: parameters.low must be a number, not text"},
		{`"definition": {`, `"definition": [], "definition2": {`, "definition: cannot be read: it must be an object, not a list"},
		{`"state": "paused"`, `"state": true`, "state: cannot be read: it must be text, not true or false"},
		{`{"format": `, `null`, "this is not an exported study: null where { should be"},
	} {
		text := strings.Replace(whole, c.old, c.new, 1)
		if _, err := readAll(strings.NewReader(text)); text == whole || err == nil || err.Error() != c.says {
			t.Errorf("with %s: %v, want %s", c.new, err, c.says)
		}
	}
	b := newBench(t, oven(t))
	b.choose(1)
	for data, says := range map[string]string{`{"number":"1"}`: "number must be a whole number, not text", `{"number":1,"metrics":7}`: "metrics must be an object, not a number",
		`[]`: "it must be an object, not a list", `{"number":1,"metrics":{},"observed_at":"yesterday"}`: "a time is written as in"} {
		b.refuses(data, Draft{Told, json.RawMessage(data)}, says)
	}
}

// A bundle that is cut short anywhere is no bundle, and says so.
func TestBundlesCutShortAreRefused(t *testing.T) {
	t.Parallel()
	whole := written(exported(t), "format", "definition", "state", "version", "hash", "events")
	random := mutation.Random(t.Name()) // at a third of all places at each commit
	for to := 0; to < len(whole); to += 1 + random.IntN(5) {
		if _, err := readAll(strings.NewReader(whole[:to])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut after %d of %d bytes, behind %q: %v", to, len(whole), whole[max(0, to-20):to], err)
		}
	}
}

func TestFaultyBundlesAreRefused(t *testing.T) {
	t.Parallel()
	usual := []string{"format", "definition", "state", "version", "hash", "events"}
	change := func(name, value string) string {
		members := exported(t)
		members[name] = value
		return written(members, usual...)
	}
	good := exported(t)
	events := good["events"]
	var each []json.RawMessage
	must.Do(t, json.Unmarshal([]byte(events), &each))
	later := must.Get(json.Marshal(each[1:]))(t)
	for name, c := range map[string]struct{ text, location string }{
		"another format":    {change("format", `"headroom-study/2"`), "format"},
		"another version":   {change("version", "3"), "events"},
		"another hash":      {change("hash", `"`+noHash+`"`), "events"},
		"no events":         {change("events", "[]"), "events"},
		"an event less":     {change("events", string(later)), "events"},
		"a changed event":   {change("events", strings.Replace(events, "spilled", "spoiled", 1)), "events"},
		"events missing":    {written(good, "format", "version"), "events"},
		"format missing":    {written(good, "version", "hash", "events"), "format"},
		"an unknown member": {strings.Replace(written(good, usual...), `"state"`, `"estate"`, 1), "estate"},
		"unknown in event":  {change("events", strings.Replace(events, `"by"`, `"buy"`, 1)), "events[0]"},
		"a list":            {"[]", ""},
		"events an object":  {change("events", "{}"), ""},
		"events a number":   {change("events", "1e999"), ""},
	} {
		_, err := readAll(strings.NewReader(c.text))
		var faulty *design.Invalid
		if !errors.As(err, &faulty) || faulty.Faults[0].Field != c.location {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct{ text, location string }{
		"a member twice":   {written(good, append(usual, "state")...), "state"},
		"events twice":     {written(good, append(usual, "events")...), "events"},
		"twice in event":   {change("events", strings.Replace(events, `"by"`, `"seq":1,"by"`, 1)), ""},
		"something behind": {written(good, usual...) + "{}", ""},
		"not UTF-8":        {change("hash", "\"\xff\""), ""},
		"half a pair":      {change("hash", `"\ud800"`), ""},
	} {
		_, err := readAll(strings.NewReader(c.text))
		var malformed *Malformed
		if !errors.As(err, &malformed) || malformed.Field != c.location {
			t.Errorf("%s: %v", name, err)
		}
	}
	var syntax *json.SyntaxError
	if _, err := readAll(strings.NewReader(`{"format" 1}`)); !errors.As(err, &syntax) {
		t.Errorf("no JSON: %v", err)
	}
	endless := io.MultiReader(strings.NewReader(`{"events": ["`), repeated('x'))
	if _, err := readAll(endless); !errors.Is(err, ErrMemberTooLarge) {
		t.Errorf("an endless event: %v", err)
	}
}

// repeated is one byte again and again.
type repeated byte

func (b repeated) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = byte(b)
	}
	return len(into), nil
}

// FuzzBundle: a file is read to its end or refused, and what is read hangs together.
func FuzzBundle(plain *testing.F) {
	f := mutation.Of(plain)
	members := exported(f)
	for _, order := range []string{"format definition state version hash events", "hash version events format", "format events events"} {
		f.Add(written(members, strings.Fields(order)...))
	}
	f.Fuzz(func(t *testing.T, text string) {
		events, err := readAll(strings.NewReader(text))
		if err == nil {
			err = CheckChain(events)
			if err != nil {
				t.Errorf("it was read, though %v", err)
			}
		}
	})
}
