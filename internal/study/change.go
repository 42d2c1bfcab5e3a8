package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Create makes a study with the given definition.
func (s *Service) Create(ctx context.Context, cmd Command, def design.Definition) (*ledger.Snapshot, error) {
	checked, err := def.WithUnits().Check()
	if err != nil {
		return nil, err
	}
	id := newID()
	first, err := s.append(cmd, id, nil, ruling{drafts: []ledger.Draft{{Kind: ledger.Created, Data: ledger.CreatedData{Definition: checked, Engine: optimizer.Engine}}}})
	if err != nil {
		return nil, err
	}
	if err := s.store.Create(ctx, id, cmd, InOnePart(first)); err != nil {
		return nil, err
	}
	return s.Derived.Put(first.After), nil
}

// Edit changes name, description or state.
func (s *Service) Edit(ctx context.Context, cmd Command, id string, edit ledger.EditedData) (*ledger.Snapshot, error) {
	ruled, err := ruleEdit(edit)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, cmd, id, nil, func(*ledger.Snapshot) (ruling, error) { return ruled, nil })
}

func ruleEdit(edit ledger.EditedData) (ruling, error) {
	var faults design.Faults
	if edit.Name == nil && edit.Description == nil && edit.State == nil {
		faults.Add("", nil, "give a name, a description or a state")
	}
	if edit.Name != nil {
		if wrong := design.CheckName(*edit.Name); wrong != "" {
			faults.Add("name", *edit.Name, "the study's name %s", wrong)
		}
	}
	if edit.Description != nil {
		if wrong := design.CheckDescription(*edit.Description); wrong != "" {
			faults.Add("description", nil, "%s", wrong)
		}
	}
	if edit.State != nil && !slices.Contains(ledger.States, *edit.State) {
		faults.Add("state", *edit.State, "must be open, paused, finished or archived")
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruling{drafts: []ledger.Draft{{Kind: ledger.Edited, Data: edit}}}, nil
}

// Reconfigure changes the definition for the decisions to come. It waits for a decision under way.
func (s *Service) Reconfigure(ctx context.Context, cmd Command, id string, change design.Reconfiguration) (*ledger.Snapshot, error) {
	var after *ledger.Snapshot
	err := s.store.Choosing(ctx, id, func(ctx context.Context) (err error) {
		after, err = s.change(ctx, cmd, id, nil, func(now *ledger.Snapshot) (ruling, error) { return ruleReconfigure(now, change) })
		return err
	})
	return after, err
}

func ruleReconfigure(snap *ledger.Snapshot, change design.Reconfiguration) (ruling, error) {
	if snap.State == ledger.Archived {
		return ruling{}, conflict("The study is archived. Set its state to open, paused or finished first.")
	}
	before := snap.Definition
	after, faults := change.Apply(snap.Compiled().Chosen(before))
	if err := append(faults, checkReason(change.Reason)...).Err(); err != nil {
		return ruling{}, err
	}
	err := boundsBeyondCandidates(after).Err()
	if err == nil {
		after, err = after.Check()
	}
	if err == nil {
		err = slices.Concat(design.SameShape(before, after), checkLogScales(snap, after), checkMixtures(snap, after)).Err()
	}
	if invalid, is := errors.AsType[*design.Invalid](err); is {
		err = change.Placed(after, invalid.Faults).Err()
	}
	if err != nil {
		return ruling{}, err
	}
	changes, err := design.Differences(before, after)
	if err != nil {
		return ruling{}, err
	}
	if len(changes) == 0 {
		return ruling{}, conflict("The study is already configured like this; nothing would change.")
	}
	return ruling{drafts: []ledger.Draft{{Kind: ledger.Reconfigured, Data: ledger.ReconfiguredData{Definition: after, Engine: optimizer.Engine, Changes: changes, Reason: change.Reason}}}}, nil
}

// boundsBeyondCandidates returns a fault for each bound that candidates lie beyond. Candidates are
// not changed, so the bound is reported once instead of every candidate.
func boundsBeyondCandidates(after design.Definition) (faults design.Faults) {
	for i, p := range after.Parameters {
		levels := design.Levels(after.Candidates, p.Name)
		if len(levels) == 0 || p.Type == design.Remainder || p.Low == nil || p.High == nil {
			continue
		}
		say := func(bound, reach string, limit, level float64, op string) {
			faults.Add(fmt.Sprintf("parameters[%d].%s", i, bound), limit, "there are candidates %s to %s, which stay; instead, a rule such as %s %s %s leaves them out",
				reach, design.FormatNumber(level), p.Name, op, design.FormatNumber(limit))
		}
		if lowest := slices.Min(levels); lowest < *p.Low {
			say("low", "down", *p.Low, lowest, ">=")
		}
		if highest := slices.Max(levels); highest > *p.High {
			say("high", "up", *p.High, highest, "<=")
		}
	}
	return faults
}

// checkLogScales returns a fault for each logarithmic scale on which past trials have no place: a
// trial at 0 or below, run while the scale was linear, could not be modelled any more.
func checkLogScales(snap *ledger.Snapshot, after design.Definition) (faults design.Faults) {
	for i, p := range after.Parameters {
		if t := notAboveZero(snap, p.Name); p.Logarithmic() && t != nil {
			faults.Add(fmt.Sprintf("parameters[%d].scale", i), p.Scale, "a logarithmic scale has numbers above 0, and trial %d was run at %s", t.Number, design.WriteSetting(p, t.Parameters[p.Name]))
		}
	}
	return faults
}

// checkMixtures returns a fault for each remainder that no longer fits past trials, whose parts add
// up to the old total.
func checkMixtures(snap *ledger.Snapshot, after design.Definition) (faults design.Faults) {
	if len(snap.Trials) == 0 {
		return nil
	}
	for i, p := range snap.Definition.Parameters {
		q, at := after.Parameters[i], fmt.Sprintf("parameters[%d]", i)
		if p.Type != design.Remainder || q.Type != design.Remainder {
			continue
		}
		if *p.Total != *q.Total {
			faults.Add(at+".total", *q.Total, "existing trials add up to %s; make a new study for mixtures of another total", design.FormatNumber(*p.Total))
		}
		if was, is := slices.Sorted(slices.Values(p.Of)), slices.Sorted(slices.Values(q.Of)); !slices.Equal(was, is) {
			faults.Add(at+".of", q.Of, "in existing trials it is what %s leave; make a new study for mixtures of other parts", design.Listed(p.Of, "and"))
		}
	}
	return faults
}

// Correction changes what was told of a trial. A nil reading takes the value back.
type Correction struct {
	Number     int                        `json:"-"`
	Metrics    map[string]*ledger.Reading `json:"metrics,omitempty"`
	Parameters design.Settings            `json:"parameters,omitempty"`
	Reason     string                     `json:"reason"`
}

// Correct changes what was told of a trial. The ledger keeps both values and the reason.
func (s *Service) Correct(ctx context.Context, cmd Command, id string, c Correction) (*ledger.Snapshot, error) {
	possible := func(base *ledger.Snapshot) bool {
		return knowsNames(base, c.Metrics, c.Parameters) && len(checkReason(c.Reason)) == 0
	}
	return s.change(ctx, cmd, id, possible, correctionRule(cmd, c))
}

func correctionRule(cmd Command, c Correction) func(now *ledger.Snapshot) (ruling, error) {
	return func(now *ledger.Snapshot) (ruling, error) {
		ruled, err := ruleCorrect(now, c)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtCorrection(now, now.Trial(c.Number), c) })
	}
}

