package design

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Fault is one thing wrong with what was given. Field is a path in it such as "parameters[1].high",
// "" for the whole.
type Fault struct {
	Field   string `json:"location"`
	Message string `json:"message"`
	Value   any    `json:"value,omitempty"`
}

// Invalid is well-formed input that breaks rules; it names what is wrong, up to MostFaults things.
type Invalid struct{ Faults Faults }

func (e *Invalid) Error() string {
	first := e.Faults[0].String()
	switch n := len(e.Faults); {
	case n == 1:
		return first
	case n >= MostFaults:
		return fmt.Sprintf("%d things or more are wrong, first %s", n, first)
	default:
		return fmt.Sprintf("%d things are wrong, first %s", n, first)
	}
}

func (f Fault) String() string { return strings.TrimPrefix(f.Field+": "+f.Message, ": ") }

// NewInvalid is one thing wrong with what was sent.
func NewInvalid(field, message string, value any) error {
	return Faults{{Field: field, Message: message, Value: value}}.Err()
}

// What an answer tells of faults is enough to mend the request by, and never large, whatever was
// sent.
const (
	MostFaults     = 100
	longestMessage = 1000 // bytes
	longestField   = 2000 // bytes: two names of the longest and what stands around them
	longestValue   = 1000 // bytes of JSON
)

// Faults collects what is wrong, as much of it as an answer tells.
type Faults []Fault

// Add notes a fault; value is what was sent, nil if nothing was.
func (f *Faults) Add(field string, value any, format string, args ...any) {
	if !f.Full() {
		*f = append(*f, Fault{field, fmt.Sprintf(format, args...), value}.bounded())
	}
}

// Full tells whether no more faults are told, so that looking for them can end.
func (f Faults) Full() bool { return len(f) >= MostFaults }

// Bounded is as much of the faults as an answer tells.
func (f Faults) Bounded() Faults {
	bounded := make(Faults, min(len(f), MostFaults))
	for i := range bounded {
		bounded[i] = f[i].bounded()
	}
	return bounded
}

// Within are the faults of what stood at a path in something larger.
func (f Faults) Within(path string) Faults {
	placed := make(Faults, len(f))
	for i, fault := range f {
		if fault.Field != "" && fault.Field[0] != '[' {
			fault.Field = "." + fault.Field
		}
		fault.Field = path + fault.Field
		placed[i] = fault
	}
	return placed
}

// Err returns *Invalid if there is anything wrong.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Invalid{Faults: f.Bounded()}
}

func (f Fault) bounded() Fault {
	return Fault{cutText(f.Field, longestField), cutText(f.Message, longestMessage), boundedValue(f.Value)}
}

// boundedValue is what was sent as far as it is short: a long text is cut, and what else is long is
// left out.
func boundedValue(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return Shorten(v)
	case Value:
		if v.IsText {
			return TextValue(Shorten(v.Text))
		}
	case json.RawMessage:
		if len(v) > longestValue {
			return nil
		}
	}
	if text, err := json.Marshal(value); err != nil || len(text) > longestValue {
		return nil
	}
	return value
}

// cutText is text, cut to at most longest bytes between two characters.
func cutText(text string, longest int) string {
	const more = "…"
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest-len(more)], "") + more
}

const maxName = 200 // characters

// Shorten keeps what is told of a name readable: names of the longest are told whole, longer texts
// are cut.
func Shorten(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxName {
			return text[:i] + "…"
		}
	}
	return text
}

// listed writes names for a message, the first of them when there are many.
func listed(names []string) string {
	const room = 600 // bytes, of a message's
	shown := 0
	for used := 0; shown < len(names) && (shown == 0 || used+len(names[shown]) <= room); shown++ {
		used += len(names[shown])
	}
	text := strings.Join(names[:shown], ", ")
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// sortedByKey ranges over m in the order of its keys, so that messages come in the same order every
// time.
func sortedByKey[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// orList writes choices for a sentence: "a", "b" or "c"; an empty word is not mentioned.
func orList(words []string) string {
	var quoted []string
	for _, w := range words {
		if w != "" {
			quoted = append(quoted, `"`+w+`"`)
		}
	}
	return Listed(quoted, "or")
}
