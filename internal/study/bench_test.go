package study

import (
	"errors"
	"strings"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// bench runs rules on a study in memory, as Service.write does on the store's.
type bench struct {
	testing.TB
	service *Service
	snap    *ledger.Snapshot
	events  []ledger.Event
	clock   time.Time
}

func newBench(t testing.TB, d design.Definition) *bench {
	t.Helper()
	checked := must.Get(d.Check())(t)
	b := &bench{TB: t, service: NewService(nil, Options{}), clock: time.Date(2026, 3, 1, 9, 0, 0, 123456789, time.UTC)}
	t.Cleanup(b.service.Stop)
	b.must(ruling{drafts: []ledger.Draft{{Kind: ledger.Created, Data: ledger.CreatedData{Definition: checked, Engine: optimizer.Engine}}}}, nil)
	return b
}

// must adds what was ruled to the ledger.
func (b *bench) must(ruled ruling, err error) *ledger.Snapshot {
	b.Helper()
	must.Do(b, err)
	b.clock = b.clock.Add(time.Second)
	events := must.Get(ledger.Next(b.snap, b.clock, "Ana", ruled.drafts...))(b)
	for i := range events {
		events[i].Author = "person:ana"
	}
	after := must.Get(ledger.Fold("bench", b.snap, events, nil))(b)
	b.snap, b.events = b.service.Derived.Put(after), append(b.events, events...)
	return b.snap
}

func (b *bench) ask(count int) *ledger.Snapshot {
	b.Helper()
	return b.must(b.service.ruleAsk(b.Context(), Command{By: "Ana"}, b.snap, Ask{Count: &count}))
}

func (b *bench) tell(number int, metrics map[string]float64) *ledger.Snapshot {
	b.Helper()
	readings := map[string]ledger.Reading{}
	for name, value := range metrics {
		readings[name] = ledger.Reading{Value: value}
	}
	return b.must(ruleTell(b.snap, number, ledger.Telling{Metrics: readings}))
}

// refused fails unless err is of the kind and its sentence contains text.
func (b *bench) refused(ruled ruling, err, kind error, text string) {
	b.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		b.Errorf("got %v, %d drafts; want %v with %q", err, len(ruled.drafts), kind, text)
	}
}

// oven is a small study: two settings, one limit.
func oven() design.Definition { return example("oven") }