func ruleCorrect(snap *ledger.Snapshot, c Correction) (ruling, error) {
	trial, err := mayTellOf(snap, c.Number)
	if err != nil {
		return ruling{}, err
	}
	data := ledger.CorrectedData{Number: c.Number, Reason: c.Reason}
	faults := checkReason(c.Reason)
	if len(c.Metrics) == 0 && c.Parameters == nil {
		faults.Add("metrics", nil, "what is to be corrected? Give metrics or parameters")
	}
	wrong, refused := eachMetric(c.Metrics, func(name string, after *ledger.Reading) (design.Faults, error) {
		value, wrong, err := ruleCorrectedValue(snap, trial, name, after)
		if data.Metrics == nil {
			data.Metrics = map[string]ledger.CorrectedValue{}
		}
		data.Metrics[name] = value
		return wrong, err
	})
	faults = append(faults, wrong...)
	if c.Parameters != nil {
		after, candidate, known, wrong := placeUsed(snap, trial, c.Parameters)
		faults = append(faults, wrong...)
		if len(wrong) == 0 && maps.Equal(after, trial.Parameters) {
			faults.Add("parameters", nil, "these settings are kept already")
		}
		data.Parameters = &ledger.CorrectedSettings{Before: trial.Parameters, After: after}
		data.Candidate, data.KnownValues = candidate, known
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruleOf(ledger.Corrected, c.Number, data), refused
}

func ruleCorrectedValue(snap *ledger.Snapshot, trial *ledger.Trial, name string, after *ledger.Reading) (ledger.CorrectedValue, design.Faults, error) {
	faults := checkMetricName(snap, name)
	if after != nil {
		faults = append(faults, checkReading(name, *after)...)
	}
	if len(faults) > 0 {
		return ledger.CorrectedValue{}, faults, nil
	}
	if err := mustBeTold(snap, name); err != nil {
		return ledger.CorrectedValue{}, nil, err
	}
	m, told := trial.Metrics[name]
	if !told {
		return ledger.CorrectedValue{}, nil, conflict("%s of trial %d has not been told, so there is nothing to correct. Tell it instead.", name, trial.Number)
	}
	if after != nil && m.Reads(*after) && snap.UnitTold(trial.Number, name) == snap.Definition.Unit(name) {
		return ledger.CorrectedValue{}, design.Faults{{Field: "metrics." + name, Message: design.FormatNumber(m.Value) + " is kept already", Value: after.Value}}, nil
	}
	return ledger.CorrectedValue{Before: &ledger.Reading{Value: m.Value, StdDev: m.StdDev}, After: after}, nil, nil
}

// Confirm records that the doubted values of a trial are right, for good. It fails if the sender,
// as forms tell, was shown other doubts than there are now.
func (s *Service) Confirm(ctx context.Context, cmd Command, id string, number int) (*ledger.Snapshot, error) {
	return s.change(ctx, cmd, id, nil, func(now *ledger.Snapshot) (ruling, error) {
		trial, err := mayTellOf(now, number)
		if err == nil && len(trial.Doubts) == 0 {
			err = conflict("Nothing about trial %d is in doubt.", number)
		}
		if err == nil && cmd.Sure != nil && *cmd.Sure != Doubted(Asked(trial.Doubts)) {
			err = conflict("What is in doubt about trial %d has changed since you saw it. Look at it again.", number)
		}
		return ruleOf(ledger.Confirmed, number, ledger.ConfirmedData{Number: number}), err
	})
}

// Close ends a trial or takes it out of the data: kind is Failed, Abandoned, Excluded or Included.
// Failing a trial again with another cause corrects the cause.
func (s *Service) Close(ctx context.Context, cmd Command, id string, kind ledger.Kind, data ledger.ClosedData) (*ledger.Snapshot, error) {
	if err := checkClosing(kind, data).Err(); err != nil {
		return nil, err
	}
	return s.change(ctx, cmd, id, nil, func(now *ledger.Snapshot) (ruling, error) { return ruleClose(now, kind, data) })
}

func ruleClose(snap *ledger.Snapshot, kind ledger.Kind, data ledger.ClosedData) (ruling, error) {
	trial, err := mayTellOf(snap, data.Number)
	if err != nil {
		return ruling{}, err
	}
	if err := checkClosing(kind, data).Err(); err != nil {
		return ruling{}, err
	}
	return ruleOf(kind, data.Number, data), mayClose(trial, kind, data.Cause)
}

func checkClosing(kind ledger.Kind, data ledger.ClosedData) design.Faults {
	faults := checkReason(data.Reason)
	switch {
	case kind == ledger.Failed && !slices.Contains(ledger.Causes, data.Cause):
		faults.Add("cause", data.Cause, "must be settings or chance")
	case kind != ledger.Failed && data.Cause != "":
		faults.Add("cause", data.Cause, "only a failed trial has a cause; leave it out")
	}
	return faults
}

func mayClose(trial *ledger.Trial, kind ledger.Kind, cause ledger.Cause) error {
	switch kind {
	case ledger.Failed, ledger.Abandoned:
		if trial.Status == ledger.StatusCompleted {
			return conflict("Trial %d is completed. To leave its results out, exclude it.", trial.Number)
		}
		if !trial.Waiting() && trial.Status == ledger.Status(kind) && trial.Cause == cause {
			return conflict("Trial %d is %s already.", trial.Number, endedHow(trial))
		}
	case ledger.Excluded:
		if trial.Excluded {
			return conflict("Trial %d is excluded already.", trial.Number)
		}
	case ledger.Included:
		if !trial.Excluded {
			return conflict("Trial %d is not excluded.", trial.Number)
		}
	}
	return nil
}

// endedHow says how a trial ended that does not wait any more.
func endedHow(trial *ledger.Trial) string {
	switch trial.Cause {
	case ledger.BySettings:
		return "failed because of its settings"
	case ledger.ByChance:
		return "failed by chance"
	}
	return string(trial.Status)
}

// DoubtCorrection returns the doubts about the values that a correction puts in place.
func DoubtCorrection(snap *ledger.Snapshot, trial *ledger.Trial, c Correction) []Doubt {
	readings := map[string]ledger.Reading{}
	for name, after := range c.Metrics {
		if after != nil {
			readings[name] = *after
		}
	}
	return DoubtTelling(snap, trial, ledger.Telling{Metrics: readings, Parameters: c.Parameters})
}

// Impact is what a correction, or a change of limits, bounds or settings, would change. Pairs are
// before and after.
type Impact struct {
	Version        int64                      `json:"-"`                 // of the study that would change
	Trial          *ledger.Trial              `json:"trial,omitempty"`   // the corrected trial, as it would be
	Changes        []design.Change            `json:"changes,omitempty"` // of the definition
	After          design.Definition          `json:"-"`                 // the study's afterwards
	Trials         [2]Standing                `json:"trials"`
	Turned         []TurnedTrial              `json:"turned"`                      // those whose feasibility would change
	ByFormula      []TurnedTrial              `json:"turned_by_formula,omitempty"` // those whose settings would change sides by new formulas; trials keep their values
	Multipliers    map[string][2]float64      `json:"multipliers"`
	Violation      map[string][2]ViolationOut `json:"violation"`
	Recommendation [2]*Recommendation         `json:"recommendation"`
	DecisionsAfter int                        `json:"decisions_after"` // of what is corrected or taken back: decisions that had seen the old value
	Undone         *Undone                    `json:"undone,omitempty"`
	NextBefore     *design.Settings           `json:"next_before"` // what the next ask would suggest; nil if the study is over
	NextAfter      *design.Settings           `json:"next_after"`
	Withheld       string                     `json:"withheld,omitempty"` // why the model cannot be computed
}

// Undone says what taking back makes of the trials that the request was about, by their numbers.
type Undone struct {
	Back   []int `json:"back"`    // they are as they were before it
	NotRun []int `json:"not_run"` // they began with it, or failed by it, and count as not run
	Ended  []int `json:"ended"`   // it said that they were not run, which only a result of them takes back
	Since  []int `json:"since"`   // they have later events, and what those said stays
}

// Standing counts trials within every limit, beyond one, and unknown.
type Standing struct {
	Within  int `json:"within"`
	Broken  int `json:"broken"`
	Unknown int `json:"unknown"` // not every limit's metric was read
}

// TurnedTrial is a trial whose feasibility changes; null where not every limit's metric was read.
type TurnedTrial struct {
	Number int   `json:"number"`
	Before *bool `json:"before"`
	After  *bool `json:"after"`
}

// PreviewCorrection returns what Correct would change, stores nothing and raises no doubts.
func (s *Service) PreviewCorrection(ctx context.Context, cmd Command, id string, c Correction) (Impact, error) {
	_, after, impact, err := s.preview(ctx, cmd, id, func(now *ledger.Snapshot) (ruling, error) {
		ruled, err := correctionRule(cmd, c)(now)
		if _, odd := errors.AsType[*Doubtful](err); odd { // doubts that arose only since others changed the study
			err = nil
		}
		return ruled, err
	})
	if err != nil {
		return Impact{}, err
	}
	impact.Trial, impact.DecisionsAfter = after.Trial(c.Number), after.DecisionsFrom(after.Revisions[len(after.Revisions)-1])
	return impact, nil
}

// PreviewReconfiguration returns what a change of the definition would change, and stores nothing.
func (s *Service) PreviewReconfiguration(ctx context.Context, id string, change design.Reconfiguration) (Impact, error) {
	before, after, impact, err := s.preview(ctx, Command{}, id, func(now *ledger.Snapshot) (ruling, error) { return ruleReconfigure(now, change) })
	if err != nil {
		return Impact{}, err
	}
	impact.ByFormula = turnedByFormula(before, after)
	impact.Changes, err = design.Differences(before.Definition, after.Definition)
	return impact, err
}

func (s *Service) preview(ctx context.Context, cmd Command, id string, rule func(now *ledger.Snapshot) (ruling, error)) (before, after *ledger.Snapshot, impact Impact, err error) {
	if before, err = s.latest(ctx, id); err != nil {
		return nil, nil, Impact{}, err
	}
	ruled, err := rule(before)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	appended, err := s.append(cmd, id, before, ruled)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	after = appended.After
	was, next, why, err := s.outlook(ctx, before)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	would, nextThen, whyThen, err := s.outlook(ctx, after)
	if err != nil {
		return nil, nil, Impact{}, err
	}
	impact = Impact{
		Version: before.Version, After: after.Definition, Trials: [2]Standing{standingOf(before), standingOf(after)}, Turned: turnedTrials(before, after),
		Multipliers: inBoth(was.Multipliers, would.Multipliers), Violation: inBoth(was.Violation, would.Violation),
		Recommendation: [2]*Recommendation{was.Recommendation, would.Recommendation}, NextBefore: next, NextAfter: nextThen, Withheld: cmp.Or(whyThen, why),
	}
	return before, after, impact, nil
}

// inBoth pairs the values of names that are in both maps: one that is missing does not count as 0.
func inBoth[T any](before, after map[string]T) map[string][2]T {
	both := map[string][2]T{}
	for name, was := range before {
		if would, there := after[name]; there {
			both[name] = [2]T{was, would}
		}
	}
	return both
}

// outlook returns the readout and the next suggestion, or why the model cannot be computed.
func (s *Models) outlook(ctx context.Context, snap *ledger.Snapshot) (readout Readout, next *design.Settings, why string, err error) {
	if readout, err = s.StateOf(ctx, snap); err == nil {
		next, err = s.nextChoice(ctx, snap)
	}
	if errors.Is(err, ErrConflict) {
		return readout, nil, err.Error(), nil
	}
	return readout, next, "", err
}

func standingOf(snap *ledger.Snapshot) Standing {
	within, known := snap.Feasibility()
	return Standing{Within: within, Broken: known - within, Unknown: len(snap.Trials) - known}
}

func turnedTrials(before, after *ledger.Snapshot) []TurnedTrial {
	return turned(before, after, func(snap *ledger.Snapshot, number int) *bool { return snap.Trial(number).Feasible })
}

// turnedByFormula returns the trials whose settings keep limits by their former formulas and not by
// those of after, or the other way round. What a new formula depends on may not have been brought
// with a trial.
func turnedByFormula(before, after *ledger.Snapshot) []TurnedTrial {
	another := lists.Where(len(after.Definition.Constraints), func(j int) bool {
		return before.Definition.Constraints[j].Expression != after.Definition.Constraints[j].Expression
	})
	if len(another) == 0 {
		return nil
	}
	return turned(before, after, func(snap *ledger.Snapshot, number int) *bool {
		holds := true
		for _, c := range lists.At(snap.Definition.Constraints, another) {
			lacks := func(name string) bool { _, there := snap.Trial(number).Context[name]; return !there }
			if snap == after && slices.ContainsFunc(c.Context, lacks) {
				return nil
			}
			holds = holds && c.Holds(snap.KnownValues(number)[c.Name])
		}
		return &holds
	})
}

func turned(before, after *ledger.Snapshot, keeps func(snap *ledger.Snapshot, number int) *bool) []TurnedTrial {
	list := []TurnedTrial{}
	for n := 1; n <= len(before.Trials); n++ {
		was, would := keeps(before, n), keeps(after, n)
		if (was == nil) != (would == nil) || was != nil && *was != *would {
			list = append(list, TurnedTrial{n, was, would})
		}
	}
	return list
}

// nextChoice returns what the next ask would suggest, after the fit that is due; nil if no point
// may be chosen, if the study is over, or if the choice needs a context that only the ask brings.
func (s *Models) nextChoice(ctx context.Context, snap *ledger.Snapshot) (*design.Settings, error) {
	known, faults := snap.Compiled().Known(design.Brought{})
	if snap.State.Over() || len(faults) > 0 {
		return nil, nil
	}
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	d, err := compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (optimizer.Decision, error) { return state.Suggest(ctx, known) })
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		return nil, nil
	}
	if err != nil {
		return nil, computeError(ctx, err)
	}
	return new(snap.Compiled().Settings(d.Place)), nil
}
