package study

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// HistoryRow is one round of a study.
type HistoryRow struct {
	Number          int                     `json:"number"`
	Origin          ledger.Origin           `json:"origin"`
	Status          ledger.Status           `json:"status"`
	Excluded        bool                    `json:"excluded"`
	Feasible        *bool                   `json:"feasible"`
	Parameters      design.Settings         `json:"parameters"`
	Values          map[string]float64      `json:"values"`
	Beta            map[string]float64      `json:"beta"`
	Multipliers     map[string]float64      `json:"multipliers"`
	Horizon         int                     `json:"horizon,omitempty"` // T of the algorithm's constants, absent where it is the number of trials planned
	Ahead           map[string]*Predicted   `json:"ahead"`             // one-step-ahead, with noise; null for a metric never read
	InformationGain map[string]float64      `json:"information_gain"`
	Violation       map[string]ViolationOut `json:"violation"`        // running
	Regret          *RegretOut              `json:"regret,omitempty"` // likewise; absent where the algorithm draws no bound on it
}

type Predicted struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// HistoryOf tells, round by round, what was chosen, read and believed.
func (s *Models) HistoryOf(ctx context.Context, snap *ledger.Snapshot) ([]HistoryRow, error) {
	state, err := s.shown(ctx, snap)
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
		Values: map[string]float64{}, Ahead: map[string]*Predicted{}, Beta: keyed(c.MetricNames, trace.Beta),
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
			row.Ahead[name] = &Predicted{p.Mean, p.SD}
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
	members(w, &w.ahead, r.Ahead, func(p *Predicted) { orNull(w, p, w.predicted) })
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

func (w *rowWriter) predicted(p Predicted) {
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

// A tabular CUSUM (Page 1954; Montgomery, Introduction to Statistical Quality Control): S⁺ = max(0,
// S⁺ + z − k), S⁻ = max(0, S⁻ − z − k), a drift being signalled beyond h. With k = ½ a shift of one
// standard deviation shows soonest, after about 12 readings. No residual counts for more than 2:
// the predictions of a young model are often far out once or twice, which is no drift, and so it
// takes four readings on one side at least. A process that stands, with standard normal residuals,
// passes h = 5 about once in 850 readings.
const (
	CUSUMSlack      = 0.5
	CUSUMLimit      = 5
	CUSUMMost       = 2   // no residual counts for more
	CUSUMFalseAlarm = 850 // readings of a process that stands, on average, until the limit is passed
)

// Drift is what a metric's one-step-ahead residuals, in standard deviations of a reading, and all its
// readings together say of a change with time. A shift is seen by either: residuals tell of one that comes
// slowly, or has just come; a model that has learned from readings after it no longer wonders, and takes it
// for the work of their settings where that can be.
type Drift struct {
	Numbers   []int // of the trials
	Residuals []float64
	Up, Down  []float64   // the CUSUM on either side
	Since     int         // trial of a shift beyond its limit, else that from which the sum that is beyond its own has grown, 0 where none is
	Shifted   *LevelShift // beyond its limit, else nil
	Rising    bool        // readings come out higher than predicted
	Past      []Spell     // times that a sum was beyond the limit and came back from it, in the order they ended
}

// Came says how readings of a metric that drifts have come out of late.
func (d Drift) Came(metric string) string {
	side, than := "lower", "out %s than predicted, again and again,"
	if d.Rising {
		side = "higher"
	}
	if d.Shifted != nil {
		than = "to lie %s than the settings explain"
	}
	return fmt.Sprintf("%s has come "+than+" since about trial %d", design.Capitalised(metric), side, d.Since)
}

// FewPredictions is how many predicted readings there have to be before anything is said of how
// well they were predicted.
const FewPredictions = 5

// drifting lists the metrics that drift, under an algorithm that takes them to stand.
func drifting(snap *ledger.Snapshot, calibrations map[string]Calibration) (found []Finding) {
	if snap.Compiled().Algorithm.ForDrift {
		return nil
	}
	forgetful := lists.Pick(policy.Descriptions(), func(a policy.Description) (string, bool) { return a.Name, a.ForDrift })
	for _, metric := range snap.Compiled().MetricNames {
		c := calibrations[metric]
		if d := DriftOf(c); c.Count >= FewPredictions && d.Since > 0 {
			found = append(found, Finding{Kind: "drift", Metric: metric, Since: d.Since, Says: d.Came(metric) + ": the process may have drifted, and what is expected rests on older readings too.",
				Remedy: "find out what has changed since; " + design.Listed(forgetful, "and") + " forget what is old, and with it what holds no more"})
		}
	}
	return found
}

// Spell is a time during which readings came out on one side again and again, until the model had
// caught up.
type Spell struct {
	From, Until int // the trial from which the sum grew, and the last with which it was beyond the limit
	Rising      bool
}

// DriftOf follows the CUSUM along residuals, and asks for a shift. A limit that the sum has come back
// from is no drift: the model has caught up.
func DriftOf(c Calibration) Drift {
	var d Drift
	var up, down sum
	for _, r := range c.Residuals {
		z := math.Max(-CUSUMMost, math.Min(CUSUMMost, r.Z))
		up.add(r.Number, z)
		down.add(r.Number, -z)
		d.Numbers, d.Residuals = append(d.Numbers, r.Number), append(d.Residuals, r.Z)
		d.Up, d.Down = append(d.Up, up.value), append(d.Down, down.value)
	}
	switch {
	case c.Shift != nil && c.Shift.Factor > c.Shift.Limit:
		d.Since, d.Rising, d.Shifted = c.Shift.Since, c.Shift.Rising, c.Shift
	case up.value > CUSUMLimit:
		d.Since, d.Rising = up.from, true
	case down.value > CUSUMLimit:
		d.Since = down.from
	}
	d.Past = append(spells(d.Numbers, d.Up, true), spells(d.Numbers, d.Down, false)...)
	slices.SortFunc(d.Past, func(a, b Spell) int { return cmp.Compare(a.Until, b.Until) })
	return d
}

// spells are the times that a sum has passed the limit and come back from it. From when it leaves 0
// until it is there again it counts as one.
func spells(numbers []int, sums []float64, rising bool) []Spell {
	var list []Spell
	var from, until int
	end := func() {
		if until > 0 {
			list = append(list, Spell{From: from, Until: until, Rising: rising})
		}
		from, until = 0, 0
	}
	for i, s := range sums {
		switch {
		case s == 0:
			end()
		case from == 0:
			from = numbers[i]
		}
		if s > CUSUMLimit {
			until = numbers[i]
		}
	}
	if n := len(sums); n > 0 && sums[n-1] <= CUSUMLimit {
		end()
	}
	return list
}

// sum is one side of a CUSUM, and the trial from which it has grown: where the change is most
// likely to have come.
type sum struct {
	value float64
	from  int
}

func (s *sum) add(number int, z float64) {
	if s.value == 0 {
		s.from = number
	}
	s.value = math.Max(0, s.value+z-CUSUMSlack)
}
