package api

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/memory/memorytest"
)

// everyBody are the types that bodies of requests are read into.
var everyBody = append(slices.Clone(requestTypes), reflect.TypeFor[reasonRequest](), reflect.TypeFor[failRequest](), reflect.TypeFor[account.NewToken](), reflect.TypeFor[shareRequest]())

// sent is a body, and what it is read into.
type sent struct {
	into reflect.Type
	text []byte
}

// large is a quarter of what a body may have: who keeps too much of it does so of this too, and the race detector has less to watch.
const large = request.MaxBody / 4

// largest are bodies of that size: of each type of list, of object, and of value of any form that occurs in requests one, filled with the least that
// it holds.
func largest() map[string]sent {
	var into reflect.Type
	bodies, seen := map[string]sent{}, map[reflect.Type]bool{}
	var fill func(path string, t reflect.Type, before, after string)
	fill = func(path string, t reflect.Type, before, after string) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if seen[t] {
			return
		}
		seen[t] = true
		room := large - len(before) - len(after)
		list := func(items string) {
			bodies[path+" of "+items] = sent{into, []byte(before + "[" + strings.Repeat(items+",", (room-2-len(items))/(len(items)+1)) + items + "]" + after)}
		}
		object := func(value string) {
			var members strings.Builder
			for i := 0; members.Len() < room-20-len(value); i++ {
				fmt.Fprintf(&members, `"%x":%s,`, i, value)
			}
			bodies[path+" by name of "+value] = sent{into, []byte(before + "{" + strings.TrimSuffix(members.String(), ",") + "}" + after)}
		}
		switch {
		case isFree(t):
			for _, least := range []string{"1", `""`, "[]", "{}", `{"a":1}`} {
				list(least)
			}
			object("1")
			object("[]")
		case readsItself(t) || t.Kind() == reflect.String:
			bodies[path+", a text"] = sent{into, []byte(before + `"` + strings.Repeat("a", room-2) + `"` + after)}
		case t.Kind() == reflect.Struct:
			for _, f := range fieldsOf(t) {
				fill(path+"."+f.name, f.kind, before+"{"+others(t, f.name)+`"`+f.name+`":`, "}"+after)
			}
			if t == everyBody[0] {
				bodies[path+" by name"] = sent{into, []byte(before + `{"` + strings.Repeat("a", room-6) + `":1}` + after)}
			}
		case t.Kind() == reflect.Slice:
			for _, least := range leasts(t.Elem()) {
				list(least)
			}
			fill(path+"[0]", t.Elem(), before+"[", "]"+after)
		case t.Kind() == reflect.Map:
			for _, least := range leasts(t.Elem()) {
				object(least)
			}
			fill(path+".x", t.Elem(), before+`{"x":`, "}"+after)
		}
	}
	for _, into = range everyBody {
		fill(into.String(), into, "", "")
	}
	return bodies
}

// others are the members beside one that a struct must have.
func others(t reflect.Type, but string) string {
	var text strings.Builder
	for _, f := range fieldsOf(t) {
		if f.required && f.name != but {
			fmt.Fprintf(&text, `"%s":%s,`, f.name, leasts(f.kind)[0])
		}
	}
	return text.String()
}

// leasts are the shortest values of a type.
func leasts(t reflect.Type) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return append(leasts(t.Elem()), "null")
	case t == timeType:
		return []string{`"2026-05-01T14:02:00Z"`}
	case isFree(t), t == readingType, t == valueType, t.Kind() == reflect.Float64, t.Kind() == reflect.Int, t.Kind() == reflect.Int64, t.Kind() == reflect.Uint64:
		return []string{"1"}
	case t.Kind() == reflect.Slice:
		return []string{"[]", "[" + leasts(t.Elem())[0] + "]"}
	case t.Kind() == reflect.Map:
		return []string{"{}", `{"x":` + leasts(t.Elem())[0] + "}"}
	case t.Kind() == reflect.Struct:
		return []string{"{" + strings.TrimSuffix(others(t, ""), ",") + "}"}
	case t.Kind() == reflect.Bool:
		return []string{"true"}
	}
	return []string{`""`}
}

// TestLargeBodiesAreReadInLittleMore: whatever a large body holds, reading it takes little more than its bytes: limits are looked at on the way.
func TestLargeBodiesAreReadInLittleMore(t *testing.T) {
	for shape, sent := range largest() {
		if len(sent.text) > large || len(sent.text) < large-100 {
			t.Fatalf("%s: %d bytes that say %.100s", shape, len(sent.text), sent.text)
		}
		into := reflect.New(sent.into).Interface()
		var err error
		allocated := memorytest.Allocated(func() { err = decodeJSON(t.Context(), sent.text, into) })
		if status := problem.Of(err).Status; err != nil && status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v", shape, err)
		}
		t.Logf("%s: %.1f times its size, %v", shape, float64(allocated)/float64(len(sent.text)), err)
		if allocated > 10*len(sent.text) {
			t.Errorf("%s: %d bytes took %d", shape, len(sent.text), allocated)
		}
	}
}
