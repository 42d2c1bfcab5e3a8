package study

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"headroom/internal/derived"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Results of the replayed state in physical units, keyed by metric and constraint name. Their JSON
// is that of the API.

// Readout has the numbers that the next decision would use, and what follows from the study so far.
type Readout struct {
	Version        int64                            `json:"version"`
	Round          int                              `json:"round"` // of the next decision
	Algorithm      string                           `json:"algorithm"`
	Metrics        map[string]MetricState           `json:"metrics"`
	Multipliers    map[string]float64               `json:"multipliers"` // {} for algorithms without
	ByEstimate     bool                             `json:"-"`           // multipliers are updated by estimates at the chosen settings, not by readings
	AtCeiling      []string                         `json:"at_ceiling"`  // constraints whose multiplier is at its upper bound
	Calibration    map[string]optimizer.Calibration `json:"calibration"`
	Recommendation *Recommendation                  `json:"recommendation"`
	// Undecided is the recommendation if it is not known well enough to lie within the limits, else
	// settings that look better but are not known to be.
	Undecided *Undecided              `json:"undecided"`
	Works     WorksState              `json:"works"`
	Violation map[string]ViolationOut `json:"violation"`
	Regret    *RegretOut              `json:"regret,omitempty"` // absent if the algorithm has no bound on it or the objective has no scale yet
	Risk      *optimizer.Risk         `json:"risk"`             // of breaking any limit, if most_risk is one number for several; else null
	Notes     []string                `json:"notes"`            // see Notes
	Health    []Finding               `json:"health"`           // see Health
}

// WorksState describes where trials work. Trials that failed by chance, were abandoned or excluded,
// or are waiting do not count.
type WorksState struct {
	optimizer.Works
	Chance *float64 `json:"chance"` // at the recommendation, 1 while none has failed; null without one, and from published algorithms, which ignore failures
}

// MetricState describes the model of a metric.
type MetricState struct {
	optimizer.Model
	Kernel KernelReadout `json:"kernel"`
	Warp   *warp.Warp    `json:"warp"` // of standardised readings, null where they are not warped
	// NoiseBySetting has the noise's standard deviation, in the metric's units, where it differs by
	// setting: one entry for each setting with replicates, with the number of its first trial.
	// WrongReadings are the trials whose readings their replicates contradict.
	NoiseBySetting []NoiseSD `json:"noise_by_setting"`
	WrongReadings  []int     `json:"wrong_readings"`
}

// NoiseSD is the standard deviation of the noise at a trial's settings, in the metric's units.
type NoiseSD struct {
	Number int     `json:"number"`
	SD     float64 `json:"sd"`
}

type KernelReadout struct {
	Name         string             `json:"name"`
	Lengthscales map[string]float64 `json:"lengthscales,omitempty"` // by parameter, in kernel inputs
	Variance     float64            `json:"variance"`
	Interaction  float64            `json:"interaction,omitempty"` // of anova: 0 a sum over the parameters, 1 their product
}

// Undecided are settings that Readings further readings would accept or rule out as a
// recommendation if the expected values stayed as they are; Readings is null if a thousand would
// not.
type Undecided struct {
	Recommendation
	Readings *int `json:"readings"`
}

type Recommendation struct {
	Number     int             `json:"number"`
	Parameters design.Settings `json:"parameters"`
	Believed
}

// Believed is the model's prediction at some settings, by metric: mean, standard deviation and
// central 95 % band without the noise of readings, and the standard deviation of a reading, noise
// included.
type Believed struct {
	Mean                   map[string]float64 `json:"mean"`
	SD                     map[string]float64 `json:"sd"`
	Lower95                map[string]float64 `json:"lower95"`
	Upper95                map[string]float64 `json:"upper95"`
	ReadingSD              map[string]float64 `json:"reading_sd"`
	FeasibilityProbability float64            `json:"feasibility_probability"`
}

