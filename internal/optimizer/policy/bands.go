package policy

import (
	"math"
	"slices"
)

// bands score a place by edges of its bands, e₀ = μ₀ + w₀σ₀ of the reward and e_j = μ_j − w_jσ_j of
// each cost, every one cut to an interval, with a price on the costs':
//
//	c₀(e₀) − Σ_j p_j c_j(e_j),   c(e) = min(max(e, low), high).
type bands struct {
	width  []float64  // w per target
	prices []float64  // p per cost; none where costs do not count
	cuts   []interval // of the first targets; none of the others is cut
}

// interval is what an edge is cut to.
type interval struct{ low, high float64 }

var (
	uncut        = interval{math.Inf(-1), math.Inf(1)}
	positivePart = interval{0, math.Inf(1)} // [e]⁺
)

func (c interval) of(e float64) float64 { return clip(e, c.low, c.high) }

// plusMinus cuts to ±bound.
func plusMinus(bound float64) interval { return interval{-bound, bound} }

// rectified cuts each of m costs to its positive part.
func rectified(m int) []interval {
	return append([]interval{uncut}, slices.Repeat([]interval{positivePart}, m)...)
}

func (b bands) cut(target int) interval {
	if target < len(b.cuts) {
		return b.cuts[target]
	}
	return uncut
}

// upper is μ + βσ, lower is μ − βσ.
func upper(e Estimate, beta float64) []float64 {
	v := make([]float64, len(e.Mean))
	for i, mean := range e.Mean {
		v[i] = mean + beta*e.SD[i]
	}
	return v
}

func lower(e Estimate, beta float64) []float64 { return upper(e, -beta) }

// outwards are w by which the edge of a reward is the upper one, and that of a cost the lower.
func outwards(widths []float64) []float64 {
	return append(slices.Clone(widths[:1]), negated(widths[1:])...)
}

// edges are e of every target that has a width, at all places.
func (b bands) edges(s *Input) [][]float64 {
	targets, edges := s.targets(), make([][]float64, len(b.width))
	for k, width := range outwards(b.width) {
		edges[k] = upper(targets[k], width)
	}
	return edges
}

// price is the score of edges.
func (b bands) price(edges [][]float64) []float64 {
	value := make([]float64, len(edges[0]))
	for i, e := range edges[0] {
		value[i] = b.cut(0).of(e)
	}
	for j, price := range b.prices {
		cut := b.cut(1 + j)
		for i, e := range edges[1+j] {
			value[i] -= price * cut.of(e)
		}
	}
	return value
}

func (b bands) scores(s *Input) Scores { return Scores{Value: b.price(b.edges(s)), Reason: TradeOff} }

// truncated are the scores of edges, ties broken by what they would be without cuts.
func (b bands) truncated(edges [][]float64) Scores {
	return Scores{Value: b.price(edges), Untruncated: bands{prices: b.prices}.price(edges), Reason: TradeOff}
}

// slopes are those of the score.
func (b bands) slopes(s *Input) Slopes {
	n := len(s.Reward.Mean)
	out := Slopes{Reward: Estimate{filled(n, 1), filled(n, b.width[0])}, Costs: make([]Estimate, len(s.Costs))}
	if cut := b.cut(0); cut != uncut {
		out.Kinks = cut.kinks(0, s.Reward, b.width[0], 1)
	}
	for j, g := range s.Costs {
		out.Costs[j] = noEstimates(n)
		if j >= len(b.prices) {
			continue
		}
		price, width, cut := b.prices[j], b.width[1+j], b.cut(1+j)
		if cut == positivePart {
			out.Kinks = append(out.Kinks, Kink{1 + j, price, lower(g, width), 1, -width})
			continue
		}
		out.Costs[j] = Estimate{filled(n, -price), filled(n, price*width)}
		if cut != uncut {
			out.Kinks = append(out.Kinks, cut.kinks(1+j, g, -width, -price)...)
		}
	}
	return out
}

// kinks are those by which weight·c(e), e = μ + wσ, differs from weight·e:
//
//	c(e) = e − [e − high]⁺ + [low − e]⁺.
func (c interval) kinks(target int, of Estimate, width, weight float64) []Kink {
	above, below := upper(of, width), make([]float64, len(of.Mean))
	for i, e := range above {
		above[i], below[i] = e-c.high, c.low-e
	}
	return []Kink{{target, weight, above, 1, width}, {target, -weight, below, -1, -width}}
}

// at are the edges at place i, cut.
func (b bands) at(s *Input, i int) []float64 { return b.cutAll(s.at(i, outwards(b.width))) }

func (b bands) cutAll(edges []float64) []float64 {
	for k := range edges {
		edges[k] = b.cut(k).of(edges[k])
	}
	return edges
}
