package study

import (
	"context"
	"fmt"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// maximalCount is the number of suggestions in one request.
const maximalCount = 50

// Ask asks for Count suggestions, each a round of its own.
type Ask struct {
	Count *int `json:"count,omitempty"` // 1 to 50; nil means 1
	design.Brought
}

// OwnTrial is a person's own choice, with results if they are there already.
type OwnTrial struct {
	Parameters design.Settings           `json:"parameters"`
	Metrics    map[string]ledger.Reading `json:"metrics,omitempty"`
	Note       string                    `json:"note,omitempty"`
	design.Brought
}

// Ask lets the algorithm choose. It returns the numbers of the new trials.
func (s *Service) Ask(ctx context.Context, cmd Command, id string, ask Ask) (*ledger.Snapshot, []int, error) {
	if !ask.Little() { // see sensible
		snap, err := s.recent(ctx, id)
		if err == nil {
			_, err = s.ruleAsk(ctx, cmd, snap, ask)
		}
		return nil, nil, err
	}
	return s.askTogether(ctx, cmd, id, ask)
}

func (s *Models) ruleAsk(ctx context.Context, cmd Command, snap *ledger.Snapshot, ask Ask) (ruling, error) {
	return s.ruleNext(ctx, cmd, &succession{snap: snap}, ask)
}

// ruleNext goes on with decisions made from one snapshot, of which those before may have been for
// others.
func (s *Models) ruleNext(ctx context.Context, cmd Command, made *succession, ask Ask) (ruling, error) {
	snap := made.snap
	count := 1
	if ask.Count != nil {
		count = *ask.Count
	}
	if count < 1 || count > maximalCount {
		return ruling{}, design.NewInvalid("count", fmt.Sprintf("between 1 and %d trials can be asked for at once", maximalCount), count)
	}
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	known, faults := snap.Compiled().Known(ask.Brought)
	err := faults.Err()
	if err != nil {
		return ruling{}, err
	}
	if made.chooser == nil {
		if made.chooser, err = s.chooser(ctx, snap); err != nil {
			return ruling{}, err
		}
	}
	c := made.chooser
	ruled := c.begin()
	for range count {
		point, err := c.suggest(ctx, known, ask.Brought)
		if err != nil {
			return ruling{}, err
		}
		made.count++
		number := len(snap.Trials) + made.count
		point.decision.Because = explain(c.compiled.Def, number, point, chosenBy{by: cmd.By, withinLimits: c.told, unread: unread(snap)})
		ruled.add(number, point.event(number, ledger.Suggested, ask.Brought))
	}
	return ruled, nil
}

// begin puts the fit, if one was made, before the decisions that use it.
func (c *chooser) begin() ruling {
	var ruled ruling
	if c.fit != nil {
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Fitted, Data: *c.fit})
		c.fit = nil
	}
	return ruled
}

func (r *ruling) add(number int, data ledger.ChosenData) {
	r.drafts = append(r.drafts, ledger.Draft{Kind: ledger.Chosen, Data: data})
	r.numbers = append(r.numbers, number)
}

// mayChoose refuses new trials unless the study is open.
func mayChoose(snap *ledger.Snapshot) error {
	if snap.State == ledger.Open {
		return nil
	}
	return conflict("The study is %s; new trials are possible only while it is open. Set its state to open first.", snap.State)
}

// AddTrial adds a person's own choice. It returns the number of the new trial.
func (s *Service) AddTrial(ctx context.Context, cmd Command, id string, own OwnTrial) (*ledger.Snapshot, int, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if !sensibleMetrics(base, own.Metrics) || !base.Compiled().Names(own.Parameters) || !own.Little() { // see sensible
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
		if refused == nil {
			refused = err
		}
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

// decision is what the first trial that was ruled to begin would record.
func (r ruling) decision() *ledger.Decision {
	for _, draft := range r.drafts {
		if chosen, is := draft.Data.(ledger.ChosenData); is {
			return chosen.Decision
		}
	}
	return nil
}

// personal is a trial that a person begins, placed in the space.
type personal struct {
	OwnTrial
	place       optimizer.Place
	known       optimizer.Known
	replicateOf int
}

func (s *Models) rulePersonal(ctx context.Context, cmd Command, snap *ledger.Snapshot, p personal) (ruling, error) {
	c, err := s.chooser(ctx, snap)
	if err != nil {
		return ruling{}, err
	}
	point, err := c.own(ctx, p)
	if err != nil {
		return ruling{}, err
	}
	number := len(snap.Trials) + 1
	point.decision.Because = explain(c.compiled.Def, number, point, chosenBy{by: cmd.By, replicateOf: p.replicateOf, withinLimits: c.told, unread: unread(snap)})
	data := point.event(number, ledger.Manual, p.Brought)
	data.Note, data.ReplicateOf = p.Note, p.replicateOf
	ruled := c.begin()
	ruled.add(number, data)
	return ruled, nil
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
	trial := snap.Trial(number)
	if trial == nil {
		return ruling{}, notFound("%s", noSuchTrial(snap, number))
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
