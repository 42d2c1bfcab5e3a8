package optimizer

import (
	"context"
	"fmt"
	"maps"
	"math"

	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/warp"
)

// noise is what is known of λ beyond one number for a metric; nil knows nothing.
type noise struct {
	list, contradicting []NoiseAt          // as the fit named them
	settings            map[string]float64 // λ by place
	wrong               map[int]float64    // λ of single readings, by round
}

// noiseKnown looks up the places that a fit names; every λ is multiplied by factor.
func (s *study) noiseKnown(f FittedMetric, factor float64) *noise {
	if f.Settings == nil && f.Wrong == nil {
		return nil
	}
	settings, wrong := inflated(f.Settings, factor), inflated(f.Wrong, factor)
	n := &noise{settings, wrong, map[string]float64{}, map[int]float64{}}
	for _, at := range settings {
		if at.Round <= len(s.history.Rounds) {
			n.settings[placeKey(s.placeOf(at.Round))] = at.Lambda
		}
	}
	for _, at := range wrong {
		n.wrong[at.Round] = at.Lambda
	}
	return n
}

func (n *noise) listed() []NoiseAt {
	if n == nil {
		return nil
	}
	return n.list
}

func (n *noise) contradicted() []NoiseAt {
	if n == nil {
		return nil
	}
	return n.contradicting
}

// placeKey tells places apart: by their candidate, else by their coordinates.
func placeKey(p Place) string {
	if p.Arm >= 0 {
		return fmt.Sprint(p.Arm)
	}
	return fmt.Sprint(p.U)
}

// of is λ of round's reading at a place, or otherwise where nothing is known.
func (n *noise) of(round int, at Place, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	if lambda, ok := n.wrong[round]; ok {
		return lambda
	}
	return n.at(at, otherwise)
}

// at is λ of one more reading at a place, or otherwise where nothing is known.
func (n *noise) at(p Place, otherwise float64) float64 {
	if n != nil {
		if lambda, ok := n.settings[placeKey(p)]; ok {
			return lambda
		}
	}
	return otherwise
}

// inflated are these λ times a factor.
func inflated(list []NoiseAt, factor float64) []NoiseAt {
	var out []NoiseAt
	for _, at := range list {
		out = append(out, NoiseAt{at.Round, factor * at.Lambda})
	}
	return out
}

func (n *noise) same(o *noise) bool {
	if n == nil || o == nil {
		return n == o
	}
	return maps.Equal(n.settings, o.settings) && maps.Equal(n.wrong, o.wrong)
}

// unbentNoise is λ from which readings that replicates show to be noisy are modelled as they are: a limit on a metric is one on the mean of its
// readings, and the mean of bent readings would come out as their median.
const unbentNoise = 0.1

// fitNoise looks at the settings read more than once: it puts wrong readings, and the noise of settings where it differs, into f, and tells whether
// noise is what readings differ by in a good part.
func (v *view) fitNoise(ctx context.Context, metric int, rounds []int, f *FittedMetric) (noisy bool, err error) {
	if !v.cfg.Metrics[metric].FreeNoise {
		return false, nil
	}
	y, settings := v.replicated(metric, rounds, *f)
	wrong := fit.Wrong(y, settings)
	for i, square := range wrong {
		if square > 0 {
			f.Wrong = append(f.Wrong, NoiseAt{rounds[i], square})
		}
	}
	groups := fit.Groups(y, settings, wrong)
	if len(groups) == 0 {
		return false, nil
	}
	whole, err := fit.MAP(ctx, v.fitProblem(metric, rounds, *f))
	if err != nil {
		return false, err
	}
	differing := fit.FitNoise(groups, whole.Lambda)
	if math.IsInf(differing.Freedom, 1) {
		return whole.Lambda > unbentNoise, nil
	}
	f.Lambda = differing.Typical
	for _, g := range groups {
		f.Settings = append(f.Settings, NoiseAt{g.Setting, differing.Of(g.Replicates)})
	}
	return true, nil
}

// replicated are the readings of these rounds, standardised by f, and the first round with the same settings as each; −1 for a reading
// that told its own noise.
func (s *study) replicated(metric int, rounds []int, f FittedMetric) (y []float64, settings []int) {
	first := map[string]int{}
	plain := transform{sign: 1, centre: f.Centre, scale: f.Scale, warp: warp.Identity}
	for _, n := range rounds {
		reading, key := s.history.Rounds[n-1].Readings[metric], placeKey(s.placeOf(n))
		if _, known := first[key]; !known {
			first[key] = n
		}
		setting := first[key]
		if reading.SD > 0 {
			setting = -1
		}
		y, settings = append(y, plain.response(reading.Value)), append(settings, setting)
	}
	return y, settings
}