type ViolationOut struct {
	optimizer.Tally
	Estimated *float64        `json:"estimated"`
	Bound     *float64        `json:"bound"`
	BoundKind *string         `json:"bound_kind"`     // "guarantee" if no assumption of the theorem is known to be violated, else "growth"; null without a bound
	BoundWhy  *string         `json:"bound_why"`      // the reason for the kind, in a sentence; null without a bound
	Left      *float64        `json:"left,omitempty"` // the bound less the violation so far in the algorithm's own trials, by readings; absent without a bound
	Risk      *optimizer.Risk `json:"risk,omitempty"`
}

// RegretOut is the bound on cumulative regret over the algorithm's own trials, in units of the
// objective, qualified as in ViolationOut.
type RegretOut struct {
	Bound     *float64 `json:"bound"`
	BoundKind string   `json:"bound_kind"`
	BoundWhy  string   `json:"bound_why"`
}

// Posterior is the posterior at some points. For a metric in Unread there is only the prior, or no
// scale to express it in, so JSON has null instead. The feasibility probability is null if such a
// metric has a limit, or if a limit depends on what a trial brings with it.
type Posterior struct {
	Metrics                map[string]Band `json:"metrics"`
	FeasibilityProbability Series          `json:"feasibility_probability"`
	Works                  Series          `json:"-"` // the chance that a trial works; nil while none has failed
	Unread                 map[string]bool `json:"-"` // metrics that were never read, or have no scale yet
	Uncertain              bool            `json:"-"` // there is a limit of which nothing is known
}

// Series has one number per point; JSON has null where nothing is known.
type Series []float64

// MarshalJSON writes null for what was never read.
func (p Posterior) MarshalJSON() ([]byte, error) {
	out := struct {
		Metrics                map[string]map[string][]*float64 `json:"metrics"`
		FeasibilityProbability []*float64                       `json:"feasibility_probability"`
	}{map[string]map[string][]*float64{}, p.FeasibilityProbability.orNulls(p.Uncertain)}
	for name, b := range p.Metrics {
		of := map[string][]*float64{}
		for field, series := range map[string]Series{"mean": b.Mean, "sd": b.SD, "lower": b.Lower, "upper": b.Upper, "lower95": b.Lower95, "upper95": b.Upper95} {
			of[field] = series.orNulls(p.Unread[name])
		}
		out.Metrics[name] = of
	}
	return json.Marshal(out)
}

func (s Series) orNulls(unread bool) []*float64 {
	list := make([]*float64, len(s))
	for i := range s {
		if !unread {
			list[i] = &s[i]
		}
	}
	return list
}

// Band is a metric's posterior at some points: the latent function in physical units.
type Band struct {
	Mean    Series `json:"mean"`
	SD      Series `json:"sd"`
	Lower   Series `json:"lower"` // the algorithm's own band
	Upper   Series `json:"upper"`
	Lower95 Series `json:"lower95"`
	Upper95 Series `json:"upper95"`
}

// AcquisitionQuery asks for the acquisition at some points.
type AcquisitionQuery struct {
	Points []design.Settings `json:"points,omitempty"` // default: the candidates
	design.Brought
}

// Acquisition answers an AcquisitionQuery. A nil value belongs to a point that may not be chosen.
type Acquisition struct {
	Values      []*float64         `json:"values"`
	Argmax      *int               `json:"argmax"`
	Beta        map[string]float64 `json:"beta"`
	Multipliers map[string]float64 `json:"multipliers"`
}

// Choice is what one algorithm would choose next on the study's history.
type Choice struct {
	Name       string           `json:"name"`
	Parameters *design.Settings `json:"parameters"` // nil when it chooses nothing
	Because    string           `json:"because"`
}

