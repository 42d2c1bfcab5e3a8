package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"headroom/internal/optimizer"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/supervisor"
)

// Ask lets the algorithm choose trials and returns their numbers.
func (s *Service) Ask(ctx context.Context, cmd Command, id string, ask Ask) (*ledger.Snapshot, []int, error) {
	if !ask.CouldFit() { // before the study is locked, see change
		snap, err := s.recent(ctx, id)
		if err == nil {
			_, err = s.ruleAsk(ctx, cmd, snap, ask)
		}
		return nil, nil, err
	}
	mine := &waitingAsk{ctx, cmd, ask, make(chan answer, 1)}
	s.asks.Join(id, mine, func(all []*waitingAsk) []*waitingAsk { return s.answerAll(id, all) })
	select {
	case got := <-mine.came:
		return got.after, got.numbers, got.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// AddTrial begins a trial that a person chose and returns its number, as Ask does.
func (s *Service) AddTrial(ctx context.Context, cmd Command, id string, own OwnTrial) (*ledger.Snapshot, []int, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if !knowsNames(base, own.Metrics, own.Parameters) || !own.CouldFit() { // before the study is locked, see change
		_, err := s.ruleOwn(ctx, cmd, base, own)
		return nil, nil, err
	}
	return s.choose(ctx, cmd, id, func(ctx context.Context, snap *ledger.Snapshot) (ruling, error) {
		ruled, err := s.ruleOwn(ctx, cmd, snap, own)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtOwn(ruled.foreseen(snap), own, ruled.decision()) })
	})
}

func (s *Models) ruleOwn(ctx context.Context, cmd Command, snap *ledger.Snapshot, own OwnTrial) (ruling, error) {
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	settings, place, faults := own.Place(snap.Compiled(), "parameters")
	known, wrong := snap.Compiled().Known(own.Brought)
	faults = append(append(faults, wrong...), checkNote(own.Note)...)
	wrong, refused := eachMetric(own.Metrics, func(name string, reading ledger.Reading) (design.Faults, error) {
		return checkMetric(snap, &ledger.Trial{Number: len(snap.Trials) + 1}, name, reading, false)
	})
	if err := append(faults, wrong...).Err(); err != nil {
		return ruling{}, err
	}
	if refused != nil {
		return ruling{}, refused
	}
	own.Parameters = settings
	ruled, err := s.rulePersonal(ctx, cmd, snap, own, place, known, 0)
	if err == nil && len(own.Metrics) > 0 {
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: ledger.ToldData{Number: ruled.numbers[0], Telling: ledger.Telling{Metrics: own.Metrics}}})
	}
	return ruled, err
}

