package design_test

import (
	"errors"
	"fmt"

	"headroom/internal/study/design"
)

// A definition is what a lab writes down; checking it names everything that is wrong, and where.
func ExampleDefinition_Check() {
	low, high := 20., 60.
	d := design.Definition{
		Name:       "Buffer screen",
		Parameters: []design.Parameter{{Name: "temperature", Type: design.Real, Low: &high, High: &low}},
		Objective:  design.Objective{Metric: "yield", Direction: "upwards"},
	}
	_, err := d.Check()
	var wrong *design.Invalid
	if errors.As(err, &wrong) {
		for _, fault := range wrong.Faults {
			fmt.Println(fault.Field, "–", fault.Message)
		}
	}
	// Output:
	// parameters[0].low – low 60 must be below high 20
	// objective.direction – must be "maximize" or "minimize"
}
