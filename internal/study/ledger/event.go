// Package ledger records what happens in a study: hash-chained events that are never changed. The
// study after any event is a pure function of the events up to it.
package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"time"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study/design"
)

// Kind is the kind of an event.
type Kind string

const (
	Created      Kind = "created"      // CreatedData
	Edited       Kind = "edited"       // EditedData: name, description, state
	Reconfigured Kind = "reconfigured" // ReconfiguredData
	Chosen       Kind = "chosen"       // ChosenData: a trial begins, whoever chose it
	Told         Kind = "told"         // ToldData
	Corrected    Kind = "corrected"    // CorrectedData
	Failed       Kind = "failed"       // ClosedData
	Abandoned    Kind = "abandoned"    // ClosedData
	Excluded     Kind = "excluded"     // ClosedData
	Included     Kind = "included"     // ClosedData
	Confirmed    Kind = "confirmed"    // ConfirmedData
	Fitted       Kind = "fitted"       // FittedData
)

// Event is one entry of the ledger. It is never changed once written.
//
//	Hash = hex SHA-256( previous hash in hex (64 zeros at first) ‖ RFC 8785 JSON of {seq, at, by, kind, data} )
type Event struct {
	Seq  int64           `json:"seq"`
	At   time.Time       `json:"at"` // UTC, microseconds
	By   string          `json:"by"`
	Kind Kind            `json:"kind"`
	Data json.RawMessage `json:"data"`
	Hash string          `json:"hash"`
	// Author identifies who wrote the event on this server, as account.Identity.Caller has it; ""
	// if it was written elsewhere or is unknown. It is not part of the ledger, whose By is a name
	// for people that two of them may share.
	Author string `json:"-"`
}

// Draft is an event that has no place in a ledger yet. Data has the type that belongs to Kind, such
// as ToldData.
type Draft struct {
	Kind Kind
	Data any
}

// noHash stands for the hash before the first event.
var noHash = strings.Repeat("0", 2*sha256.Size)

// Decode decodes the event's data and refuses unknown members.
func (e Event) Decode(into any) error { return decodeExactly(e.Data, into) }

// decodeExactly decodes JSON and refuses unknown members and trailing text.
func decodeExactly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return InWords(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the data")
	}
	return nil
}

// kindWords are the words for kinds of values, as Go calls what is wanted and package json what is
// there.
var kindWords = map[string]string{"int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "float64": "a number", "number": "a number",
	"string": "text", "bool": "true or false", "slice": "a list", "array": "a list", "struct": "an object", "map": "an object", "object": "an object"}

// embedded matches the names of Go types in the path of a field, whose fields stand in JSON among
// the others.
var embedded = regexp.MustCompile(`\b[A-Z]\w*\.`)

// InWords returns an error of package json, or of a time in a text, as people say it.
func InWords(err error) error {
	wrong, is := errors.AsType[*json.UnmarshalTypeError](err)
	_, noTime := errors.AsType[*time.ParseError](err)
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case is:
		there := strings.TrimPrefix(wrong.Value, "number ")
		return fmt.Errorf("%s must be %s, not %s", cmp.Or(embedded.ReplaceAllString(wrong.Field, ""), "it"), kindWords[wrong.Type.Kind().String()], cmp.Or(kindWords[there], there))
	case noTime || strings.HasPrefix(err.Error(), "Time."):
		return errors.New("a time is written as in 2026-05-01T14:02:00Z")
	case isUnknown:
		return errors.New("there is no field " + unknown)
	}
	return err
}

// Says reports whether the event's data equal data in canonical JSON.
func (e Event) Says(data any) (bool, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return false, err
	}
	would, err := canonicalJSON(text)
	if err != nil {
		return false, err
	}
	does, err := canonicalJSON(e.Data)
	return bytes.Equal(would, does), err
}

// CreatedData starts a study.
type CreatedData struct {
	Definition design.Definition `json:"definition"`
	Engine     string            `json:"engine"` // the version of the optimizer whose defaults are in Definition
}

// EditedData changes what does not touch the algorithm. Nil fields stay.
type EditedData struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	State       *State  `json:"state,omitempty"`
}

// ReconfiguredData replaces the definition from the next decision on. Changes lists what changed,
// by path.
type ReconfiguredData struct {
	Definition design.Definition `json:"definition"`
	Engine     string            `json:"engine"` // see CreatedData
	Changes    []design.Change   `json:"changes"`
	Reason     string            `json:"reason"`
}

