package design

import (
	"encoding/json"
	"testing"
)

// TestAStopOfNothingIsRefused: what is left out is the usual target, and a 0 that was said is none.
func TestAStopOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Stop{`{}`: {0.01, 0.05}, `{"within": 0.02}`: {0.02, 0.05}, `{"risk": 0.1}`: {0.01, 0.1}, `{"within": 0, "risk": 0}`: {}} {
		var stop Stop
		if err := json.Unmarshal([]byte(text), &stop); err != nil || stop != want {
			t.Errorf("%s is %+v, %v, want %+v", text, stop, err, want)
		}
	}
	var stop Stop
	if err := json.Unmarshal([]byte(`{"within": 0.1, "when": 3}`), &stop); err == nil {
		t.Error("an unknown member is taken")
	}
}
