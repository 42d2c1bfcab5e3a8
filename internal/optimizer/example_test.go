package optimizer_test

import (
	"context"
	"fmt"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
)

// A study of one setting: a yield that rises and a cost that rises with it, of which at most 0.5 is
// allowed. Three trials were made and read; the same configuration and history give the same next
// trial everywhere.
func ExampleReplay() {
	k := optimizer.Kernel{Name: "matern52", Lengthscales: []float64{0.3}, Variance: 1}
	cfg := &optimizer.Config{
		Space:     optimizer.Space{Dims: []optimizer.Dim{{High: 1}}, Settle: func([]float64) bool { return true }},
		Metrics:   []optimizer.Metric{{Name: "yield", Kernel: k, Lambda: 1e-3}, {Name: "cost", Kernel: k, Lambda: 1e-3}},
		Objective: optimizer.Objective{Metric: 0, Sign: 1},
		Costs:     []optimizer.Cost{{Name: "cost", Metric: 1, Sign: 1, Threshold: 0.5}},
		Algorithm: "cei", Horizon: 20, Seed: 1,
	}
	algorithm, _ := policy.Find(cfg.Algorithm)
	cfg.Settings, _ = algorithm.Resolve(nil, cfg.Context())
	history := &optimizer.History{}
	for i, u := range []float64{0.1, 0.3, 0.9} {
		read := func(value float64) optimizer.Reading {
			return optimizer.Reading{Told: true, Value: value, Revealed: i + 1}
		}
		history.Rounds = append(history.Rounds, optimizer.Round{Point: []float64{u}, Arm: -1, Suggested: true,
			Readings: []optimizer.Reading{read(u), read(u * u)}, Draw: optimizer.Draw{Seed: 1}})
	}
	state, err := optimizer.Replay(context.Background(), cfg, history)
	if err != nil {
		panic(err)
	}
	decision, err := state.Suggest(context.Background(), optimizer.Known{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("next at %.2f, within the limit with a chance of %.2f\n", decision.Place.U[0], decision.FeasibilityProbability)
	// Output:
	// next at 0.63, within the limit with a chance of 0.47
}
