package design

import "fmt"

// Fault is one thing wrong with what was sent. Location is a path such as "body.parameters[1].high".
type Fault struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty"`
}

// Invalid is well-formed input that breaks rules; it names every fault found.
type Invalid struct{ Faults Faults }

func (e *Invalid) Error() string {
	if len(e.Faults) == 1 {
		return fmt.Sprintf("%s: %s", e.Faults[0].Location, e.Faults[0].Message)
	}
	return fmt.Sprintf("%d things are wrong, first %s: %s", len(e.Faults), e.Faults[0].Location, e.Faults[0].Message)
}

// NewInvalid is one thing wrong with what was sent.
func NewInvalid(location, message string, value any) error {
	return &Invalid{Faults: Faults{{Location: location, Message: message, Value: value}}}
}

// maxFaults is how many faults one answer lists.
const maxFaults = 1000

// Faults collects what is wrong.
type Faults []Fault

// Add notes a fault; value is what was sent, nil if nothing was.
func (f *Faults) Add(location string, value any, format string, args ...any) {
	switch n := len(*f); {
	case n < maxFaults:
		*f = append(*f, Fault{Location: location, Message: fmt.Sprintf(format, args...), Value: value})
	case n == maxFaults:
		*f = append(*f, Fault{Location: location, Message: fmt.Sprintf("more than %d things are wrong; these are the first", maxFaults)})
	}
}

// Err returns *Invalid if there is anything wrong.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Invalid{Faults: f}
}