// Forecast returns the decision that would be recorded if a person's own choice were begun now,
// which has the predictions for it, and the study that it refers to. Nothing is stored. The study
// is returned with an error, too, if it was found.
func (s *Service) Forecast(ctx context.Context, cmd Command, id string, own OwnTrial) (*ledger.Snapshot, *ledger.Decision, error) {
	snap, err := s.latest(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	ruled, err := s.ruleOwn(ctx, cmd, snap, own)
	if err != nil {
		return snap, nil, err
	}
	return ruled.foreseen(snap), ruled.decision(), nil
}

// Replicate begins a trial with the settings of an earlier one and returns its number, as Ask does.
func (s *Service) Replicate(ctx context.Context, cmd Command, id string, number int) (*ledger.Snapshot, []int, error) {
	return s.choose(ctx, cmd, id, func(ctx context.Context, snap *ledger.Snapshot) (ruling, error) {
		return s.ruleReplicate(ctx, cmd, snap, number)
	})
}

// ruleReplicate also takes over the values for known constraints that came with the earlier trial.
func (s *Models) ruleReplicate(ctx context.Context, cmd Command, snap *ledger.Snapshot, number int) (ruling, error) {
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	trial, err := TrialOf(snap, number)
	if err != nil {
		return ruling{}, err
	}
	place, known, err := placeAgain(snap, trial)
	if err != nil {
		return ruling{}, err
	}
	return s.rulePersonal(ctx, cmd, snap, OwnTrial{Parameters: trial.Parameters, Brought: trial.Brought()}, place, known, number)
}

// placeAgain places the settings that a trial was run at, with its values for known constraints,
// for a repetition.
func placeAgain(snap *ledger.Snapshot, trial *ledger.Trial) (optimizer.Place, optimizer.Known, error) {
	_, place, faults := snap.PlaceAgain(trial.Number, trial.Parameters, "parameters")
	if trial.Candidate != nil { // others may have the same settings
		place = snap.Place(trial.Number)
	}
	known, wrong := snap.Compiled().Known(trial.Brought())
	if faults = append(faults, wrong...); len(faults) > 0 {
		return place, known, conflict("Trial %d cannot be repeated as it was: %s.", trial.Number, cmp.Or(brought(faults[0].Field), "it")+" "+faults[0].Message)
	}
	return place, known, nil
}

// WhyNotAgain returns the reason why a trial cannot be repeated as it was run, "" if it can.
func WhyNotAgain(snap *ledger.Snapshot, trial *ledger.Trial) string {
	if _, _, err := placeAgain(snap, trial); err != nil {
		return err.Error()
	}
	return ""
}

// DoubtOwn returns the doubts about a person's own point. It compares readings with the predictions
// of forecast, the decision that would be recorded, which may be nil.
func DoubtOwn(snap *ledger.Snapshot, own OwnTrial, forecast *ledger.Decision) []Doubt {
	doubts := Asked(snap.DoubtReadings(0, own.Metrics, func(metric string) *ledger.Expected { return snap.PredictedBy(forecast, metric) }))
	kept, _, _ := own.Place(snap.Compiled(), "parameters")
	doubts = append(doubts, doubtSteps(snap.Definition, own.Parameters, kept)...)
	if number := lastTrialAt(snap, kept); number > 0 {
		doubts = append(doubts, Doubt{"parameters", settingsText(snap.Definition, kept), doubtReplicateText(number)})
	}
	return doubts
}

// doubtSteps returns a doubt for each setting that its parameter's step rounds to another value.
func doubtSteps(d design.Definition, typed, kept design.Settings) (doubts []Doubt) {
	for _, p := range d.Parameters {
		if p.Step != nil && typed[p.Name] != kept[p.Name] {
			doubts = append(doubts, Doubt{"parameters." + p.Name, exactText(typed[p.Name].Number), betweenSteps(p, typed[p.Name], kept[p.Name])})
		}
	}
	return doubts
}

// MovedByStep says which value would be tried instead of one that lies between two steps of its
// parameter, "" if the value itself.
func MovedByStep(c *design.Compiled, p design.Parameter, typed design.Value) string {
	if kept := c.OnStep(p.Name, typed); kept != typed {
		return betweenSteps(p, typed, kept)
	}
	return ""
}

func betweenSteps(p design.Parameter, typed, kept design.Value) string {
	say := func(v design.Value) string { return design.WithUnit(design.WriteSetting(p, v), p.Unit, " ") }
	return fmt.Sprintf("%s %s? Its steps are %s apart: %s would be tried.", design.OpeningName(p.Name), say(typed), say(design.NumberValue(*p.Step)), say(kept))
}

// lastTrialAt returns the number of the last trial run at exactly these settings, 0 if there is
// none.
func lastTrialAt(snap *ledger.Snapshot, settings design.Settings) int {
	for i := len(snap.Trials) - 1; i >= 0; i-- {
		if maps.Equal(snap.Trials[i].Parameters, settings) {
			return i + 1
		}
	}
	return 0
}

// Asks of one study that wait at the same time are answered together. The study is read once, after
// all of them came, and the decisions are made from that version one after another, as for one ask
// for as many trials; what they share is computed once. Each ask is written as soon as it is
// decided, with its own author, idempotency key and answer. If one is refused, the others are not.

type waitingAsk struct {
	ctx  context.Context // the caller's
	cmd  Command
	ask  Ask
	came chan answer // of capacity one
}

type answer struct {
	after   *ledger.Snapshot
	numbers []int
	err     error
}

func (a *waitingAsk) answer(after *ledger.Snapshot, numbers []int, err error) {
	select {
	case a.came <- answer{after, numbers, err}:
	default: // it has its answer
	}
}

// answersLimit limits the time for answering all who wait together. Each caller also has its own
// limit.
const answersLimit = 10 * time.Minute

// answerAll answers the waiting asks in a background job and returns those left for the next turn.
func (s *Service) answerAll(id string, all []*waitingAsk) (left []*waitingAsk) {
	var refused error
	answer := func(ctx context.Context) error {
		left, refused = s.answerEach(scheduler.With(ctx, scheduler.Choosing), id, all)
		if errors.Is(refused, supervisor.ErrPanicked) {
			return refused
		}
		return nil
	}
	err := s.Derived.Jobs.Do(context.Background(), "asks", id, answersLimit, answer)
	if errors.Is(err, supervisor.ErrStopping) { // then answer within the caller's request, which the server waits for
		err = supervisor.Recovered(all[0].ctx, answer)
	}
	for _, a := range all[:len(all)-len(left)] {
		a.answer(nil, nil, cmp.Or(err, refused))
	}
	return left
}

// turnTime is for how long the choosing lock is kept for further asks after the first, which
// computes what the others share, has its answer. Then other servers and people with trials of
// their own get their turn.
const turnTime = 2 * time.Second

// answerEach answers one ask after another for as long as turnTime, and returns those left for the
// next turn. Its error is the reason why the remaining asks got no answer.
func (s *Service) answerEach(ctx context.Context, id string, all []*waitingAsk) (left []*waitingAsk, err error) {
	err = s.store.Choosing(ctx, id, func(ctx context.Context) error {
		snap, err := s.latest(ctx, id)
		if err != nil {
			return err
		}
		from, err := s.answerOne(ctx, all[0], chooser{models: s.Models, snap: snap})
		until := s.now().Add(turnTime)
		for left = all[1:]; err == nil && len(left) > 0 && !s.now().After(until); left = left[1:] {
			from, err = s.answerOne(ctx, left[0], from)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return left, nil
}

// answerOne decides for one ask within its caller's time limit, writes the decisions and sends the
// answer. It returns the chooser to continue from. An error ends the turn for all.
func (s *Service) answerOne(ctx context.Context, a *waitingAsk, before chooser) (after chooser, err error) {
	own, end := context.WithCancel(scheduler.With(a.ctx, scheduler.Choosing))
	defer end()
	defer context.AfterFunc(ctx, end)()
	after = before
	ruled, refused := after.rule(own, a.cmd, a.ask)
	snap, numbers, err := s.writeChoice(own, a.cmd, before.snap, before.count, ruled, refused)
	if err != nil && ctx.Err() != nil {
		return before, ctx.Err()
	}
	a.answer(snap, numbers, err)
	if refused != nil || err != nil { // a refused request may still have got its earlier answer, under its key
		return before, nil
	}
	return after, nil
}

// chooser makes decisions one after another on a history that grows in memory: each decision sees
// the earlier ones as pending. To undo a decision that was not written, keep a copy of the chooser.
type chooser struct {
	models *Models
	snap   *ledger.Snapshot
	count  int                // trials chosen so far
	state  *optimizer.State   // nil before it has begun
	fitted bool               // a fit was made, of which there is one at most
	fit    *ledger.FittedData // not yet written; precedes the decisions that use it
	last   *ledger.ChosenData // the algorithm's last decision, not yet in the history
}

func (c *chooser) begin(ctx context.Context) error {
	made, err := c.models.replay(ctx, c.snap)
	if err == nil {
		c.state, c.fit, c.fitted = made.next, made.fit, made.state.FitDue()
	}
	return err
}

// extend replaces the history by a longer one. That can make a fit due when the first design ends;
// at most one fit is made, since the readings of a snapshot stay the same.
func (c *chooser) extend(ctx context.Context, by *optimizer.History) error {
	state, err := compute(ctx, c.models.Derived, c.snap.ID, func(ctx context.Context) (*optimizer.State, error) { return c.state.Extend(ctx, by) })
	if err == nil && !c.fitted {
		c.fitted = state.FitDue()
		state, c.fit, err = c.models.refit(ctx, c.snap, state)
	}
	if err == nil {
		c.state = state
	}
	return computeError(ctx, err)
}

func (c *chooser) suggest(ctx context.Context, want requirements) (*ledger.ChosenData, error) {
	if c.last != nil {
		if err := c.addPending(ctx, c.last); err != nil {
			return nil, err
		}
	}
	d, err := compute(ctx, c.models.Derived, c.snap.ID, func(ctx context.Context) (optimizer.Decision, error) {
		state, err := want.apply(ctx, c.state)
		if err != nil {
			return optimizer.Decision{}, err
		}
		return state.Suggest(ctx, want.known)
	})
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		of := "the settings. Loosen"
		if len(want.held) > 0 {
			of = "the settings that have the values held and keep every bound and rule. Hold other values or fewer, loosen"
		}
		return nil, conflict("No setting may be chosen now: %s allows none of %s a limit, make settings available again, or change the algorithm.", c.snap.Compiled().Def.Algorithm.Name, of)
	}
	if err != nil {
		return nil, computeError(ctx, err)
	}
	c.last, err = c.chosenData(ledger.Suggested, c.snap.Compiled().Settings(d.Place), d, want.brought)
	if err == nil {
		c.last.Held = want.held
	}
	return c.last, err
}

func (want requirements) apply(ctx context.Context, state *optimizer.State) (*optimizer.State, error) {
	if len(want.held) == 0 {
		return state, nil
	}
	return state.Holding(ctx, want.config)
}

func (c *chooser) chosenData(origin ledger.Origin, settings design.Settings, d optimizer.Decision, brought design.Brought) (*ledger.ChosenData, error) {
	known, faults := c.snap.Compiled().KnownAt(settings, d.Place, brought)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	kept := decisionRecord(c.snap.Compiled(), c.state, d)
	kept.Seen = c.snap.Version
	return &ledger.ChosenData{Origin: origin, Parameters: settings, Candidate: candidateOf(d.Place), Decision: &kept,
		Seen: kept.Seen, Engine: kept.Engine, Brought: brought, KnownValues: known}, nil
}

// addPending adds the algorithm's choice to the history, so that the next decision sees it as
// pending.
func (c *chooser) addPending(ctx context.Context, chosen *ledger.ChosenData) error {
	c.last = nil
	h := *c.state.History()
	h.Rounds = append(slices.Clip(h.Rounds), pendingRound(c.snap.Compiled(), *chosen))
	return c.extend(ctx, &h)
}

// pendingRound returns the round of a choice without results. Its place is computed from the
// rounded decimals in the ledger, so that later decisions see the same point to the last bit.
func pendingRound(c *design.Compiled, chosen ledger.ChosenData) optimizer.Round {
	place := c.Locate(chosen.Parameters, chosen.Candidate)
	return optimizer.Round{Point: place.U, Arm: place.Arm, Suggested: chosen.Freely(),
		Readings: make([]optimizer.Reading, len(c.MetricNames)), Costs: c.Def.KnownInOrder(chosen.KnownValues), Draw: chosen.Decision.Draw(c.Def.Algorithm.Name)}
}

// decisionRecord returns a decision as the ledger records it, its numbers keyed by metric and
// constraint.
func decisionRecord(c *design.Compiled, state *optimizer.State, d optimizer.Decision) ledger.Decision {
	kept := ledger.Decision{
		Engine: optimizer.Engine, Algorithm: c.Def.Algorithm.Name,
		Beta: keyed(c.MetricNames, d.Beta), Multipliers: keyed(c.ConstraintNames, d.Multipliers), Horizon: d.Horizon,
		Mean: keyed(c.MetricNames, d.Mean), SD: keyed(c.MetricNames, d.SD), Estimates: ledger.Estimates(c.Def, d.Estimates),
		RandomSeed: d.Draw.Seed, Draws: d.Draw.Z, Model: map[string]ledger.MetricModel{},
		Reason: d.Reason,
	}
	if limitsLearned(c, state) {
		kept.FeasibilityProbability = &d.FeasibilityProbability
	}
	for k, name := range c.MetricNames {
		if !state.Foresees(k) {
			delete(kept.Mean, name)
			delete(kept.SD, name)
		}
	}
	if d.HasScore && design.Finite(d.Acquisition) {
		kept.Acquisition = &d.Acquisition
	}
	if d.Incumbent > 0 && design.Finite(d.ExpectedImprovement) && state.Foresees(c.Config.Objective.Metric) {
		kept.ExpectedImprovement, kept.Incumbent = &d.ExpectedImprovement, d.Incumbent
	}
	if d.Works > 0 {
		works := state.Works()
		kept.Works = &ledger.Works{Chance: d.Works, Failed: works.Failed, Of: works.Of}
	}
	if r := d.RunnerUp; r != nil && design.Finite(r.Acquisition) {
		kept.RunnerUp = &ledger.RunnerUp{Parameters: c.Settings(r.Place), Acquisition: r.Acquisition}
	}
	for k, m := range state.Models() {
		if m.Inflation == 1 {
			m.Inflation = 0 // to be omitted
		}
		kept.Model[c.MetricNames[k]] = ledger.MetricModel{
			Kernel: m.Kernel.Name, Lengthscales: m.Kernel.Lengthscales, Variance: m.Kernel.Variance,
			Interaction: m.Kernel.Interaction, Lambda: m.Lambda, Centre: m.Centre, Scale: m.Scale,
			Warp: m.Warp, Inflation: m.Inflation, Freedom: m.Freedom,
		}
	}
	return kept
}

// rule makes the decisions for an ask. Earlier decisions of the chooser may have been for other
// asks.
func (c *chooser) rule(ctx context.Context, cmd Command, ask Ask) (ruling, error) {
	snap := c.snap
	count := 1
	if ask.Count != nil {
		count = *ask.Count
	}
	if count < 1 || count > MostAsked {
		return ruling{}, design.NewInvalid("count", fmt.Sprintf("between 1 and %d trials can be asked for at once", MostAsked), count)
	}
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	want, faults := ask.requirements(snap.Compiled())
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	if c.state == nil {
		if err := c.begin(ctx); err != nil {
			return ruling{}, err
		}
	}
	var ruled ruling
	for range count {
		chosen, err := c.suggest(ctx, want)
		if err != nil {
			return ruling{}, err
		}
		c.draft(&ruled, cmd.By, chosen)
	}
	return ruled, nil
}

func (s *Models) ruleAsk(ctx context.Context, cmd Command, snap *ledger.Snapshot, ask Ask) (ruling, error) {
	return (&chooser{models: s, snap: snap}).rule(ctx, cmd, ask)
}

// draft numbers, explains and adds a choice to the ruling, preceded by the fit that was made for
// it, if any.
func (c *chooser) draft(ruled *ruling, by string, chosen *ledger.ChosenData) {
	c.count++
	chosen.Number = len(c.snap.Trials) + c.count
	chosen.Decision.Because = explain(c.snap.Compiled().Def, *chosen, backgroundOf(by, c.snap, c.snap.Compiled(), c.state))
	if c.fit != nil {
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Fitted, Data: *c.fit})
		c.fit = nil
	}
	ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Chosen, Data: *chosen})
	ruled.numbers = append(ruled.numbers, chosen.Number)
}

