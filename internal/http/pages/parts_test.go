package pages

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

func fillWith(n int) func(*bytes.Buffer) error {
	return func(out *bytes.Buffer) error {
		text := make([]byte, n)
		rand.Read(text) // which gzip makes no smaller
		out.Write(text)
		return nil
	}
}

// heap is what is in use after everything unused was given back.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

// TestSharedPartsStayWithinTheirBytes fills the shelf many times over and weighs it.
func TestSharedPartsStayWithinTheirBytes(t *testing.T) {
	const limit, one = 8 << 20, 1 << 18
	shelf := newSharedParts(limit)
	before := heap()
	for i := range 200 {
		if _, err := shelf.get(partKey{part: "beliefs", query: fmt.Sprint(i)}, fillWith(one)); err != nil {
			t.Fatal(err)
		}
		if held, _ := shelf.size(); held > limit {
			t.Fatalf("%d bytes are counted after %d parts", held, i+1)
		}
	}
	grown := heap() - before
	held, entries := shelf.size()
	if entries != limit/(2*one+entryBytes) && entries != limit/(2*one+entryBytes)-1 {
		t.Errorf("%d parts are kept", entries)
	}
	if grown > limit+limit/8 || grown < held-limit/8 {
		t.Errorf("%d bytes are counted, %d are held", held, grown)
	}
	runtime.KeepAlive(shelf)
}

// TestSharedPartTooLargeIsServedAndNotKept: what alone exceeds the limit displaces everything for nothing.
func TestSharedPartTooLargeIsServedAndNotKept(t *testing.T) {
	t.Parallel()
	shelf := newSharedParts(1 << 16)
	drawn, err := shelf.get(partKey{part: "beliefs"}, fillWith(1<<17))
	if err != nil || len(drawn.plain) != 1<<17 {
		t.Fatalf("%d bytes, %v", len(drawn.plain), err)
	}
	if held, entries := shelf.size(); held != 0 || entries != 0 {
		t.Errorf("%d bytes in %d parts are kept", held, entries)
	}
}

// TestSharedPartIsMadeOnce for all who ask at the same moment, and again when it could not be made.
func TestSharedPartIsMadeOnce(t *testing.T) {
	t.Parallel()
	shelf := newSharedParts(1 << 20)
	key := partKey{part: "status"}
	broken := errors.New("the caller has gone")
	if _, err := shelf.get(key, func(*bytes.Buffer) error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if _, entries := shelf.size(); entries != 0 {
		t.Errorf("%d parts are kept of one that could not be made", entries)
	}
	made := 0
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			_, err := shelf.get(key, func(out *bytes.Buffer) error {
				made++ // the shelf lets one make it at a time
				out.WriteString("here")
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}
