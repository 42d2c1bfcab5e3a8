package ledger

import "encoding/json"

// Numbers are numbers by metric. Of a metric that was never read there is none: what a model says
// of it is its prior, no knowledge. Where Numbers stand beside the names of all metrics, such a
// metric is null in JSON.
type Numbers map[string]float64

// UnmarshalJSON leaves out what is null.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var by map[string]*float64
	if err := json.Unmarshal(text, &by); err != nil || by == nil {
		*n = nil
		return err
	}
	*n = make(Numbers, len(by))
	for name, x := range by {
		if x != nil {
			(*n)[name] = *x
		}
	}
	return nil
}

// withNulls is what JSON says of metrics, all of which have a model.
func (n Numbers) withNulls(models map[string]MetricModel) map[string]*float64 {
	if n == nil {
		return nil
	}
	by := make(map[string]*float64, len(models))
	for name := range models {
		by[name] = nil
	}
	for name, x := range n {
		by[name] = &x
	}
	return by
}

// MarshalJSON names every metric that has a model; of those never read, mean and sd are null.
func (d Decision) MarshalJSON() ([]byte, error) {
	type plain Decision
	return json.Marshal(struct {
		plain
		Mean map[string]*float64 `json:"mean"`
		SD   map[string]*float64 `json:"sd"`
	}{plain(d), d.Mean.withNulls(d.Model), d.SD.withNulls(d.Model)})
}