// decision returns the decision of the first trial that the ruling begins, nil if there is none.
func (r ruling) decision() *ledger.Decision {
	for _, draft := range r.drafts {
		if chosen, is := draft.Data.(ledger.ChosenData); is {
			return chosen.Decision
		}
	}
	return nil
}

// foreseen returns the study with the fit that the ruling begins with, since the predictions of the
// decision rest on it.
func (r ruling) foreseen(snap *ledger.Snapshot) *ledger.Snapshot {
	if fit, is := r.drafts[0].Data.(ledger.FittedData); is {
		return snap.WithFit(fit)
	}
	return snap
}

// rulePersonal begins a trial that a person chose at a place; replicateOf is the number of the
// trial that it repeats, 0 for none.
func (s *Models) rulePersonal(ctx context.Context, cmd Command, snap *ledger.Snapshot, own OwnTrial, place optimizer.Place, known optimizer.Known, replicateOf int) (ruling, error) {
	c := chooser{models: s, snap: snap}
	if err := c.begin(ctx); err != nil {
		return ruling{}, err
	}
	d, err := compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (optimizer.Decision, error) { return c.state.Own(ctx, place, known) })
	if err != nil {
		return ruling{}, computeError(ctx, err)
	}
	chosen, err := c.chosenData(ledger.Manual, own.Parameters, d, own.Brought)
	if err != nil {
		return ruling{}, err
	}
	chosen.Note, chosen.ReplicateOf = own.Note, replicateOf
	var ruled ruling
	c.draft(&ruled, cmd.By, chosen)
	return ruled, nil
}

