package problems

import (
	"math"
	"strings"
	"testing"

	"headroom/internal/mutation"
)

// FuzzReadings: a table is refused, or holds as many finite numbers in each row as there are arms.
func FuzzReadings(plain *testing.F) {
	f := mutation.Of(plain)
	rows := strings.Repeat("1,2.5\n-3e2,0\n", 5)
	for _, seed := range []string{"", "a,b\n" + rows, "a,b\n" + rows + "NaN,1\n", "a,b\n" + rows + "1\n", "a\n1\n", "\"a,b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadReadings(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Names) {
				t.Fatalf("a row of %d for %d arms", len(row), len(table.Names))
			}
			for _, value := range row {
				if math.IsNaN(value) || math.IsInf(value, 0) {
					t.Fatalf("%v was let in", value)
				}
			}
		}
	})
}
