package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"headroom/internal/must"
)

func TestChainIsHashedAsTheContractSays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 8, 5, 30, 120000999, time.FixedZone("", 3600))
	events := must.Get(Next(nil, at, "Ana <ana@lab>", Draft{Edited, EditedData{Name: new("µ & <b>")}}, Draft{Failed, ClosedData{3, "x", BySettings}}))(t)
	previous := strings.Repeat("0", 64)
	for i, text := range []string{
		`{"at":"2026-11-02T07:05:30.12Z","by":"Ana <ana@lab>","data":{"name":"µ & <b>"},"kind":"edited","seq":1}`,
		`{"at":"2026-11-02T07:05:30.12Z","by":"Ana <ana@lab>","data":{"cause":"settings","number":3,"reason":"x"},"kind":"failed","seq":2}`,
	} {
		sum := sha256.Sum256([]byte(previous + text))
		if previous = hex.EncodeToString(sum[:]); events[i].Hash != previous {
			t.Errorf("event %d: got hash %s, want %s", i+1, events[i].Hash, previous)
		}
	}
	if err := CheckChain(events); err != nil {
		t.Error(err)
	}
	// What a reader outside sees gives the same hash: the printed event without its hash,
	// canonical.
	printed, err := json.Marshal(events[0])
	if err != nil || !strings.Contains(string(printed), `"at":"2026-11-02T07:05:30.12Z"`) {
		t.Errorf("printed as %s (%v)", printed, err)
	}
}

// TestARequestHasATimeOfItsOwn, which its events share, even if the clock stands still or goes back.
func TestARequestHasATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{last, last.Add(-time.Hour)} {
		events, err := Next(&Snapshot{Version: 4, UpdatedAt: last, Hash: noHash}, now, "Ana", Draft{Failed, ClosedData{1, "x", BySettings}}, Draft{Failed, ClosedData{2, "x", BySettings}})
		if err != nil || !events[0].At.After(last) || !events[1].At.Equal(events[0].At) || events[0].Seq != 5 {
			t.Fatalf("%v %+v", err, events)
		}
	}
}

// TestWhatWasWrittenTogetherIsKnown, whether it was folded at once or event by event.
func TestWhatWasWrittenTogetherIsKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	chosen := func(number int) Draft {
		return Draft{Chosen, ChosenData{Number: number, Origin: Imported, Parameters: b.snap.Chosen(1), Seen: 1, Engine: "test", KnownValues: b.snap.KnownAsChosen(1)}}
	}
	told := Draft{Told, ToldData{Number: 2, Telling: Telling{Metrics: map[string]Reading{"yield": {Value: 1}}}}}
	events := must.Get(Next(b.snap, b.snap.UpdatedAt, "Ana", chosen(2), told, chosen(3)))(t)
	events = append(events, must.Get(Next(must.Get(Fold("bench", b.snap, events, nil))(t), b.snap.UpdatedAt, "Ana", chosen(4), chosen(5)))(t)...)
	whole, stepwise := must.Get(Fold("bench", b.snap, events, nil))(t), b.snap
	for _, e := range events {
		stepwise = must.Get(Fold("bench", stepwise, []Event{e}, nil))(t)
	}
	for _, snap := range []*Snapshot{whole, stepwise} {
		for seq, want := range map[int64]string{1: "1–1 []", 2: "2–2 [1]", 3: "3–5 [2 3]", 4: "3–5 [2 3]", 5: "3–5 [2 3]", 6: "6–7 [4 5]", 7: "6–7 [4 5]"} {
			first, last, numbers := snap.Together(seq)
			if got := fmt.Sprintf("%d–%d %v", first, last, numbers); got != want {
				t.Errorf("with event %d were written %s, want %s", seq, got, want)
			}
		}
	}
	if first, last, _ := must.Get(Fold("bench", b.snap, events[:2], nil))(t).Together(3); first != 3 || last != 4 {
		t.Errorf("an earlier version has %d to %d", first, last)
	}
}

