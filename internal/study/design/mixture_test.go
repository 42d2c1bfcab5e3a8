package design

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
)

// parts is a mixture of n parts of 1, the last of which is what the others leave.
func parts(n int) Definition {
	d := Definition{Name: "Mixture", Objective: Objective{Metric: "strength", Direction: "maximize"}}
	rest := Parameter{Name: "rest", Type: Remainder, Total: new(1.0)}
	for i := range n - 1 {
		name := fmt.Sprintf("x%d", i+1)
		d.Parameters = append(d.Parameters, Parameter{Name: name, Type: Real, Low: new(0.0), High: new(1.0)})
		rest.Of = append(rest.Of, name)
	}
	d.Parameters = append(d.Parameters, rest)
	return d
}

// TestFillSpreadsOverTheSimplex: every part of n is 1/n on average, its square 2/(n(n+1)), and more
// than half in 2^{1−n} of the mixtures.
func TestFillSpreadsOverTheSimplex(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 7, 12} {
		s := mustCompile(t, parts(n)).space
		const count = 20_000
		mean, square, half := make([]float64, n), make([]float64, n), make([]float64, n)
		for k := range count {
			u := s.recurrence(k)
			s.fill(u)
			if !s.settle(u) {
				t.Fatalf("%d parts: %v is no mixture", n, u)
			}
			for i, x := range s.physicals(u) {
				mean[i] += x / count
				square[i] += x * x / count
				if x > 0.5 {
					half[i] += 1.0 / count
				}
			}
		}
		for i := range n {
			if m, q, h := 1/float64(n), 2/float64(n*(n+1)), math.Pow(2, float64(1-n)); math.Abs(mean[i]-m) > 0.02*m || math.Abs(square[i]-q) > 0.06*q || math.Abs(half[i]-h) > 0.01 {
				t.Errorf("part %d of %d: %.4f on average, want %.4f; its square %.5f, want %.5f; above one half in %.4f, want %.4f", i+1, n, mean[i], m, square[i], q, half[i], h)
			}
		}
	}
}

// TestShownMixturesMayBeTyped: parts are written so that they add up, whatever their ranges, scales and
// steps, and who types them in again is understood.
func TestShownMixturesMayBeTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		total := rapid.SampledFrom([]float64{1e-6, 1, 7, 100, 1000, 1e9}).Draw(r, "total")
		d := parts(rapid.IntRange(2, 30).Draw(r, "parts"))
		for i := range d.Parameters {
			p := &d.Parameters[i]
			if p.Type == Remainder {
				p.Total = &total
				continue
			}
			p.Low, p.High = new(0.001*total), &total
			switch rapid.SampledFrom([]string{"linear", "log", "step"}).Draw(r, p.Name) {
			case "log":
				p.Scale = "log"
			case "step":
				p.Step = new(0.01 * total)
			}
		}
		c := mustCompile(t, d)
		probes := c.Probes()
		for n := rapid.IntRange(0, 7).Draw(r, "first"); n < len(probes); n += 8 { // of one mixture some tell as much as all
			s, typed := c.Settings(probes[n]), Settings{}
			for _, p := range c.Def.Parameters {
				typed[p.Name] = NumberValue(must.Get(ReadNumber(FormatSetting(p, s[p.Name]), PointDecimal))(t))
			}
			if _, _, wrong := c.Place(typed, "at"); len(wrong) > 0 {
				r.Fatalf("%v, written as %v, may not be chosen: %v", s, typed, wrong)
			}
			if _, _, wrong := c.PlaceUsed(typed, "at"); len(wrong) > 0 {
				r.Fatalf("%v, written as %v, may not be told: %v", s, typed, wrong)
			}
		}
	})
}

// TestAStepMovesWhatIsLeft: a planned mixture that adds up is one of the steps next to it.
func TestAStepMovesWhatIsLeft(t *testing.T) {
	t.Parallel()
	d := parts(3)
	for i := range d.Parameters {
		if p := &d.Parameters[i]; p.Type == Remainder {
			p.Total, p.High = new(100.0), new(100.0)
		} else {
			p.High, p.Step = new(100.0), new(5.0)
		}
	}
	c, mixed := mustCompile(t, d), Settings{}
	for i, share := range []float64{33, 33, 34} {
		mixed[d.Parameters[i].Name] = NumberValue(share)
	}
	kept, _, wrong := c.Place(mixed, "at")
	if rest := kept[d.Parameters[2].Name]; len(wrong) > 0 || rest.Number != 30 {
		t.Errorf("planned: %v left, %v", rest, wrong)
	}
	mixed[d.Parameters[2].Name] = NumberValue(40)
	if _, _, wrong := c.Place(mixed, "at"); len(wrong) == 0 {
		t.Error("what does not add up is a mixture")
	}
}

// TestFillKeepsWithinBounds: with bounds, steps and two totals of their own, wherever a mixture
// exists it is met.
func TestFillKeepsWithinBounds(t *testing.T) {
	t.Parallel()
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		d := parts(rapid.IntRange(2, 9).Draw(t, "parts"))
		other := Parameter{Name: "other", Type: Remainder, Total: new(10.0), Low: new(1.0), High: new(4.0), Of: []string{"m1", "m2"}}
		d.Parameters = append(d.Parameters, Parameter{Name: "m1", Type: Integer, Low: new(0.0), High: new(9.0)},
			Parameter{Name: "m2", Type: Real, Low: new(0.0), High: new(9.0)}, other)
		low := 0.0
		for i := range d.Parameters[:len(d.Parameters)-3] {
			p := &d.Parameters[i]
			*p = Parameter{Name: p.Name, Type: p.Type, Total: p.Total, Of: p.Of, Low: new(float64(rapid.IntRange(0, 10).Draw(t, "low")) / 100)}
			low += *p.Low
			p.High = new(*p.Low + float64(rapid.IntRange(5, 90).Draw(t, "width"))/100)
			if p.Type == Real && rapid.Bool().Draw(t, "stepped") {
				p.Step = new(0.01)
			}
		}
		high := 0.0
		for _, p := range d.Parameters[:len(d.Parameters)-3] {
			high += *p.High
		}
		c, err := d.Check()
		if err != nil {
			if low <= 0.99 && high >= 1.01 {
				t.Fatalf("a mixture from %v to %v of 1 is refused: %v", low, high, err)
			}
			return
		}
		s := newSpace(c.Parameters, nil)
		u := drawUnits(t, len(s.axes))
		s.fill(u)
		if high < 1.02 || low > 0.98 {
			return // next to nothing of it is left, which steps may miss
		}
		met++
		if !s.settle(u) {
			t.Fatalf("%v is not allowed of mixtures from %v to %v", s.physicals(u), low, high)
		}
	})
	if met < 20 {
		t.Errorf("only %d mixtures were tried", met)
	}
}
