package gp

import (
	"context"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
)

// Own are the latent variances at the data's own points, which cost O(n²) after a reading and n
// numbers to keep. With a_i = k(x_i, x_i) − Σ_{s<i} L_is², what the points before leave there,
//
//	v(x_i) = Lᵀe_i − λ_i L⁻¹e_i,   so   variance(x_i) = λ_i a_i/L_ii² − Σ_{s>i} (λ_i (L⁻¹)_si)²,
//
// of which each row of L⁻¹ takes a term from those before it. Own is immutable. The zero value is
// that of no data.
type Own struct {
	variances []float64
	earlier   [][]float64 // of the first block of points, of two, …: n²/24 bytes in all
}

// Len is the number n of data.
func (o *Own) Len() int { return len(o.variances) }

// Prefix returns the variances for the first n data, or for fewer by less than a block.
func (o *Own) Prefix(n int) *Own {
	blocks := n / blockPoints
	switch {
	case n >= o.Len():
		return o
	case blocks == 0:
		return new(Own)
	}
	return &Own{o.earlier[blocks-1], o.earlier[:blocks:blocks]}
}

// Variance returns the latent variance at point i of the data that o was made for. It agrees with
// Predict to rounding, and never rises.
func (o *Own) Variance(i int) float64 { return max(0, o.variances[i]) }

// OwnBound is at least the latent variance at point i: what its reading and those before leave, with
// more than is lost by rounding,
//
//	λ_i a_i/(a_i + λ_i) = λ_i (1 − λ_i/L_ii²).
func (d *Data) OwnBound(i int) float64 {
	L, noise := d.factor.Row(i)[i], d.noise[i]
	return noise*(1-noise/(L*L)) + 1e-9*L*L
}

// Extend returns the variances for d, o being those of the first points of d, to the same bits
// however many there were. It costs O(n²) a point and reaches checkpoints on the way; the error is
// that of ctx.
func (o *Own) Extend(ctx context.Context, d *Data) (*Own, error) {
	grown, n := &Own{slices.Clone(o.variances), slices.Clip(o.earlier)}, d.Len()
	for s := o.Len(); s < n; s++ {
		L := d.factor.Row(s)[s]
		grown.variances = append(grown.variances, d.noise[s]*d.AheadVariance(s)/(L*L))
	}
	work, rows := checkpoint.NewMeter(ctx), matrix(min(n-o.Len(), blockPoints), n)
	for first := o.Len(); first < n; {
		last := min(n, first-first%blockPoints+blockPoints)
		some := rows[:last-first]
		if err := d.inverse(ctx, some, first); err != nil {
			return nil, err
		}
		for r, row := range some {
			grown.narrow(d.noise, row[:first+r])
		}
		if last%blockPoints == 0 {
			grown.earlier = append(grown.earlier, slices.Clone(grown.variances[:last]))
		}
		if err := work.Spend(len(some) * last); err != nil {
			return nil, err
		}
		first = last
	}
	return grown, nil
}

// narrow takes off what one row of L⁻¹, up to its diagonal, does.
func (o *Own) narrow(noise, row []float64) {
	for i, x := range row {
		o.variances[i] -= (noise[i] * x) * (noise[i] * x)
	}
}

// inverse writes rows first, first + 1, … of L⁻¹, each L⁻ᵀe_s up to its diagonal and 0 behind.
func (d *Data) inverse(ctx context.Context, rows [][]float64, first int) error {
	for r, row := range rows {
		clear(row)
		row[first+r] = 1
	}
	return cores.Stretches(len(rows), func(from, to int) error {
		cut := make([][]float64, to-from)
		for r := range cut {
			cut[r] = rows[from+r][:first+to]
		}
		return d.factor.SolveUpperMany(ctx, cut)
	})
}