func TestCheckChainFindsEveryChange(t *testing.T) {
	t.Parallel()
	make4 := func() []Event {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		events := must.Get(Next(nil, now, "Ana", Draft{Failed, ClosedData{1, "a", BySettings}}, Draft{Failed, ClosedData{2, "b", BySettings}},
			Draft{Failed, ClosedData{3, "c", BySettings}}, Draft{Failed, ClosedData{4, "d", BySettings}}))(t)
		return events
	}
	changes := map[string]func(e []Event) []Event{
		"data":      func(e []Event) []Event { e[1].Data = json.RawMessage(`{"number":2,"reason":"B"}`); return e },
		"who":       func(e []Event) []Event { e[1].By = "Bo"; return e },
		"kind":      func(e []Event) []Event { e[1].Kind = Abandoned; return e },
		"time":      func(e []Event) []Event { e[1].At = e[1].At.Add(time.Microsecond); return e },
		"hash":      func(e []Event) []Event { e[3].Hash = noHash; return e },
		"missing":   func(e []Event) []Event { return append(e[:1], e[2:]...) },
		"swapped":   func(e []Event) []Event { e[1], e[2] = e[2], e[1]; return e },
		"beginning": func(e []Event) []Event { return e[1:] },
	}
	for name, change := range changes {
		if err := CheckChain(change(make4())); err == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
	if err := CheckChain(make4()); err != nil {
		t.Error(err)
	}
}

// The expected texts are those of RFC 8785, sections 3.2.2 and 3.2.3 and appendix B.

func TestCanonicalJSONIsThatOfRFC8785(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want string }{
		{`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		   "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{`[-0, 0.0, "\b\f\t\u0000\u007f<>&\u2028", {}, []]`, "[0,0,\"\\b\\f\\t\\u0000\u007f<>&\u2028\",{},[]]"},
	}
	for _, c := range cases {
		got, err := canonicalJSON([]byte(c.text))
		if err != nil || string(got) != c.want {
			t.Errorf("%s\n got %s (%v)\nwant %s", c.text, got, err, c.want)
		}
	}
}

func TestCanonicalNumbersAreThoseOfECMAScript(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		x := math.Float64frombits(bits)
		got, err := appendNumber(nil, strconv.FormatFloat(x, 'e', -1, 64))
		if err != nil || string(got) != want {
			t.Errorf("%x: got %s (%v), want %s", bits, got, err, want)
		}
	}
}

// TestMinusZeroIsReadAsZero: two ledgers with the same hashes, as of a bundle in which a 0 was given a sign,
// say the same.
func TestMinusZeroIsReadAsZero(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"-0", "-0.0", `{"value":-0.0}`, `{"value": -0.0, "stddev": 1}`} {
		var r Reading
		if err := json.Unmarshal([]byte(text), &r); err != nil || math.Signbit(r.Value) {
			t.Errorf("%s is read as %v, %v", text, r.Value, err)
		}
	}
}

func TestCanonicalJSONRefusesWhatHasTwoReadings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `1 2`, `{"a":1}x`, `1e400`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00\ud800"`, "\"\xff\"", ``, `[1,]`, `{"a"}`,
	} {
		if got, err := canonicalJSON([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, got)
		}
	}
	if _, err := canonicalJSON([]byte(`"\\ud800 \ud83d\ude00"`)); err != nil {
		t.Errorf("an escaped backslash and a whole pair are no half pairs: %v", err)
	}
}

func TestCanonicalJSONKeepsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for _, name := range rapid.SliceOfN(rapid.String(), 0, 6).Draw(t, "names") {
			value[name] = rapid.Float64().Draw(t, "number")
		}
		text := must.Get(json.Marshal(value))(t)
		once := must.Get(canonicalJSON(text))(t)
		var read map[string]any
		must.Do(t, json.Unmarshal(once, &read))
		for name, x := range value {
			if read[name] != x {
				t.Fatalf("%q: %v became %v", name, x, read[name])
			}
		}
		if again, err := canonicalJSON(once); err != nil || string(again) != string(once) {
			t.Fatalf("%s became %s (%v)", once, again, err)
		}
	})
}

