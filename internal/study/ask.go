package study

import (
	"cmp"
	"context"
	"maps"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Ask lets the algorithm choose. It returns the numbers of the new trials.
func (s *Service) Ask(ctx context.Context, cmd Command, id string, ask Ask) (*ledger.Snapshot, []int, error) {
	if !ask.Little() { // see change
		snap, err := s.recent(ctx, id)
		if err == nil {
			_, err = s.ruleAsk(ctx, cmd, snap, ask)
		}
		return nil, nil, err
	}
	return s.askTogether(ctx, cmd, id, ask)
}

// AddTrial adds a person's own choice. It returns the number of the new trial.
func (s *Service) AddTrial(ctx context.Context, cmd Command, id string, own OwnTrial) (*ledger.Snapshot, int, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if !hasAll(base, own.Metrics, own.Parameters) || !own.Little() { // see change
		_, err := s.ruleOwn(ctx, cmd, base, own)
		return nil, 0, err
	}
	return first(s.choose(ctx, cmd, id, func(ctx context.Context, snap *ledger.Snapshot) (ruling, error) {
		ruled, err := s.ruleOwn(ctx, cmd, snap, own)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtOwn(snap, own, ruled.decision()) })
	}))
}

// first is the answer to a command that begins one trial.
func first(snap *ledger.Snapshot, numbers []int, err error) (*ledger.Snapshot, int, error) {
	if err != nil {
		return nil, 0, err
	}
	return snap, numbers[0], nil
}

func (s *Models) ruleOwn(ctx context.Context, cmd Command, snap *ledger.Snapshot, own OwnTrial) (ruling, error) {
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	settings, place, faults := snap.Compiled().Place(own.Parameters, "parameters")
	known, wrong := snap.Compiled().Known(own.Brought)
	faults = append(append(faults, wrong...), checkNote(own.Note)...)
	var refused error
	for _, name := range sortedKeys(own.Metrics) {
		if faults.Full() {
			break
		}
		wrong, err := checkMetric(snap, &ledger.Trial{Number: len(snap.Trials) + 1}, name, own.Metrics[name], false)
		faults = append(faults, wrong...)
		refused = cmp.Or(refused, err)
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	if refused != nil {
		return ruling{}, refused
	}
	own.Parameters = settings
	ruled, err := s.rulePersonal(ctx, cmd, snap, personal{OwnTrial: own, place: place, known: known})
	if err == nil && len(own.Metrics) > 0 {
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: ledger.ToldData{Number: ruled.numbers[0], Telling: ledger.Telling{Metrics: own.Metrics}}})
	}
	return ruled, err
}

// Forecast is the decision that would be recorded with a person's own choice were it begun now:
// what is expected of it, without anything being stored. The study is given as well, which it was
// made from.
func (s *Service) Forecast(ctx context.Context, cmd Command, id string, own OwnTrial) (*ledger.Snapshot, *ledger.Decision, error) {
	snap, err := s.latest(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	ruled, err := s.ruleOwn(ctx, cmd, snap, own)
	if err != nil {
		return snap, nil, err
	}
	return snap, ruled.decision(), nil
}

// Replicate begins a trial with the settings of an earlier one. It returns the number of the new
// trial.
func (s *Service) Replicate(ctx context.Context, cmd Command, id string, number int) (*ledger.Snapshot, int, error) {
	return first(s.choose(ctx, cmd, id, func(ctx context.Context, snap *ledger.Snapshot) (ruling, error) {
		return s.ruleReplicate(ctx, cmd, snap, number)
	}))
}

// ruleReplicate takes over what the caller brought for known constraints with the earlier trial.
func (s *Models) ruleReplicate(ctx context.Context, cmd Command, snap *ledger.Snapshot, number int) (ruling, error) {
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	trial, err := trialOf(snap, number)
	if err != nil {
		return ruling{}, err
	}
	settings, place, faults := snap.Compiled().Place(trial.Parameters, "parameters")
	if len(faults) > 0 {
		return ruling{}, conflict("The settings of trial %d are no longer possible: %s.", number, faults[0].Message)
	}
	known, faults := snap.Compiled().Known(trial.Brought())
	if len(faults) > 0 {
		return ruling{}, conflict("Trial %d cannot be repeated as it was: %s.", number, faults[0].Message)
	}
	return s.rulePersonal(ctx, cmd, snap, personal{OwnTrial: OwnTrial{Parameters: settings, Brought: trial.Brought()}, place: place, known: known, replicateOf: number})
}

// DoubtOwn judges a person's own point by the decision that would be recorded with it, nil if none
// is known.
func DoubtOwn(snap *ledger.Snapshot, own OwnTrial, forecast *ledger.Decision) []Doubt {
	doubts := asked(snap.DoubtReadings(0, own.Metrics, func(metric string) *ledger.Expected { return snap.ForetoldBy(forecast, metric) }))
	if number := lastWith(snap, own.Parameters); number > 0 {
		doubts = append(doubts, Doubt{"parameters", describe(snap.Definition, own.Parameters), replicateText(number)})
	}
	return doubts
}

// lastWith is the last trial run at exactly these settings, 0 if none was.
func lastWith(snap *ledger.Snapshot, settings design.Settings) int {
	for i := len(snap.Trials) - 1; i >= 0; i-- {
		if len(settings) > 0 && maps.Equal(snap.Trials[i].Parameters, settings) {
			return i + 1
		}
	}
	return 0
}