// Notes returns sentences that a reader of the study's figures has to know: that the data are
// simulated, what the algorithm does not guarantee, which trials failed, and what was told to no
// effect.
func Notes(snap *ledger.Snapshot) []string {
	notes := []string{}
	if lab := snap.Definition.SimulatedLab; lab != "" {
		notes = append(notes, fmt.Sprintf("Simulated: the readings come from the problem %s of the simulator, not from a laboratory.", lab))
	}
	if beware := snap.Compiled().Algorithm.Beware; beware != "" && len(snap.Definition.Constraints) > 0 {
		if safeByDistance(snap.Definition) {
			beware += " Which settings are safe follows from the Lipschitz constant that was given: one that is too small lets trials break a limit by much."
		}
		notes = append(notes, beware)
	}
	if broken, at := brokenSeeds(snap); len(broken) > 0 {
		notes = append(notes, fmt.Sprintf("Settings that were given as safe were read beyond a limit: in %d of %s there, first in trial %d. The algorithm goes on counting them as safe: take them out of its safe settings unless that was chance.",
			len(broken), design.Count(at, "trial", "trials"), broken[0]))
	}
	failed, of := outcomes(snap)
	if failed > 0 {
		said := "suggestions weigh the chance that a trial works"
		if !snap.Compiled().Algorithm.Compares {
			said = "where hardly any trial would work is suggested only when nothing else is left"
		}
		if snap.Compiled().Config.Paper {
			said = "the published algorithm takes no account of that, but does not ask for the same settings again"
		}
		notes = append(notes, fmt.Sprintf("Trials that failed because of their settings: %d of %d; %s.", failed, of, said))
	}
	deviates := func(t *ledger.Trial) bool {
		return slices.ContainsFunc(snap.Compiled().MetricNames, func(metric string) bool { return t.Metrics[metric].StdDev != nil })
	}
	if !snap.Compiled().Config.Fit && slices.ContainsFunc(snap.Trials, deviates) {
		notes = append(notes, "Standard deviations told with readings are kept but not used: the model is fixed, with one noise for all readings of a metric.")
	}
	return append(append(notes, movedNotes(snap)...), unitNotes(snap)...)
}

// brokenSeeds returns the trials at settings given as safe that broke a limit by its present
// threshold, and how many there have readings of all limits. Both are none for algorithms that need
// no safe settings.
func brokenSeeds(snap *ledger.Snapshot) (broken []int, of int) {
	c := snap.Compiled()
	if !c.Algorithm.NeedsSafeSeeds {
		return nil, 0
	}
	seeds := map[string]bool{}
	for _, seed := range c.Config.SafeSeeds {
		seeds[string(lists.Bits(seed.U))] = true
	}
	for _, t := range snap.Trials {
		if t.Excluded || t.Feasible == nil || !seeds[string(lists.Bits(c.Locate(t.Parameters, t.Candidate).U))] {
			continue
		}
		if of++; !*t.Feasible {
			broken = append(broken, t.Number)
		}
	}
	return broken, of
}

// Suggestions count as moved where fewestMoved or more, and most of those with results, were run at
// another value of a parameter, which is farMoved of its range away on average.
const (
	fewestMoved = 5
	farMoved    = 0.02
)

// movedNotes returns a note on each number that suggested trials are mostly run at another value of
// than suggested. Where an instrument cannot do what is suggested, the next suggestions come to
// nothing in the same way: the model knows what was used, and not that this will happen again.
func movedNotes(snap *ledger.Snapshot) (notes []string) {
	for _, p := range snap.Definition.Parameters {
		moved, run, above, apart := 0, 0, 0.0, 0.0
		for _, t := range snap.Trials {
			if t.Origin != ledger.Suggested || t.Excluded || t.Status != ledger.StatusPartial && t.Status != ledger.StatusCompleted {
				continue
			}
			by := t.Parameters[p.Name].Number - snap.Chosen(t.Number)[p.Name].Number
			run, above, apart = run+1, above+by, apart+math.Abs(by)
			if by != 0 {
				moved++
			}
		}
		if p.Low == nil || p.High == nil || moved < fewestMoved || 2*moved <= run || apart < farMoved*(*p.High-*p.Low)*float64(run) {
			continue
		}
		amount := func(x float64) string {
			return design.Apart(design.WriteBeside(x/float64(run), x/float64(run)), p.Unit, " ")
		}
		by := amount(apart) + " away"
		switch {
		case above == apart:
			by = amount(apart) + " above"
		case above == -apart:
			by = amount(apart) + " below"
		}
		notes = append(notes, fmt.Sprintf("Suggested trials are run at another %s than suggested: %d of %d, %s on average; the model counts what was used, and does not know that the next will be, too: put the instrument right, or give %[1]s the bounds and the step of what can be set.",
			design.Name(p.Name), moved, run, by))
	}
	return notes
}

