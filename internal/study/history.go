package study

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/cores"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// HistoryRow is one round of a study.
type HistoryRow struct {
	Number          int                             `json:"number"`
	Origin          ledger.Origin                   `json:"origin"`
	Status          ledger.Status                   `json:"status"`
	Excluded        bool                            `json:"excluded"`
	Feasible        *bool                           `json:"feasible"`
	Parameters      design.Settings                 `json:"parameters"`
	Values          map[string]float64              `json:"values"`
	Beta            map[string]float64              `json:"beta"`
	Multipliers     map[string]float64              `json:"multipliers"`
	Horizon         int                             `json:"horizon,omitempty"` // T of the algorithm's constants, absent where it is the number of trials planned
	Ahead           map[string]*optimizer.Predicted `json:"ahead"`             // one-step-ahead, with noise; null for a metric never read
	InformationGain map[string]float64              `json:"information_gain"`
	Violation       map[string]ViolationOut         `json:"violation"`        // running
	Regret          *RegretOut                      `json:"regret,omitempty"` // likewise; absent where the algorithm draws no bound on it
}

// HistoryOf tells, round by round, what was chosen, read and believed.
func (s *Models) HistoryOf(ctx context.Context, snap *ledger.Snapshot) ([]HistoryRow, error) {
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	var trace []optimizer.RoundTrace
	var running [][]optimizer.Violation
	var regret []float64
	err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) (err error) {
		if trace, err = state.Trace(ctx); err != nil {
			return err
		}
		if running, err = state.ViolationTrace(ctx); err != nil {
			return err
		}
		regret, err = state.RegretBounds(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	readout, err := s.StateOf(ctx, snap)
	if err != nil {
		return nil, err
	}
	bounds := boundsOf(TheoremOf(snap, readout)) // as they stand now: what breaks a proof breaks it for every row
	rows := make([]HistoryRow, len(snap.Trials))
	return rows, cores.Stretches(len(rows), func(from, to int) error {
		for i := from; i < to; i++ {
			rows[i] = historyRow(snap, i, trace[i])
			rows[i].Violation = bounds.violations(snap, running[i])
			if regret != nil {
				rows[i].Regret = bounds.regret(regret[i])
			}
		}
		return nil
	})
}

func historyRow(snap *ledger.Snapshot, i int, trace optimizer.RoundTrace) HistoryRow {
	t, c := snap.Trials[i], snap.Compiled()
	row := HistoryRow{
		Number: t.Number, Origin: t.Origin, Status: t.Status, Excluded: t.Excluded, Feasible: t.Feasible, Parameters: t.Parameters,
		Values: map[string]float64{}, Ahead: map[string]*optimizer.Predicted{}, Beta: keyed(c.MetricNames, trace.Beta),
		Multipliers: keyed(c.ConstraintNames, trace.Multipliers), InformationGain: keyed(c.MetricNames, trace.InformationGain), Horizon: trace.Horizon,
	}
	for name, m := range t.Metrics {
		row.Values[name] = m.Value
	}
	for k, p := range trace.Ahead {
		switch name := c.MetricNames[k]; {
		case !snap.HasReading(name):
			row.Ahead[name] = nil
		case design.Finite(p.Mean) && design.Finite(p.SD):
			row.Ahead[name] = &p
		}
	}
	return row
}

// AppendHistory appends rows as encoding/json writes them, on all cores. A long study's are some ten
// thousand numbers under a dozen names, which are sorted and quoted here once, not in every row.
func AppendHistory(text []byte, rows []HistoryRow) ([]byte, error) {
	stretches := make([][]byte, len(rows)) // each under its first row
	err := cores.Stretches(len(rows), func(from, to int) error {
		w := rowWriter{quoted: map[string]string{}}
		for i := from; i < to; i++ {
			if i > 0 {
				w.put(",")
			}
			w.row(&rows[i])
			if i == from { // room for others a little longer
				w.text = slices.Grow(w.text, (to-from)*len(w.text)*5/4)
			}
		}
		stretches[from] = w.text
		return w.err
	})
	text = append(text, '[')
	for _, stretch := range stretches {
		text = append(text, stretch...)
	}
	return append(text, ']'), err
}

// rowWriter appends to text. Err is the first thing that JSON cannot say.
type rowWriter struct {
	text   []byte
	err    error
	quoted map[string]string // strings as JSON has them
	// The names in each map of the row before, sorted.
	parameters, values, beta, multipliers, ahead, gain, violation []string
}

func (w *rowWriter) row(r *HistoryRow) {
	w.put(`{"number":`).whole(r.Number)
	w.put(`,"origin":`).string(string(r.Origin))
	w.put(`,"status":`).string(string(r.Status))
	w.put(`,"excluded":`).truth(r.Excluded)
	w.put(`,"feasible":`)
	orNull(w, r.Feasible, w.truth)
	w.put(`,"parameters":`)
	members(w, &w.parameters, r.Parameters, w.setting)
	w.put(`,"values":`)
	members(w, &w.values, r.Values, w.number)
	w.put(`,"beta":`)
	members(w, &w.beta, r.Beta, w.number)
	w.put(`,"multipliers":`)
	members(w, &w.multipliers, r.Multipliers, w.number)
	if r.Horizon != 0 {
		w.put(`,"horizon":`).whole(r.Horizon)
	}
	w.put(`,"ahead":`)
	members(w, &w.ahead, r.Ahead, func(p *optimizer.Predicted) { orNull(w, p, w.predicted) })
	w.put(`,"information_gain":`)
	members(w, &w.gain, r.InformationGain, w.number)
	w.put(`,"violation":`)
	members(w, &w.violation, r.Violation, w.violated)
	if r.Regret != nil {
		w.put(`,"regret":{"bound":`)
		orNull(w, r.Regret.Bound, w.number)
		w.put(`,"bound_kind":`).string(r.Regret.BoundKind)
		w.put(`,"bound_why":`).string(r.Regret.BoundWhy)
		w.put("}")
	}
	w.put("}")
}

func (w *rowWriter) predicted(p optimizer.Predicted) {
	w.put(`{"mean":`).number(p.Mean)
	w.put(`,"sd":`).number(p.SD)
	w.put("}")
}

func (w *rowWriter) violated(v ViolationOut) {
	w.put(`{"soft":`).number(v.Soft)
	w.put(`,"hard":`).number(v.Hard)
	w.put(`,"largest":`).number(v.Largest)
	w.put(`,"rounds":`).whole(v.Rounds)
	w.put(`,"estimated":`)
	orNull(w, v.Estimated, w.number)
	w.put(`,"bound":`)
	orNull(w, v.Bound, w.number)
	w.put(`,"bound_kind":`)
	orNull(w, v.BoundKind, w.string)
	w.put(`,"bound_why":`)
	orNull(w, v.BoundWhy, w.string)
	if v.Left != nil {
		w.put(`,"left":`).number(*v.Left)
	}
	if v.Risk != nil {
		w.put(`,"risk":`).any(v.Risk)
	}
	w.put("}")
}

// members appends an object; names are those of the one before in its place.
func members[V any](w *rowWriter, names *[]string, of map[string]V, value func(V)) {
	if of == nil {
		w.put("null")
		return
	}
	strange := func(name string) bool { _, there := of[name]; return !there }
	if len(of) != len(*names) || slices.ContainsFunc(*names, strange) {
		*names = slices.Sorted(maps.Keys(of))
	}
	w.put("{")
	for i, name := range *names {
		if i > 0 {
			w.put(",")
		}
		w.string(name)
		w.put(":")
		value(of[name])
	}
	w.put("}")
}

func orNull[V any](w *rowWriter, of *V, value func(V)) {
	if of == nil {
		w.put("null")
		return
	}
	value(*of)
}

func (w *rowWriter) put(text string) *rowWriter {
	w.text = append(w.text, text...)
	return w
}

func (w *rowWriter) truth(yes bool) { w.text = strconv.AppendBool(w.text, yes) }

func (w *rowWriter) whole(n int) { w.text = strconv.AppendInt(w.text, int64(n), 10) }

func (w *rowWriter) string(text string) {
	quoted, known := w.quoted[text]
	if !known {
		bytes, _ := json.Marshal(text) // which writes every string
		quoted = string(bytes)
		w.quoted[text] = quoted
	}
	w.put(quoted)
}

func (w *rowWriter) number(x float64) {
	if !withoutExponent(x) {
		w.any(x)
		return
	}
	w.text = strconv.AppendFloat(w.text, x, 'f', -1, 64)
}

func (w *rowWriter) setting(v design.Value) {
	if v.IsText || !withoutExponent(v.Number) {
		w.any(v)
		return
	}
	w.number(v.Number)
}

// withoutExponent tells whether a number is written without an exponent.
func withoutExponent(x float64) bool {
	size := math.Abs(x)
	return size == 0 || 1e-6 <= size && size < 1e21
}

// any leaves what is rare to encoding/json.
func (w *rowWriter) any(value any) {
	text, err := json.Marshal(value)
	w.err = cmp.Or(w.err, err)
	w.text = append(w.text, text...)
}