// State is what may be done with a study.
type State string

const (
	Open     State = "open"
	Paused   State = "paused"
	Finished State = "finished"
	Archived State = "archived"
)

var States = []State{Open, Paused, Finished, Archived}

// Over reports whether no further trial will be asked for.
func (s State) Over() bool { return s == Finished || s == Archived }

// ChosenData begins trial Number.
type ChosenData struct {
	Number      int             `json:"number"`
	Origin      Origin          `json:"origin"`
	Parameters  design.Settings `json:"parameters"`
	Candidate   *int            `json:"candidate,omitempty"` // index into the candidates
	ReplicateOf int             `json:"replicate_of,omitempty"`
	Held        []string        `json:"held,omitempty"` // parameters held fixed; the algorithm chose the others
	Note        string          `json:"note,omitempty"`
	Decision    *Decision       `json:"decision,omitempty"`
	// Seen is the number of the last event that the decision was made from, Engine the version of
	// the optimizer that made it.
	Seen   int64  `json:"seen"`
	Engine string `json:"engine"`
	design.Brought
	// ValueHashes has, by metric, the hashes of sampled values that an earlier event of the ledger
	// contains; see hashValues.
	ValueHashes map[string]string `json:"constraint_values_sha256,omitempty"`
	// KnownValues are the known constraints' values at the point, by constraint name.
	KnownValues map[string]float64 `json:"known_values,omitempty"`
}

// Freely reports whether the algorithm chose all settings of the trial.
func (c ChosenData) Freely() bool { return c.Origin == Suggested && len(c.Held) == 0 }

// HeldSettings returns the settings that were given to the algorithm.
func (c ChosenData) HeldSettings() design.Settings {
	held := design.Settings{}
	for _, name := range c.Held {
		held[name] = c.Parameters[name]
	}
	return held
}

// Origin is who chose a trial.
type Origin string

const (
	Suggested Origin = "suggested"
	Manual    Origin = "manual"
	Imported  Origin = "imported"
)

var Origins = []Origin{Suggested, Manual, Imported}

// Decision is what the algorithm saw and chose, as kept with the trial and shown by the API. Maps
// are keyed by metric or constraint name. Mean and SD are in physical units; Beta, Multipliers,
// Estimates and Acquisition are in modelled units.
type Decision struct {
	Seen                   int64                  `json:"seen"`
	Engine                 string                 `json:"engine"`
	Algorithm              string                 `json:"algorithm"`
	Beta                   map[string]float64     `json:"beta"`
	Multipliers            map[string]float64     `json:"multipliers"`
	Horizon                int                    `json:"horizon,omitempty"` // T of the algorithm's constants, absent if it is the number of trials planned
	Mean                   Numbers                `json:"mean"`              // of metrics with readings and a scale
	SD                     Numbers                `json:"sd"`
	Estimates              map[string]float64     `json:"estimates"` // see Estimates and LimitEstimate
	Acquisition            *float64               `json:"acquisition"`
	RunnerUp               *RunnerUp              `json:"runner_up"`
	RandomSeed             uint64                 `json:"random_seed"` // below 2⁵³, exact for every JSON reader
	Draws                  []float64              `json:"draws,omitempty"`
	Model                  map[string]MetricModel `json:"model"`
	FeasibilityProbability *float64               `json:"feasibility_probability"`        // nil until the metric of every learned limit has readings and a scale
	ExpectedImprovement    *float64               `json:"expected_improvement,omitempty"` // over trial Incumbent, in units of the objective
	Incumbent              int                    `json:"incumbent,omitempty"`            // the trial that candidates are compared with, the best by the model
	Works                  *Works                 `json:"works,omitempty"`                // absent while no settings have failed, and from published algorithms
	Reason                 string                 `json:"reason"`
	Because                string                 `json:"because"`
}

// Works is the chance that the trial would work, as the decision estimated it.
type Works struct {
	Chance float64 `json:"chance"`
	Failed int     `json:"failed"` // trials that had failed because of their settings
	Of     int     `json:"of"`     // those and the trials that had worked
}

// RunnerUp is the second best point.
type RunnerUp struct {
	Parameters  design.Settings `json:"parameters"`
	Acquisition float64         `json:"acquisition"`
}