// unitNotes returns notes on values that were told in another unit than the present one.
func unitNotes(snap *ledger.Snapshot) (notes []string) {
	if !snap.UnitsChanged() {
		return nil
	}
	note := func(what, name string, there func(*ledger.Trial) bool) {
		of := lists.Pick(snap.Trials, func(t *ledger.Trial) (int, bool) { return t.Number, there(t) })
		today := snap.Definition.Unit(name)
		if otherwise := lists.Count(of, func(number int) bool { return snap.UnitTold(number, name) != today }); otherwise > 0 {
			notes = append(notes, fmt.Sprintf(what+" in another unit than today’s: %d of %d; they count as the numbers that they are, and are not converted.", design.Name(name), otherwise, len(of)))
		}
	}
	for _, m := range snap.Definition.Metrics() {
		what := "Readings of %s told"
		if m.Known {
			what = "Values of %s"
		}
		note(what, m.Name, func(t *ledger.Trial) bool { _, there := t.Metrics[m.Name]; return there })
	}
	for _, name := range snap.Definition.ParameterNames() {
		note("Settings of %s", name, func(*ledger.Trial) bool { return true })
	}
	return notes
}

// outcomes counts the trials that failed because of their settings, and those plus the trials that
// worked, as the optimizer does. A trial that waits or failed by chance says nothing about where
// trials work.
func outcomes(snap *ledger.Snapshot) (failed, of int) {
	for _, t := range snap.Trials {
		read := func(metric string) bool { m, there := t.Metrics[metric]; return there && !m.Known }
		switch {
		case t.Excluded:
		case t.Cause == ledger.BySettings:
			failed, of = failed+1, of+1
		case (t.Waiting() || t.Status == ledger.StatusCompleted) && slices.ContainsFunc(snap.Compiled().MetricNames, read):
			of++
		}
	}
	return failed, of
}

const mostPoints = 10000

// StateOf returns the readout of snap, which callers must not modify. It is computed at most once
// for each cached version.
func (s *Models) StateOf(ctx context.Context, snap *ledger.Snapshot) (Readout, error) {
	return derived.Get(ctx, s.Derived, snap, readoutOf, func(ctx context.Context) (Readout, error) {
		return onState(ctx, s, snap, func(ctx context.Context, state *optimizer.State) (Readout, error) { return readout(ctx, snap, state) })
	})
}

