package derived

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/scheduler"
)

// page is a version of a document, of 1000 bytes of its own and 100 for each neighbour that it does
// not have.
type page struct {
	id      string
	version int64
	hash    string
}

func (p page) Identity() (id string, version int64, hash string) { return p.id, p.version, p.hash }

func (p page) BytesBeside(others ...page) int64 { return 1200 - 100*int64(len(others)) }

// sized is a value that holds so many bytes, beside what its entry takes.
type sized int64

func (n sized) Bytes() int64 { return int64(n) - entryBytes }

const large = "large"

func newStore(t testing.TB, limit int64) *Store[page] {
	t.Helper()
	s := New[page](limit, 1, large, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Jobs.Stop)
	return s
}

// size is how many bytes are kept, of how many versions.
func size(s *Store[page]) (bytes int64, versions int) {
	for _, held := range s.Held() {
		bytes += held.Bytes
	}
	return bytes, s.Held()["versions"].Entries
}

// derive has so many bytes kept of a version under a name.
func derive(t testing.TB, s *Store[page], of page, what any, bytes sized) {
	must.Get(Get(context.Background(), s, of, what, func(context.Context) (sized, error) { return bytes, nil }))(t)
}

func TestVersionsUsedLongestAgoGoFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t, 5*1200)
	first := s.Put(page{"a", 1, "first"})
	if again := s.Put(page{"a", 1, "again"}); again != first {
		t.Error("one version, one page")
	}
	s.Put(page{"a", 2, ""})
	s.Put(page{"b", 7, ""})
	for _, c := range []struct {
		id       string
		at, want int64
	}{{"a", 0, 2}, {"a", 1, 1}, {"a", 9, 2}, {"b", 6, 0}, {"b", 9, 7}, {"c", 0, 0}} {
		if got, found := s.UpTo(c.id, c.at); got.version != c.want || found != (c.want > 0) {
			t.Errorf("%s up to %d is %+v, want version %d", c.id, c.at, got, c.want)
		}
	}
	for v := range int64(50) {
		s.Put(page{fmt.Sprint("c", v), v + 1, ""})
		if got, _ := s.UpTo("a", 1); got != first { // used again and again
			t.Fatalf("a@1 went before the %d others that nobody asks for", v+1)
		}
	}
	if used, versions := size(s); used > s.limit || versions != 5 {
		t.Errorf("%d bytes of %d in %d versions", used, s.limit, versions)
	}
	for v := range int64(100) {
		s.Put(page{"long", v + 1, ""})
	}
	s = newStore(t, 1<<30)
	for v := range int64(100) {
		derive(t, s, s.Put(page{"long", v + 1, ""}), "more", 100)
		s.UpTo("long", 1)
	}
	if used, versions := size(s); versions != mostVersions || s.things["long"].versions[0].number != 1 || s.recent.Len() != 2*mostVersions || used != s.used {
		t.Errorf("%d versions of one thing are kept, the first of them %d", versions, s.things["long"].versions[0].number)
	}
}

// What something is being derived from stays, with what was derived before, beside a quarter of the
// limit for others, and goes as anything else after that.
func TestWhatIsHeldStays(t *testing.T) {
	t.Parallel()
	s := newStore(t, 16*1200)
	of := s.Put(page{"held", 1, ""})
	derive(t, s, of, large, 20*1200)
	waiting, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := Get(waiting, s, of, "more", func(ctx context.Context) (sized, error) { <-ctx.Done(); return 0, ctx.Err() })
		left <- err
	}()
	for held := false; !held; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		held = len(s.held) == 1
		s.mu.Unlock()
	}
	others := func(from int) {
		for i := range 30 {
			s.Put(page{fmt.Sprint("other", from+i), 1, ""})
		}
	}
	others(0)
	if _, versions := size(s); s.things["held"] == nil || versions != 4 {
		t.Errorf("beside what is held %d versions are kept; what is held: %v", versions-1, s.things["held"])
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	others(100)
	if used, _ := size(s); s.things["held"] != nil || used > s.limit {
		t.Errorf("what was let go of stays, with %d of %d bytes", used, s.limit)
	}
}

// Looking back and forth at a growing thing derives something large from many of its versions; few
// of them keep it, and those that somebody waits for as far as there is room.
func TestFewVersionsKeepWhatIsLarge(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1<<20)
	version := func(v int64) page { return s.Put(page{"one", v, ""}) }
	look := func(versions ...int64) {
		for _, v := range versions {
			derive(t, s, version(v), large, 5000)
			derive(t, s, version(v), "chart", 300)
		}
	}
	keep := func(want ...int64) {
		t.Helper()
		var got []int64
		for _, v := range s.things["one"].versions {
			if len(v.values) == 2 {
				got = append(got, v.number)
			} else if len(v.values) > 0 {
				t.Errorf("version %d keeps part of what was derived from it", v.number)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("kept is what is large of %v, want %v", got, want)
		}
	}
	look(20, 21, 22)
	keep(22) // each shares with the one before
	look(3, 9, 5)
	keep(5, 9, 22)
	look(7, 11, 9)
	keep(9, 11, 22)
	for _, v := range []int64{9, 11, 13, 22} {
		version(v)
		s.hold(s.kept(key{"one", v, "", nil}), 1)
	}
	look(13, 15, 17)
	keep(9, 11, 13, 17, 22)
	look(23)
	keep(9, 11, 13, 22, 23)
	if from, bytes, found := Newest[sized](s, "one"); from.version != 23 || bytes != 5000 || !found {
		t.Errorf("the newest is %v of %v", bytes, from)
	}
	s.limit = 50_000 // half of which is less than what is kept beside the newest
	look(19)
	keep(9, 11, 13, 19, 23) // the one that was derived first has gone
}