// MetricModel are the hyperparameters in force for a metric.
type MetricModel struct {
	Kernel       string    `json:"kernel"`
	Lengthscales []float64 `json:"lengthscales,omitempty"`
	Variance     float64   `json:"variance"`
	Lambda       float64   `json:"lambda"`
	Interaction  float64   `json:"interaction,omitempty"` // of an anova kernel
	Centre       float64   `json:"centre"`
	Scale        float64   `json:"scale"`
	// Warp transforms standardised readings. Inflation is the factor on variance and lambda,
	// contained in both, that the errors of earlier predictions call for. Freedom is the degrees of
	// freedom of the bands. If absent: no transformation, 1, and normal bands.
	Warp      warp.Warp `json:"warp,omitzero"`
	Inflation float64   `json:"inflation,omitempty"`
	Freedom   float64   `json:"freedom,omitempty"`
}

// Telling is what is reported of a trial: readings, and the settings used if they are not those
// chosen.
type Telling struct {
	Metrics    map[string]Reading `json:"metrics"`
	Parameters design.Settings    `json:"parameters,omitempty"`
	ObservedAt *time.Time         `json:"observed_at,omitempty"`
	Note       string             `json:"note,omitempty"`
}

// ToldData is a telling of trial Number with what follows from it.
type ToldData struct {
	Number int `json:"number"`
	Telling
	// Candidate and KnownValues belong to Parameters and are set with them.
	Candidate   *int               `json:"candidate,omitempty"`
	KnownValues map[string]float64 `json:"known_values,omitempty"`
	Confirmed   bool               `json:"confirmed,omitempty"` // a person was shown the doubts and said that the values are right
	Unasked     bool               `json:"unasked,omitempty"`   // nobody confirmed it, and all that was told at once judges it
}

// Reading is a value as told. Its JSON is an object; a bare number is accepted, too.
type Reading struct {
	Value  float64  `json:"value"`
	StdDev *float64 `json:"stddev,omitempty"`
}

var errNotAReading = errors.New(`a reading is a number or {"value": …, "stddev": …}`)

// UnmarshalJSON reads 71.2 or {"value": 71.2, "stddev": 0.4}, and refuses other members.
func (r *Reading) UnmarshalJSON(text []byte) error {
	var read struct {
		Value  *float64 `json:"value"`
		StdDev *float64 `json:"stddev"`
	}
	number, alone := bytes.CutPrefix(text, []byte(`{"value":`)) // the usual form in ledgers
	number, ends := bytes.CutSuffix(number, []byte("}"))
	var err error
	switch {
	case alone && ends && !bytes.ContainsAny(number, `,"{`):
		err = json.Unmarshal(number, &read.Value)
	case len(text) > 0 && text[0] == '{':
		err = decodeExactly(text, &read)
	default:
		err = json.Unmarshal(text, &read.Value)
	}
	if err != nil || read.Value == nil {
		return errNotAReading
	}
	*r = Reading{*read.Value + 0, read.StdDev} // −0 is 0, as in the hash
	return nil
}

// CorrectedData records a correction with the values before and after it.
type CorrectedData struct {
	Number      int                       `json:"number"`
	Metrics     map[string]CorrectedValue `json:"metrics,omitempty"`
	Parameters  *CorrectedSettings        `json:"parameters,omitempty"`
	Candidate   *int                      `json:"candidate,omitempty"`
	KnownValues map[string]float64        `json:"known_values,omitempty"`
	Reason      string                    `json:"reason"`
	Confirmed   bool                      `json:"confirmed,omitempty"` // as in ToldData
}

// CorrectedValue is a reading before and after; After nil takes the value back.
type CorrectedValue struct {
	Before *Reading `json:"before"`
	After  *Reading `json:"after"`
}

// CorrectedSettings are a trial's settings before and after.
type CorrectedSettings struct {
	Before design.Settings `json:"before"`
	After  design.Settings `json:"after"`
}

// ClosedData belongs to Failed, Abandoned, Excluded and Included; only Failed has a cause.
type ClosedData struct {
	Number int    `json:"number"`
	Reason string `json:"reason"`
	Cause  Cause  `json:"cause,omitempty"`
}

// ConfirmedData says that the doubted values of trial Number are right.
type ConfirmedData struct {
	Number int `json:"number"`
}

// Cause is why a trial failed.
type Cause string