func readout(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (Readout, error) {
	violated, err := state.Violations(ctx)
	if err != nil {
		return Readout{}, err
	}
	regret, err := state.RegretBounds(ctx)
	if err != nil {
		return Readout{}, err
	}
	recommended, err := recommendation(ctx, snap, state)
	if err != nil {
		return Readout{}, err
	}
	open, err := undecided(ctx, snap, state)
	if err != nil {
		return Readout{}, err
	}
	calibrations, err := state.Calibrations(ctx)
	if err != nil {
		return Readout{}, err
	}
	risks, err := state.Risks(ctx)
	if err != nil {
		return Readout{}, err
	}
	c := snap.Compiled()
	out := Readout{
		Version: snap.Version, Round: state.Round(), Algorithm: c.Def.Algorithm.Name,
		Metrics: map[string]MetricState{}, Multipliers: keyed(c.ConstraintNames, state.Multipliers()),
		Calibration:    map[string]optimizer.Calibration{},
		Recommendation: recommended, Undecided: open, ByEstimate: state.MovesByEstimate(), AtCeiling: append([]string{}, lists.At(c.ConstraintNames, state.AtCeiling())...), Notes: Notes(snap), Health: append(InDoubt(snap), Health(snap)...),
	}
	if out.Works, err = worksState(ctx, snap, state, recommended); err != nil {
		return Readout{}, err
	}
	for k, m := range state.Models() {
		out.Metrics[c.MetricNames[k]] = metricState(c.Def, m)
	}
	for k, calibration := range calibrations {
		out.Calibration[c.MetricNames[k]] = calibration
	}
	out.Health = append(append(out.Health, Drifting(snap, out.Calibration)...), Miscalibrated(snap, out.Calibration)...)
	bounds := boundsOf(snap, out)
	out.Violation = bounds.violations(snap, violated)
	if n := len(regret); n > 0 {
		out.Regret = bounds.regret(snap, regret[n-1])
	}
	out.addRisks(c, risks)
	return out, nil
}

func worksState(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State, recommended *Recommendation) (WorksState, error) {
	works := state.Works()
	out := WorksState{Works: works}
	if recommended == nil || works.Failed > 0 && snap.Compiled().Config.Paper {
		return out, nil
	}
	chances, err := state.WorksChance(ctx, []optimizer.Place{snap.Place(recommended.Number)})
	if err != nil {
		return out, err
	}
	out.Chance = &chances[0]
	return out, nil
}

func metricState(d design.Definition, m optimizer.Model) MetricState {
	out := MetricState{
		Model: m, Kernel: KernelReadout{Name: m.Kernel.Name, Variance: m.Kernel.Variance, Interaction: m.Kernel.Interaction},
		NoiseBySetting: lists.Map(m.Settings, func(at optimizer.NoiseAt) NoiseSD { return NoiseSD{at.Round, m.Scale * math.Sqrt(at.Lambda)} }),
		WrongReadings:  lists.Map(m.Wrong, func(at optimizer.NoiseAt) int { return at.Round }),
	}
	if !m.Warp.IsZero() {
		out.Warp = &m.Warp
	}
	if len(m.Kernel.Lengthscales) == len(d.Parameters) {
		out.Kernel.Lengthscales = map[string]float64{}
		for i, p := range d.Parameters {
			out.Kernel.Lengthscales[p.Name] = m.Kernel.Lengthscales[i]
		}
	}
	return out
}

// bounds qualifies the bounds on violation and regret by the assumptions that they rest on.
type bounds struct {
	*Theorem              // nil without bounds
	onViolation, onRegret struct{ kind, why string }
	unforeseen            []string // metrics without a reading or a scale, of which nothing is predicted
	unscaled              []string // metrics without a scale, in which no bound can be expressed
}

func boundsOf(snap *ledger.Snapshot, readout Readout) *bounds {
	metrics, scaled := snap.Compiled().MetricNames, func(metric string) bool { return readout.Metrics[metric].Scaled }
	b := &bounds{Theorem: TheoremOf(snap, readout), unscaled: slices.DeleteFunc(slices.Clone(metrics), scaled)}
	b.unforeseen = slices.DeleteFunc(slices.Clone(metrics), func(metric string) bool { return snap.HasReading(metric) && scaled(metric) })
	if theorem := b.Theorem; theorem != nil {
		b.onViolation.kind, b.onViolation.why = theorem.Worth()
		b.onRegret.kind, b.onRegret.why = theorem.OnRegret().Worth()
	}
	return b
}

func (b *bounds) violations(snap *ledger.Snapshot, by []optimizer.Violation) map[string]ViolationOut {
	out := make(map[string]ViolationOut, len(by))
	for j, v := range by {
		told := ViolationOut{Tally: v.Tally, Estimated: design.FiniteOrNil(v.Estimated)}
		if v.HasBound && !slices.Contains(b.unscaled, snap.Definition.Constraints[j].Metric) {
			told.Bound, told.BoundKind, told.BoundWhy = design.FiniteOrNil(v.Bound), &b.onViolation.kind, &b.onViolation.why
			told.Left = design.FiniteOrNil(v.Bound - b.sum(v.Bounded))
		}
		k := snap.Definition.Constraints[j]
		if slices.Contains(b.unforeseen, k.Metric) {
			told.Estimated = nil
		}
		out[k.Name] = told
	}
	return out
}

func (b *bounds) regret(snap *ledger.Snapshot, bound float64) *RegretOut {
	if slices.Contains(b.unscaled, snap.Definition.Objective.Metric) {
		return nil
	}
	return &RegretOut{design.FiniteOrNil(bound), b.onRegret.kind, b.onRegret.why}
}

func recommendation(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*Recommendation, error) {
	round, err := state.Recommendation(ctx)
	if err != nil || !limitsLearned(snap.Compiled(), state) {
		return nil, err
	}
	return beliefAt(ctx, snap, state, round)
}

// undecided returns the settings that may turn out better than the recommendation, nil if there are
// none.
func undecided(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*Undecided, error) {
	found, err := state.Undecided(ctx)
	if err != nil || found.Round == 0 || !limitsLearned(snap.Compiled(), state) {
		return nil, err
	}
	r, err := beliefAt(ctx, snap, state, found.Round)
	if err != nil {
		return nil, err
	}
	out := &Undecided{Recommendation: *r}
	if found.Readings > 0 {
		out.Readings = &found.Readings
	}
	return out, nil
}

// beliefAt returns the model's prediction at the settings of a trial, nil for trial 0.
func beliefAt(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State, number int) (*Recommendation, error) {
	t := snap.Trial(number)
	if t == nil {
		return nil, nil
	}
	var known [][]float64
	if costs := snap.Definition.KnownInOrder(snap.KnownValues(t.Number)); costs != nil {
		known = [][]float64{costs}
	}
	beliefs, chances, err := state.Believe(ctx, []optimizer.Place{snap.Place(t.Number)}, known)
	if err != nil {
		return nil, err
	}
	out := Believed{Mean: map[string]float64{}, SD: map[string]float64{}, Lower95: map[string]float64{}, Upper95: map[string]float64{},
		ReadingSD: map[string]float64{}, FeasibilityProbability: chances[0]}
	for k, belief := range beliefs {
		name := snap.Compiled().MetricNames[k]
		out.Mean[name], out.SD[name] = belief.Mean[0], belief.SD[0]
		out.Lower95[name], out.Upper95[name], out.ReadingSD[name] = belief.Lower95[0], belief.Upper95[0], belief.ReadingSD[0]
	}
	return &Recommendation{Number: t.Number, Parameters: t.Parameters, Believed: out}, nil
}

// PosteriorAt returns the posterior at some points, whether they may be tried or not.
func (s *Models) PosteriorAt(ctx context.Context, snap *ledger.Snapshot, points []design.Settings) (Posterior, error) {
	if len(points) == 0 || len(points) > mostPoints {
		return Posterior{}, design.NewInvalid("points", fmt.Sprintf("give 1 to %d points", mostPoints), len(points))
	}
	places, faults := snap.Compiled().Viewpoints(points, "points")
	if err := faults.Err(); err != nil {
		return Posterior{}, err
	}
	return s.posterior(ctx, snap, places, points)
}

func (s *Models) posterior(ctx context.Context, snap *ledger.Snapshot, places []optimizer.Place, points []design.Settings) (Posterior, error) {
	return onState(ctx, s, snap, func(ctx context.Context, state *optimizer.State) (Posterior, error) {
		c := snap.Compiled()
		beliefs, chances, err := state.Believe(ctx, places, c.KnownOfSettings(points))
		if err != nil {
			return Posterior{}, err
		}
		out := Posterior{Metrics: map[string]Band{}, FeasibilityProbability: chances, Unread: map[string]bool{},
			Uncertain: !snap.Definition.Foreseeable() || !limitsLearned(c, state)}
		for k, belief := range beliefs {
			name := c.MetricNames[k]
			out.Metrics[name] = Band{Mean: belief.Mean, SD: belief.SD, Lower: belief.Lower, Upper: belief.Upper, Lower95: belief.Lower95, Upper95: belief.Upper95}
			out.Unread[name] = !state.Foresees(k)
		}
		if !c.Config.Paper && state.Works().Failed > 0 { // a published algorithm does not learn from failures
			out.Works, err = state.WorksChance(ctx, places)
		}
		return out, err
	})
}

// AcquisitionAt returns the function that the next decision would maximise, at the given points or
// at the candidates.
func (s *Models) AcquisitionAt(ctx context.Context, snap *ledger.Snapshot, q AcquisitionQuery) (Acquisition, error) {
	places, known, err := acquisitionPlaces(snap.Compiled(), q)
	if err != nil {
		return Acquisition{}, err
	}
	return onState(ctx, s, snap, func(ctx context.Context, state *optimizer.State) (Acquisition, error) {
		c := snap.Compiled()
		left, of := c.Available(places)
		scores, err := state.Acquisition(ctx, left, known)
		if err != nil {
			return Acquisition{}, err
		}
		out := Acquisition{Values: make([]*float64, len(places)), Beta: map[string]float64{}, Multipliers: keyed(c.ConstraintNames, state.Multipliers())}
		for n, v := range scores.Values {
			if scores.Allowed == nil || scores.Allowed[n] {
				out.Values[of[n]] = design.FiniteOrNil(v)
			}
		}
		if scores.Argmax >= 0 {
			out.Argmax = &of[scores.Argmax]
		}
		for k, m := range state.Models() {
			if m.Beta != nil {
				out.Beta[c.MetricNames[k]] = *m.Beta
			}
		}
		return out, nil
	})
}

func acquisitionPlaces(c *design.Compiled, q AcquisitionQuery) ([]optimizer.Place, optimizer.Known, error) {
	if len(q.Points) > mostPoints {
		return nil, optimizer.Known{}, design.NewInvalid("points", fmt.Sprintf("at most %d points are allowed", mostPoints), len(q.Points))
	}
	if q.Points == nil {
		places := c.Arms()
		if places == nil {
			return nil, optimizer.Known{}, design.NewInvalid("points", "give points, because the study has no candidates", nil)
		}
		known, faults := c.Known(q.Brought)
		return places, known, faults.Err()
	}
	if len(q.Points) == 0 {
		return nil, optimizer.Known{}, design.NewInvalid("points", "the list is empty; leave it out for all candidates", nil)
	}
	places, faults := c.Places(q.Points, "points")
	if err := faults.Err(); err != nil {
		return nil, optimizer.Known{}, err
	}
	known, faults := c.KnownFor(places, q.Brought)
	return places, known, faults.Err()
}

func (r *Readout) addRisks(c *design.Compiled, risks []optimizer.Risk) {
	for _, risk := range risks {
		if len(risk.Costs) > 1 {
			r.Risk = &risk
			continue
		}
		name := c.ConstraintNames[risk.Costs[0]]
		limit := r.Violation[name]
		limit.Risk = &risk
		r.Violation[name] = limit
	}
}

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
	Horizon         int                             `json:"horizon,omitempty"` // T of the algorithm's constants, absent if it is the number of trials planned
	Ahead           map[string]*optimizer.Predicted `json:"ahead"`             // one-step-ahead prediction, with noise; null for a metric without readings until then
	InformationGain map[string]float64              `json:"information_gain"`
	Violation       map[string]ViolationOut         `json:"violation"`        // up to this round
	Regret          *RegretOut                      `json:"regret,omitempty"` // up to this round; absent as in the state
}

// HistoryOf returns what was chosen, read and predicted in each round.
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
	bounds := boundsOf(snap, readout) // the present ones: a violated assumption breaks the proof for every row
	rows := make([]HistoryRow, len(snap.Trials))
	return rows, cores.Stretches(len(rows), func(from, to int) error {
		for i := from; i < to; i++ {
			rows[i] = historyRow(snap, i, trace[i])
			rows[i].Violation = bounds.violations(snap, running[i])
			if regret != nil {
				rows[i].Regret = bounds.regret(snap, regret[i])
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
		if p == nil || design.Finite(p.Mean) && design.Finite(p.SD) {
			row.Ahead[c.MetricNames[k]] = p
		}
	}
	return row
}