// What is large is needed by all else that is derived from a version: that does not stay without
// it.
func TestNothingStaysWithoutWhatIsLarge(t *testing.T) {
	t.Parallel()
	s := newStore(t, 16*1200)
	of := s.Put(page{"a", 1, ""})
	derive(t, s, of, large, 12*1200)
	derive(t, s, of, "chart", 1000)
	derive(t, s, s.Put(page{"b", 1, ""}), large, 5*1200)
	if v := s.things["a"].versions[0]; len(v.values) != 0 {
		t.Errorf("kept without what is large: %v", v.values)
	}
}

// Whoever asks for ever more of one thing leaves the others what is theirs, and of its own what was
// used last.
func TestManySmallThingsLeaveTheOthersTheirs(t *testing.T) {
	t.Parallel()
	s := newStore(t, 16*10_000)
	derive(t, s, s.Put(page{"other", 1, ""}), large, 90_000)
	one := s.Put(page{"one", 1, ""})
	derive(t, s, one, large, 50_000)
	for i := range 200 {
		derive(t, s, one, i, 1000)
		derive(t, s, one, 0, 1000) // again and again
	}
	values := s.things["one"].versions[0].values
	if values[0] == nil || values[199] == nil || values[large] == nil || len(values) != 1+10 || s.things["other"].versions[0].values[large] == nil {
		t.Errorf("%d are kept of one, %v of the other", len(values), s.things["other"])
	}
}

// A property: what is said to be held is held, and no more than there is room for; what goes, goes
// before that from which it was derived.
func TestWhatIsHeldIsCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := New[page](rapid.Int64Range(2000, 100_000).Draw(t, "limit"), 1, large, slog.New(slog.DiscardHandler))
		holds := map[*version[page]]bool{}
		for range 60 {
			of := page{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"), rapid.Int64Range(1, 50).Draw(t, "version"), ""}
			added := false
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				s.UpTo(of.id, of.version)
			case 1:
				if v := s.kept(key{of.id, of.version, "", nil}); v != nil && !holds[v] {
					s.hold(v, 1)
					holds[v] = true
				}
			case 2:
				for v := range holds {
					s.hold(v, -1)
					delete(holds, v)
					s.shrink()
				}
			default:
				s.Put(of)
				what := rapid.SampledFrom([]any{large, "chart", 1, 2, 3}).Draw(t, "what")
				bytes := sized(rapid.Int64Range(entryBytes, 9000).Draw(t, "bytes"))
				must.Get(Get(context.Background(), s, of, what, func(context.Context) (sized, error) { added = true; return bytes, nil }))(t)
			}
			audit(t, s)
			if added {
				fits(t, s)
			}
		}
	})
}

func audit(t *rapid.T, s *Store[page]) {
	before := map[*version[page]]bool{}
	for place := s.recent.Front(); place != nil; place = place.Next() {
		e := place.Value.(*entry[page])
		if e.what != nil && !before[e.version] {
			t.Fatalf("version %d would go before the %v derived from it", e.version.number, e.what)
		}
		before[e.version] = true
	}
	places, sum := 0, int64(0)
	for id, thing := range s.things {
		own, small := int64(0), int64(0)
		for i, v := range thing.versions {
			if i > 0 && thing.versions[i-1].number >= v.number {
				t.Fatalf("versions of %s are out of order", id)
			}
			bytes := int64(0)
			for what, place := range v.values {
				e := place.Value.(*entry[page])
				if bytes += e.bytes; e.what != what || e.version != v {
					t.Fatalf("%v stands for %v", what, e)
				}
			}
			if bytes != v.bytes {
				t.Fatalf("%d bytes are counted of a version that has %d", v.bytes, bytes)
			}
			if slices.Contains(thing.large, v) != (v.values[large] != nil) {
				t.Fatalf("version %d of %s is large: %t", v.number, id, v.values[large] == nil)
			}
			if v.values[large] != nil {
				small -= v.values[large].Value.(*entry[page]).bytes
			}
			small += bytes
			own, places = own+bytes, places+1+len(v.values)
		}
		if small != thing.small || small > s.limit/smallShare {
			t.Fatalf("%d bytes of small things are counted, there are %d of at most %d", thing.small, small, s.limit/smallShare)
		}
		if len(thing.versions) == 0 {
			t.Fatalf("nothing is kept of %s", id)
		}
		sum += own + thing.content
	}
	if places != s.recent.Len() || sum != s.used {
		t.Fatalf("%d bytes in %d places are counted, there are %d in %d", s.used, s.recent.Len(), sum, places)
	}
}

