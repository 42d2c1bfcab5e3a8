package db_test

import (
	"testing"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
)

// How a verification ended is known after a restart, and on every server; that of an earlier
// version does not take its place.
func TestAVerificationIsKnownToAllServers(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.URL(t))
	one, other := serve(t, d), serve(t, d)
	created := create(t, one, reactor())
	last := func() *study.Verified {
		t.Helper()
		now, last, err := other.Verifying(t.Context(), created.ID)
		if err != nil || now.Going {
			t.Fatalf("it goes on: %+v, %v", now, err)
		}
		return last
	}
	if last() != nil {
		t.Error("it is verified before anybody has asked for it")
	}
	snap := play(t, one, created.ID, 3)
	for _, at := range []int64{snap.Version, 3} {
		past := must.Get(one.Snapshot(t.Context(), created.ID, at))(t)
		must.Get(one.Verify(t.Context(), past))(t)
		if known := last(); known == nil || known.Version != snap.Version || known.Hash != snap.Hash || !known.OK || known.Checked != 3 || known.At.IsZero() {
			t.Errorf("after verifying up to event %d another server knows %+v", at, known)
		}
	}
	if _, _, err := other.Verifying(t.Context(), "elsewhere"); err == nil {
		t.Error("a study that is not there is as one that was not verified")
	}
}

// TestAVerificationIsToldWithoutWriting: a database that takes no writes keeps no outcome, and the
// server that found it tells it all the same.
func TestAVerificationIsToldWithoutWriting(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.URL(t))
	one, other := serve(t, d), serve(t, d)
	snap := play(t, one, create(t, one, reactor()).ID, 3)
	must.Get(d.Pool().Exec(t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'read only' USING ERRCODE = '25006'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON studies FOR EACH ROW EXECUTE FUNCTION refuse()`))(t)
	known := func(s *study.Service) *study.Verified {
		t.Helper()
		_, last, err := s.Verifying(t.Context(), snap.ID)
		must.Do(t, err)
		return last
	}
	if outcome, err := one.Verify(t.Context(), snap); err != nil || !outcome.OK || outcome.Checked != 3 {
		t.Errorf("it found %+v, %v", outcome, err)
	}
	if here, elsewhere := known(one), known(other); here == nil || !here.OK || here.Version != snap.Version || elsewhere != nil {
		t.Errorf("here it is known as %+v, elsewhere as %+v", here, elsewhere)
	}
	must.Get(d.Pool().Exec(t.Context(), `DROP TRIGGER refuse ON studies`))(t)
	must.Get(other.Verify(t.Context(), snap))(t)
	if here, elsewhere := known(one), known(other); elsewhere == nil || here.At.Before(elsewhere.At) {
		t.Errorf("once it is kept it is known as %+v here, elsewhere as %+v", here, elsewhere)
	}
}