// Ask asks for Count suggestions, each of which is a round of its own.
type Ask struct {
	Count *int `json:"count,omitempty"` // 1 to 50; nil means 1
	// Held are settings that are fixed beforehand, such as the temperature of an oven that is warm
	// already; the algorithm chooses the others.
	Held design.Settings `json:"held,omitempty"`
	design.Brought
}

// requirements is what a decision has to comply with.
type requirements struct {
	known   optimizer.Known
	brought design.Brought
	held    []string          // parameters, in the order of the study
	config  *optimizer.Config // with those held
}

func (ask Ask) requirements(c *design.Compiled) (requirements, design.Faults) {
	known, faults := c.Known(ask.Brought)
	config, held, wrong := c.Holding(ask.Held, "held")
	return requirements{known, ask.Brought, held, config}, append(faults, wrong...)
}

// OwnTrial is a trial that a person chose, with its results if there are any yet.
type OwnTrial struct {
	Parameters design.Settings           `json:"parameters"`
	Metrics    map[string]ledger.Reading `json:"metrics,omitempty"`
	Note       string                    `json:"note,omitempty"`
	design.Brought
}

// Place returns the settings as they are kept, and their place. A parameter's step rounds settings
// that are still to be run; with readings the trial was run already, and they stay exact.
func (own OwnTrial) Place(c *design.Compiled, at string) (design.Settings, optimizer.Place, design.Faults) {
	place := c.Place
	if len(own.Metrics) > 0 {
		place = c.PlaceExactly
	}
	settings, there, faults := place(own.Parameters, at)
	return settings, there, append(faults, c.CheckRules(settings, there, at)...)
}

// MostAsked is how many trials one request can ask for.
const MostAsked = 50
