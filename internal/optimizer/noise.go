package optimizer

import "maps"

// noise is what is known of λ beyond one number for a metric; nil knows nothing.
type noise struct {
	list, contradicting []NoiseAt          // as the fit named them
	settings            map[string]float64 // λ by place
	wrong               map[int]float64    // λ of single readings, by round
}

// noiseKnown looks up the places that a fit names; every λ is multiplied by factor.
func (s *task) noiseKnown(f FittedMetric, factor float64) *noise {
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
