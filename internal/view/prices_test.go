package view

import (
	"strings"
	"testing"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
)

// TestPriceWords say which way loosens a limit, what a step is worth in the objective's unit, and nothing of what is too little to tell.
func TestPriceWords(t *testing.T) {
	t.Parallel()
	o := design.Objective{Metric: "yield", Direction: "maximize", Unit: "g"}
	price := func(op string, best ...float64) study.Price {
		p := study.Price{Constraint: "pH low", Metric: "pH", Op: op, Threshold: 7}
		sd := 0.2
		for i, x := range best {
			step := study.PriceStep{Threshold: 7 + 0.5*float64(i-len(best)/2)}
			if x > 0 {
				step.Best, step.SD = &best[i], &sd
			}
			p.Curve = append(p.Curve, step)
		}
		if best[0] > 0 && best[2] > 0 {
			slope := best[2] - best[0]
			p.Slope = &slope
		}
		return p
	}
	for _, test := range []struct {
		price study.Price
		want  string
	}{
		{price("<=", 1, 3, 4.25), "Raising the limit of pH low from 7 to 7.5 would be worth about 1.3_g of yield; lowering it to 6.5 would cost about 2_g of yield (slope, the limit’s multiplier: 3.3_g for each unit of pH)."},
		{price(">=", 4.25, 3, 1), "Lowering the limit of pH low from 7 to 6.5 would be worth about 1.3_g of yield; raising it to 7.5 would cost about 2_g of yield (slope, the limit’s multiplier: −3.3_g for each unit of pH)."},
		{price("<=", 2.995, 3, 3.005), "Raising the limit of pH low from 7 to 7.5 would gain next to nothing; lowering it to 6.5 would cost next to nothing (slope, the limit’s multiplier: 0.01_g for each unit of pH)."},
		{price("<=", 0, 3, 4), "Raising the limit of pH low from 7 to 7.5 would be worth about 1_g of yield; lowering it to 6.5 would leave no settings that probably keep every limit."},
		{price("<=", 0, 0, 4), "pH low: no settings have a 90_% chance to stay within every limit as it is."},
	} {
		if got := priceWords(o, test.price); got != strings.ReplaceAll(test.want, "_", words.Thin) {
			t.Errorf("%q", got)
		}
	}
}
