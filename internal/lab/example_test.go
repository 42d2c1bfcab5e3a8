package lab_test

import (
	"context"
	"fmt"

	"headroom/internal/lab"
	"headroom/internal/study/design"
)

// A study is rehearsed where the truth is known: twenty space-filling trials of a test problem.
func ExampleGame_Play() {
	problem, err := lab.Find("gramacy")
	if err != nil {
		panic(err)
	}
	game := lab.Game{Problem: problem, Algorithm: design.Algorithm{Name: "halton"}, Asks: 20, Batch: 1, Noise: lab.Noise{Kind: lab.NoNoise}, Seed: 1}
	record, err := game.Play(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	within := 0
	for _, trial := range record.Asks {
		if trial.Feasible {
			within++
		}
	}
	fmt.Printf("%d of %d trials within the limits\n", within, len(record.Asks))
	// Output:
	// 8 of 20 trials within the limits
}