// fits wants no more to be kept than there is room for.
func fits(t *rapid.T, s *Store[page]) {
	if s.recent.Len() == 0 {
		return
	}
	held := int64(0)
	for v := range s.held {
		held += v.bytes
	}
	last := s.recent.Front().Value.(*entry[page]).version
	if most := max(s.limit, s.limit/4+held); s.used > most {
		for place := s.recent.Back(); place != nil; place = place.Prev() {
			if v := place.Value.(*entry[page]).version; v != last && s.held[v] == 0 {
				t.Fatalf("%d bytes of %d are kept, of which some could go", s.used, most)
			}
		}
	}
}

// What is wanted by many at once is derived once, for as long as it is kept; errors and panics are
// told to all, and not kept.
func TestWhatManyWantIsDerivedOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1<<20)
	of, begun, broken := s.Put(page{"a", 1, ""}), 0, errors.New("no luck")
	all := func(end error, want int) {
		t.Helper()
		together, answers := make(chan struct{}), make(chan error)
		for range 20 {
			go func() {
				_, err := Get(t.Context(), s, of, "chart", func(context.Context) (int, error) {
					begun++ // one at a time
					<-together
					return begun, end
				})
				answers <- err
			}()
		}
		for waiting := 0; waiting < 20 && want > 0; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			if f := s.flights[key{"a", 1, "", "chart"}]; f != nil {
				waiting = f.waiting
			}
			s.mu.Unlock()
		}
		close(together)
		for range 20 {
			if err := <-answers; !errors.Is(err, end) {
				t.Errorf("told is %v, want %v", err, end)
			}
		}
		if begun != want && want > 0 {
			t.Errorf("begun %d times, want %d", begun, want)
		}
	}
	all(broken, 1)
	all(nil, 2)
	all(nil, 0)
	if begun != 2 {
		t.Errorf("what is kept is derived again")
	}
	mightBe := page{"a", 1, "as it might be"}
	for want := range 3 {
		if got, err := Get(t.Context(), s, mightBe, "chart", func(context.Context) (int, error) { return want, nil }); err != nil || got != want {
			t.Errorf("of a version that is not kept: %d, %v", got, err)
		}
	}
	for want := range 3 {
		if got, err := Fresh(t.Context(), s, of, "moment", time.Nanosecond, func(context.Context) (int, error) { return want, nil }); err != nil || got != want {
			t.Errorf("what is old is %d, %v", got, err)
		}
	}
	if got, err := Fresh(t.Context(), s, of, "moment", time.Hour, func(context.Context) (int, error) { return 7, nil }); err != nil || got != 2 {
		t.Errorf("what is not old is %d, %v", got, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.flights) > 0 {
		t.Errorf("%d flights are remembered after their end", len(s.flights))
	}
}

// It goes on while one of those who wait for it is left, as urgent as the most urgent who came;
// when they all have gone it ends, and whoever comes then begins again.
func TestItGoesOnWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1<<20)
	begun, slow, urgent := make(chan context.Context), make(chan struct{}), scheduler.Reading
	get := func(ctx context.Context) chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := Get(ctx, s, page{"a", 1, ""}, "state", func(ctx context.Context) (int, error) {
				begun <- ctx
				<-ctx.Done()
				<-slow
				return 0, ctx.Err()
			})
			answer <- err
		}()
		return answer
	}
	waits := func(n int) {
		for waiting := 0; waiting != n; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			waiting = s.flights[key{"a", 1, "", "state"}].waiting
			s.mu.Unlock()
		}
	}
	first, leaveFirst := context.WithCancel(t.Context())
	one := get(first)
	work := <-begun
	if urgent = scheduler.Of(work).Now(); urgent != scheduler.Reading {
		t.Errorf("it is begun as %v", urgent)
	}
	second, leaveSecond := context.WithCancel(scheduler.With(t.Context(), scheduler.Choosing))
	two := get(second)
	waits(2)
	if urgent = scheduler.Of(work).Now(); urgent != scheduler.Choosing {
		t.Errorf("somebody who chooses waits for it, and it is %v", urgent)
	}
	leaveFirst()
	if err := <-one; !errors.Is(err, context.Canceled) || work.Err() != nil {
		t.Errorf("one has left with %v, and it has %v", err, work.Err())
	}
	abandoned := s.flights[key{"a", 1, "", "state"}]
	leaveSecond()
	if err := <-two; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	third, leaveThird := context.WithCancel(t.Context())
	three := get(third)
	if again := <-begun; again == work || again.Err() != nil {
		t.Error("it is not begun again")
	}
	close(slow)
	<-abandoned.done // only now, and is of no concern
	waits(1)
	leaveThird()
	<-three
}
