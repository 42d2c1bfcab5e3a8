package memory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"headroom/internal/memory"
	"headroom/internal/memory/memorytest"
)

type leaf struct {
	name   string
	values map[string]float64
	row    []float64
}

type tree struct {
	leaves []leaf
	shared *leaf
	again  []*leaf
	any    any
	do     func()
}

func grown(n int) *tree {
	t := &tree{shared: &leaf{row: make([]float64, 10_000)}, any: make([]int32, 5000), do: func() {}}
	for i := range n {
		l := leaf{name: strings.Repeat("x", 20+i%10), values: map[string]float64{}, row: make([]float64, 30)}
		for k := range 5 {
			l.values[fmt.Sprint("metric ", i, " ", k)] = 1
		}
		t.leaves, t.again = append(t.leaves, l), append(t.again, t.shared)
	}
	return t
}

// The heap says what is held; the meter must agree, and count what is shared once.
func TestTheMeterAgreesWithTheHeap(t *testing.T) {
	before := memorytest.Held()
	value := grown(20_000)
	held := memorytest.Held() - before
	said := memory.NewMeter().Of(value)
	if ratio := float64(said) / float64(held); ratio < 0.8 || ratio > 1.25 {
		t.Errorf("the meter says %d bytes, the heap %d", said, held)
	}
	runtime.KeepAlive(value)
}

func TestWhatWasCountedCountsOnce(t *testing.T) {
	t.Parallel()
	m, value := memory.NewMeter(), grown(10)
	if first, again := m.Of(value), m.Of(value); first < 80_000 || again != 0 {
		t.Errorf("%d bytes, and again %d", first, again)
	}
	other := &tree{shared: value.shared, leaves: value.leaves}
	if more := m.Of(other); more <= 0 || more > 300 {
		t.Errorf("a tree that shares everything but itself holds %d bytes more", more)
	}
	var none *tree
	if m.Of(nil) != 0 || m.Of(none) != 0 || m.Of(7) != 0 {
		t.Error("nothing holds something")
	}
}
