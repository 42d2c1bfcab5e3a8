package lab

import (
	"testing"

	"headroom/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func problem(t testing.TB, name string) *Problem {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func played(t testing.TB, g Game) *Record {
	t.Helper()
	r, err := g.Play(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// timeless is a record without the times that asks took.
func timeless(r *Record) *Record {
	for i := range r.Asks {
		r.Asks[i].Seconds = 0
	}
	return r
}
