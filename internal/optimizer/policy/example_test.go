package policy_test

import (
	"fmt"

	"headroom/internal/optimizer/policy"
)

// Everything that forms, the API and checks say of an algorithm stands in its description.
func ExampleFind() {
	d, _ := policy.Find("rpol-ucb")
	fmt.Println(d.Title)
	fmt.Println(d.Theorem.Paper)
	for _, s := range d.Settings[:3] {
		fmt.Printf("%s (%s)\n", s.Name, s.Type)
	}
	// Output:
	// Rectified pessimistic-optimistic learning
	// Guo, Zhu, Liu: Rectified Pessimistic-Optimistic Learning for Stochastic Continuum-armed Bandit with Constraints
	// beta (schedule)
	// eta (number)
	// initial_design (integer)
}
