package optimizer

import (
	"strings"
	"testing"

	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/search"
)

// falls panics; its name must be found in the stack.
func falls() { panic("down the stairs") }

// TestPanicsBesideOthersReachTheCaller lets every work that is spread over the processors panic there.
func TestPanicsBesideOthersReachTheCaller(t *testing.T) {
	t.Parallel()
	many := kernel.NewInputs(1)
	for range 2 * splitFrom {
		many.Append([]float64{0})
	}
	problem := search.Problem{Axes: make([]search.Axis, 1), Score: func([][]float64) ([]search.Score, error) { falls(); return nil, nil }}
	for name, work := range map[string]func() error{
		"onAllCores": func() error {
			_, err := onAllCores(many, 1, func(*kernel.Inputs, int) ([][]float64, error) { falls(); return nil, nil })
			return err
		},
		"polish": func() error {
			return polish(problem, []climber{{u: []float64{0.5}}, {u: []float64{0.2}}}, 0.1, 0.01, 20, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if cause, _ := recover().(string); !strings.HasPrefix(cause, "down the stairs") || !strings.Contains(cause, "optimizer.falls") {
					t.Errorf("the caller panics with %q", cause)
				}
			}()
			t.Errorf("returns %v", work())
		})
	}
}
