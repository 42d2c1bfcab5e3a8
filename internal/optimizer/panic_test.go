package optimizer

import (
	"strings"
	"testing"

	"headroom/internal/optimizer/search"
)

// falls panics; its name must be found in the stack.
func falls() { panic("down the stairs") }

// TestPanicsBesideOthersReachTheCaller lets polishing, which is spread over the processors, panic
// there.
func TestPanicsBesideOthersReachTheCaller(t *testing.T) {
	t.Parallel()
	problem := search.Problem{Axes: make([]search.Axis, 1), Score: func([][]float64) ([]search.Score, error) { falls(); return nil, nil }}
	defer func() {
		if cause, _ := recover().(string); !strings.HasPrefix(cause, "down the stairs") || !strings.Contains(cause, "optimizer.falls") {
			t.Errorf("the caller panics with %q", cause)
		}
	}()
	t.Errorf("returns %v", polish(problem, []climber{{u: []float64{0.5}}, {u: []float64{0.2}}}, 0.1, 0.01, 20, 1))
}