// drawJSON writes any JSON value, with spaces, escapes and all kinds of numbers, sometimes with a
// fault.
func drawJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")
	text := func() string {
		plain := rapid.SampledFrom([]string{"a", "b", "ab", "", "é", "\ufb33", "😀", "z\u007f"}).Draw(t, "text")
		written, _ := json.Marshal(plain)
		if rapid.Bool().Draw(t, "escaped") {
			return rapid.SampledFrom([]string{`"\u0061"`, `"\n\/"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\\u0061"`, `"\u20ac\""`}).Draw(t, "escape")
		}
		return string(written)
	}
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 3)
	}
	var value string
	switch kind {
	case 0:
		value = text()
	case 1, 2:
		value = rapid.SampledFrom([]string{"0", "-0", "1", "-12.50", "1e3", "1E-7", "123456789012345678901234", "1e400", "0.1", "5e-324"}).Draw(t, "number")
	case 3:
		value = rapid.SampledFrom([]string{"true", "false", "null", "nul", ""}).Draw(t, "literal")
	default:
		parts := make([]string, rapid.IntRange(0, 4).Draw(t, "parts"))
		for i := range parts {
			if parts[i] = drawJSON(t, depth-1); kind > 4 {
				parts[i] = space + text() + space + ":" + parts[i]
			}
		}
		value = "[" + strings.Join(parts, ",") + space + "]"
		if kind > 4 {
			value = "{" + strings.Join(parts, ",") + space + "}"
		}
	}
	return space + value + space
}

func TestCanonicalJSONIsThatOfTheSlowWay(t *testing.T) {
	t.Parallel()
	good := 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawJSON(t, 3)
		got, err := canonicalJSON([]byte(text))
		want, wrong := slowCanonicalJSON([]byte(text))
		if (err == nil) != (wrong == nil) || wrong == nil && string(got) != string(want) {
			t.Fatalf("%s\n got %s (%v)\nwant %s (%v)", text, got, err, want, wrong)
		}
		if err == nil {
			good++
		}
	})
	if good < 20 {
		t.Errorf("only %d texts were good", good)
	}
	for depth, fits := range map[int]bool{maximalDepth: true, maximalDepth + 1: false, 9000: false} {
		text := []byte(strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth))
		_, err := canonicalJSON(text)
		_, wrong := slowCanonicalJSON(text)
		if (err == nil) != fits || (wrong == nil) != fits {
			t.Errorf("depth %d: %v, %v", depth, err, wrong)
		}
	}
}

// slowCanonicalJSON does the same token by token, with the standard library doing the reading: what
// the fast way is held against.
func slowCanonicalJSON(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	if at := LoneSurrogate(text); at >= 0 {
		return nil, fmt.Errorf("byte %d: half of a surrogate pair", at)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	out, err := slowCanonical(make([]byte, 0, len(text)), decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return out, nil
}

// slowCanonical appends the next value of decoder.
func slowCanonical(out []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	if depth > maximalDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maximalDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return slowObject(out, decoder, depth)
		}
		return slowArray(out, decoder, depth)
	case string:
		return appendString(out, token), nil
	case json.Number:
		return appendNumber(out, token.String())
	case bool:
		return strconv.AppendBool(out, token), nil
	default:
		return append(out, "null"...), nil
	}
}

func slowArray(out []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	out = append(out, '[')
	for first := true; decoder.More(); first = false {
		if !first {
			out = append(out, ',')
		}
		var err error
		if out, err = slowCanonical(out, decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return append(out, ']'), err
}

// slowMember is one name of an object with its canonical value.
type slowMember struct {
	name  string
	units []uint16 // of name, the sort key
	value []byte
}

func slowObject(out []byte, decoder *json.Decoder, depth int) ([]byte, error) {
	var members []slowMember
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		value, err := slowCanonical(nil, decoder, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, slowMember{name, utf16.Encode([]rune(name)), value})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b slowMember) int { return slices.Compare(a.units, b.units) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return nil, fmt.Errorf("the name %q is used twice", m.name)
			}
			out = append(out, ',')
		}
		out = appendString(out, m.name)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}
