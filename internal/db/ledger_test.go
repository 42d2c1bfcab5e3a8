package db_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"headroom/internal/db"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

// book makes events by hand, so that these tests do not lean on how package study makes them.
type book struct {
	last ledger.Event
	now  time.Time
}

func newBook() *book {
	return &book{last: ledger.Event{Hash: strings.Repeat("0", 64)}, now: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)}
}

// next makes the following event. data must be canonical already: members sorted, no spaces.
func (l *book) next(kind ledger.Kind, data string) ledger.Event {
	l.now = l.now.Add(time.Second)
	e := ledger.Event{Seq: l.last.Seq + 1, At: l.now, By: "Ana", Kind: kind, Data: json.RawMessage(data)}
	canonical := fmt.Sprintf(`{"at":%q,"by":%q,"data":%s,"kind":%q,"seq":%d}`, e.At.Format(time.RFC3339Nano), e.By, data, kind, e.Seq)
	sum := sha256.Sum256([]byte(l.last.Hash + canonical))
	e.Hash = hex.EncodeToString(sum[:])
	l.last = e
	return e
}

// created starts a study's ledger.
func (l *book) created() study.Append {
	e := l.next(ledger.Created, `{"definition":{"name":"Buffer screen"}}`)
	after := &ledger.Snapshot{State: ledger.Open, Version: e.Seq, Hash: e.Hash, CreatedAt: e.At, UpdatedAt: e.At}
	after.Definition.Name, after.Definition.Algorithm.Name = "Buffer screen", "rpol-ucb"
	return study.Append{Events: []ledger.Event{e}, After: after}
}

// noted appends one event that changes no trial.
func (l *book) noted(before *ledger.Snapshot, data string) study.Append {
	e := l.next(ledger.Edited, data)
	after := *before
	after.Version, after.Hash, after.UpdatedAt = e.Seq, e.Hash, e.At
	return study.Append{Events: []ledger.Event{e}, After: &after}
}

// note writes such an event and returns the study after it.
func (l *book) note(t *testing.T, d *db.DB, id string, before *ledger.Snapshot) *ledger.Snapshot {
	t.Helper()
	add := l.noted(before, `{"name":"a"}`)
	must.Do(t, write(t, d, id, before, study.Command{}, add))
	return add.After
}

// createStudy puts a study into the database and returns its ledger and its state.
func createStudy(t *testing.T, d *db.DB, id string) (*book, *ledger.Snapshot) {
	t.Helper()
	l := newBook()
	first := l.created()
	must.Do(t, d.Studies.Create(t.Context(), id, study.Command{By: "Ana"}, study.InOnePart(first)))
	return l, first.After
}

// tampered lets the statements behind it change ledgers: somebody with the database's own rights can
// switch the trigger off, but not go unseen.
const tampered = `ALTER TABLE events DISABLE TRIGGER USER; `

// known is the end of the ledger that snap is the fold of.
func known(snap *ledger.Snapshot) study.Known {
	return study.Known{Version: snap.Version, Hash: snap.Hash}
}

// write appends to a study that is as before says.
func write(t *testing.T, d *db.DB, id string, before *ledger.Snapshot, cmd study.Command, add study.Append) error {
	t.Helper()
	return d.Studies.Write(t.Context(), id, cmd, known(before), func([]ledger.Event) (study.Append, error) { return add, nil })
}

// receive waits for a value.
func receive[T any](t *testing.T, channel <-chan T) T {
	t.Helper()
	select {
	case value := <-channel:
		return value
	case <-time.After(testwait.Timeout):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
