package optimizer

// Excess is how far a metric's value is beyond the limit, in metric units; the limit holds when it
// is not positive:
//
//	g = Sign·(value − Threshold)
func (c Cost) Excess(value float64) float64 { return c.Sign * (value - c.Threshold) }

// Tally adds up how far one limit was broken by the trials whose value is known, in metric units.
// Excluded trials count: they happened.
//
//	Balance = Σ g,  Soft = [Σ g]⁺,  Hard = Σ [g]⁺,  Largest = max [g]⁺,  Rounds = #{g > 0},  Known = #{g}
type Tally struct {
	Balance, Soft, Hard, Largest float64
	Rounds, Known                int
}

// Add counts one more trial, beyond the limit by g.
func (t *Tally) Add(g float64) {
	t.Known++
	t.Balance += g
	t.Soft = max(t.Balance, 0)
	if g > 0 {
		t.Hard += g
		t.Largest = max(t.Largest, g)
		t.Rounds++
	}
}
