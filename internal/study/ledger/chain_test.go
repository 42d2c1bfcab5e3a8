package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestChainIsHashedAsTheContractSays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 8, 5, 30, 120000999, time.FixedZone("", 3600))
	events, err := chain(Event{}, at, "Ana <ana@lab>", Draft{Edited, EditedData{Name: new("µ & <b>")}}, Draft{Failed, ClosedData{3, "x", BySettings}})
	if err != nil {
		t.Fatal(err)
	}
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

func TestTimeNeverGoesBack(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events, err := chain(Event{Seq: 4, At: last, Hash: noHash}, last.Add(-time.Hour), "Ana", Draft{Failed, ClosedData{1, "x", BySettings}})
	if err != nil || !events[0].At.Equal(last) || events[0].Seq != 5 {
		t.Fatalf("%v %+v", err, events)
	}
}

func TestCheckChainFindsEveryChange(t *testing.T) {
	t.Parallel()
	make4 := func() []Event {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		events, err := chain(Event{}, now, "Ana", Draft{Failed, ClosedData{1, "a", BySettings}}, Draft{Failed, ClosedData{2, "b", BySettings}},
			Draft{Failed, ClosedData{3, "c", BySettings}}, Draft{Failed, ClosedData{4, "d", BySettings}})
		if err != nil {
			t.Fatal(err)
		}
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