const (
	BySettings Cause = "settings" // the settings are to blame and would fail again
	ByChance   Cause = "chance"   // independent of the settings
)

var Causes = []Cause{BySettings, ByChance}

// FittedData records hyperparameters that are in force from decision From on.
type FittedData struct {
	From    int                     `json:"from"`
	Seen    int64                   `json:"seen"`
	Engine  string                  `json:"engine"`
	Metrics map[string]FittedMetric `json:"metrics"`
}

// FittedMetric is one metric's part of a fit. Kernel, Inputs and Outputs name the model that it was
// made for.
type FittedMetric struct {
	Kernel  string `json:"kernel"`
	Inputs  string `json:"inputs"`
	Outputs string `json:"outputs"`
	optimizer.FittedMetric
}

// Sampled values are large, and the trials of one request share them, so a ledger holds them once:
// the first event that brings them has the numbers, later ones have their hash. The hash of such an
// event covers that hash, which covers the numbers.

// hashValues returns the hex SHA-256 of the numbers as little-endian IEEE 754 doubles; −0 counts as
// 0.
func hashValues(values []float64) string {
	sum := sha256.Sum256(lists.Bits(lists.Map(values, func(x float64) float64 { return x + 0 })))
	return hex.EncodeToString(sum[:])
}

// Resolver replaces hashes of sampled values by the values. It must see a ledger's choices in
// order. The zero value starts at the first.
type Resolver struct {
	values map[string][]float64 // by hashValues
	shared bool                 // values belongs to a snapshot and must be copied before writing
}

// Resolve returns the choice with all its values and remembers new ones.
func (r *Resolver) Resolve(data ChosenData) (ChosenData, error) {
	if len(data.ConstraintValues) == 0 && len(data.ValueHashes) == 0 {
		return data, nil
	}
	whole := make(map[string][]float64, len(data.ConstraintValues)+len(data.ValueHashes))
	for metric, values := range data.ConstraintValues {
		whole[metric] = r.keep(hashValues(values), values)
	}
	for metric, hash := range data.ValueHashes {
		values, known := r.values[hash]
		if _, twice := whole[metric]; twice || !known {
			return data, fmt.Errorf("the values of %s, of hash %s, stand in no earlier event", metric, hash)
		}
		whole[metric] = values
	}
	data.ConstraintValues, data.ValueHashes = whole, nil
	return data, nil
}

// keep remembers values. If equal ones are known it returns those, so that they are in memory once.
func (r *Resolver) keep(hash string, values []float64) []float64 {
	if before, known := r.values[hash]; known {
		return before
	}
	if r.shared || r.values == nil {
		before := r.values
		r.values, r.shared = map[string][]float64{}, false
		maps.Copy(r.values, before)
	}
	r.values[hash] = values
	return values
}

// shortener does the reverse: it replaces values that an earlier event of the ledger has by their
// hash.
type shortener struct {
	kept   Resolver
	hashes map[*float64]string // by the address of values that several choices share
}

func (s *shortener) shorten(data ChosenData) ChosenData {
	if len(data.ConstraintValues) == 0 {
		return data
	}
	inline, hashes := map[string][]float64{}, map[string]string{}
	maps.Copy(hashes, data.ValueHashes)
	for metric, values := range data.ConstraintValues {
		if len(values) == 0 {
			inline[metric] = values
			continue
		}
		hash, met := s.hashes[&values[0]]
		if !met {
			hash = hashValues(values)
			s.hashes[&values[0]] = hash
		}
		if _, known := s.kept.values[hash]; known {
			hashes[metric] = hash
			continue
		}
		inline[metric] = s.kept.keep(hash, values)
	}
	data.ConstraintValues, data.ValueHashes = inline, hashes
	return data
}

// Numbers has numbers by metric. A metric that was never read has none, since a model could only
// give its prior; in JSON it is null where all metrics are listed.
type Numbers map[string]float64

// UnmarshalJSON leaves out nulls.
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

// withNulls returns the numbers with null for every other metric that has a model.
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

// MarshalJSON lists every metric that has a model; mean and sd are null for those never read.
func (d Decision) MarshalJSON() ([]byte, error) {
	type plain Decision
	return json.Marshal(struct {
		plain
		Mean map[string]*float64 `json:"mean"`
		SD   map[string]*float64 `json:"sd"`
	}{plain(d), d.Mean.withNulls(d.Model), d.SD.withNulls(d.Model)})
}
