package study

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func pointer[T any](v T) *T { return &v }

// bufferScreen is a study with every type of parameter but a remainder, and a metric with two limits.
func bufferScreen() Definition {
	return Definition{
		Name: "Buffer screen",
		Parameters: []Parameter{
			{Name: "temperature", Type: Real, Low: pointer(20.0), High: pointer(60.0), Unit: "°C"},
			{Name: "cycles", Type: Integer, Low: pointer(1.0), High: pointer(12.0)},
			{Name: "salt", Type: Real, Low: pointer(0.001), High: pointer(10.0), Scale: "log"},
			{Name: "time", Type: Real, Low: pointer(0.5), High: pointer(2.0), Step: pointer(0.1)},
			{Name: "catalyst", Type: Categorical, Choices: []string{"A", "B", "=C"}},
		},
		InputConstraints: []string{"temperature + 2*cycles <= 70"},
		Objective:        Objective{Metric: "yield", Direction: "maximize", Unit: "%"},
		Constraints: []Constraint{
			{Metric: "impurity", Op: "<=", Threshold: 0.5, Unit: "%"},
			{Name: "pH low", Metric: "pH", Op: ">=", Threshold: 7},
			{Name: "pH high", Metric: "pH", Op: "<=", Threshold: 8},
		},
		RecordedMetrics: []RecordedMetric{{Metric: "colour"}},
	}
}

// mixture is three components that add up to 100.
func mixture() Definition {
	return Definition{
		Name: "Mixture",
		Parameters: []Parameter{
			{Name: "a", Type: Real, Low: pointer(0.0), High: pointer(80.0)},
			{Name: "b", Type: Real, Low: pointer(0.0), High: pointer(80.0)},
			{Name: "water", Type: Remainder, Total: pointer(100.0), Low: pointer(10.0), High: pointer(90.0), Of: []string{"a", "b"}},
		},
		Objective: Objective{Metric: "strength", Direction: "minimize"},
	}
}

// queue has four candidates, one constraint of known form and one sampled.
func queue() Definition {
	return Definition{
		Name:       "Queue",
		Parameters: []Parameter{{Name: "x", Type: Real, Low: pointer(0.0), High: pointer(3.0)}, {Name: "mode", Type: Categorical, Choices: []string{"slow", "fast"}}},
		Candidates: []Settings{
			{"x": NumberValue(0), "mode": TextValue("slow")},
			{"x": NumberValue(1), "mode": TextValue("slow")},
			{"x": NumberValue(1), "mode": TextValue("slow")},
			{"x": NumberValue(3), "mode": TextValue("fast")},
		},
		Objective: Objective{Metric: "rate", Direction: "maximize"},
		Constraints: []Constraint{
			{Metric: "load", Op: "<=", Threshold: 0, Expression: "omega - 3*x", Context: []string{"omega"}},
			{Name: "backlog limit", Metric: "backlog", Op: ">=", Threshold: 1, Sampled: true},
		},
	}
}

func mustCompile(t testing.TB, d Definition) *compiled {
	t.Helper()
	checked, err := d.Check()
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	c, err := compile(checked)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return c
}

// faultsOf returns the faults of err, which must be *Invalid.
func faultsOf(t testing.TB, err error) []Fault {
	t.Helper()
	var invalid *Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v is not *Invalid", err)
	}
	return invalid.Faults
}

// wantFault fails unless there is exactly one fault, at location, whose message contains message.
func wantFault(t testing.TB, faults []Fault, location, message string) {
	t.Helper()
	if len(faults) != 1 || faults[0].Location != location || !strings.Contains(faults[0].Message, message) {
		t.Errorf("faults %v\nwant one at %s containing %q", faults, location, message)
	}
}

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }
