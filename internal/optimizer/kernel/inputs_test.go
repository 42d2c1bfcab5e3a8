package kernel_test

import (
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/optimizer/kernel"
)

// TestInputsShareAndGrow grows inputs, prefixes and parts of them at will: each sees its own
// vectors only, by rows and by distances.
func TestInputsShareAndGrow(t *testing.T) {
	t.Parallel()
	k, err := kernel.New("se", []float64{0.3, 0.7}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		type list struct {
			X    *kernel.Inputs
			want [][]float64
		}
		lists, next := []list{{X: kernel.NewInputs(2)}}, 0.0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at := rapid.IntRange(0, len(lists)-1).Draw(t, "list")
			l := &lists[at]
			if rapid.Bool().Draw(t, "append") {
				next++
				x := []float64{next / 40, -next / 20}
				l.X.Append(x)
				l.want = append(l.want[:len(l.want):len(l.want)], x)
				continue
			}
			from := rapid.IntRange(0, len(l.want)).Draw(t, "from")
			to := rapid.IntRange(from, len(l.want)).Draw(t, "to")
			lists = append(lists, list{l.X.Slice(from, to), l.want[from:to]})
		}
		x := []float64{0.1, -0.4}
		for _, l := range lists {
			if l.X.Len() != len(l.want) {
				t.Fatalf("%d vectors, want %d", l.X.Len(), len(l.want))
			}
			row := make([]float64, len(l.want))
			k.Row(row, x, l.X)
			for i, y := range l.want {
				if want := k.At(x, y); row[i] != want || l.X.Row(i)[1] != y[1] {
					t.Fatalf("vector %d is %v, want %v: covariance %v, want %v", i, l.X.Row(i), y, row[i], want)
				}
			}
		}
	})
}
