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

// Ask lets the algorithm choose. It returns the numbers of the new trials.
func (s *Service) Ask(ctx context.Context, cmd Command, id string, ask Ask) (*ledger.Snapshot, []int, error) {
	if !ask.Little() { // see change
		snap, err := s.recent(ctx, id)
		if err == nil {
			_, err = s.ruleAsk(ctx, cmd, snap, ask)
		}
		return nil, nil, err
	}
	mine := &asking{ctx, cmd, ask, make(chan answer, 1)}
	s.asks.Join(id, mine, func(all []*asking) []*asking { return s.answerAll(id, all) })
	select {
	case got := <-mine.came:
		return got.after, got.numbers, got.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
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
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtOwn(ruled.foreseen(snap), own, ruled.decision()) })
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
	settings, place, faults := own.Place(snap.Compiled(), "parameters")
	known, wrong := snap.Compiled().Known(own.Brought)
	faults = append(append(faults, wrong...), checkNote(own.Note)...)
	var refused error
	for _, name := range slices.Sorted(maps.Keys(own.Metrics)) {
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
	ruled, err := s.rulePersonal(ctx, cmd, snap, own, place, known, 0)
	if err == nil && len(own.Metrics) > 0 {
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: ledger.ToldData{Number: ruled.numbers[0], Telling: ledger.Telling{Metrics: own.Metrics}}})
	}
	return ruled, err
}

// Forecast is the decision that would be recorded with a person's own choice were it begun now:
// what is expected of it, without anything being stored. The study is given as well, as that knows
// it.
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
	trial, err := TrialOf(snap, number)
	if err != nil {
		return ruling{}, err
	}
	place, known, err := again(snap, trial)
	if err != nil {
		return ruling{}, err
	}
	return s.rulePersonal(ctx, cmd, snap, OwnTrial{Parameters: trial.Parameters, Brought: trial.Brought()}, place, known, number)
}

// again is where a trial lies as it was run, with what it brought, to be run once more.
func again(snap *ledger.Snapshot, trial *ledger.Trial) (optimizer.Place, optimizer.Known, error) {
	_, place, faults := snap.Compiled().PlaceAgain(snap.Chosen(trial.Number), trial.Parameters, "parameters")
	known, wrong := snap.Compiled().Known(trial.Brought())
	if faults = append(faults, wrong...); len(faults) > 0 {
		return place, known, conflict("Trial %d cannot be repeated as it was: %s.", trial.Number, cmp.Or(brought(faults[0].Field), "it")+" "+faults[0].Message)
	}
	return place, known, nil
}

// WhyNotAgain says why a trial cannot be repeated as it was, "" where it can.
func WhyNotAgain(snap *ledger.Snapshot, trial *ledger.Trial) string {
	if _, _, err := again(snap, trial); err != nil {
		return err.Error()
	}
	return ""
}

// DoubtOwn judges a person's own point by the decision that would be recorded with it, nil if none
// is known.
func DoubtOwn(snap *ledger.Snapshot, own OwnTrial, forecast *ledger.Decision) []Doubt {
	doubts := Asked(snap.DoubtReadings(0, own.Metrics, func(metric string) *ledger.Expected { return snap.ForetoldBy(forecast, metric) }))
	kept, _, _ := own.Place(snap.Compiled(), "parameters")
	doubts = append(doubts, doubtSteps(snap.Definition, own.Parameters, kept)...)
	if number := lastWith(snap, kept); number > 0 {
		doubts = append(doubts, Doubt{"parameters", describe(snap.Definition, kept), replicateText(number)})
	}
	return doubts
}

// doubtSteps asks about settings that a step moves to others, which are kept.
func doubtSteps(d design.Definition, typed, kept design.Settings) (doubts []Doubt) {
	for _, p := range d.Parameters {
		if p.Step == nil || typed[p.Name] == kept[p.Name] {
			continue
		}
		say := func(v design.Value) string { return design.WithUnit(design.WriteSetting(p, v), p.Unit, " ") }
		doubts = append(doubts, Doubt{"parameters." + p.Name, exactly(typed[p.Name].Number), fmt.Sprintf("%s %s? Its steps are %s apart: %s would be tried.",
			design.OpeningName(p.Name), say(typed[p.Name]), say(design.NumberValue(*p.Step)), say(kept[p.Name]))})
	}
	return doubts
}

// lastWith is the last trial run at exactly these settings, 0 if none was.
func lastWith(snap *ledger.Snapshot, settings design.Settings) int {
	for i := len(snap.Trials) - 1; i >= 0; i-- {
		if maps.Equal(snap.Trials[i].Parameters, settings) {
			return i + 1
		}
	}
	return 0
}

// Asks of one study that wait at the same time are answered together: the study is read once, after
// all of them came, and decided on from that, one trial after another, as one ask for so many
// would. What is known of the readings and of the trials that wait is worked out once. Each ask is
// written by itself, with its own author, idempotency key and answer, as soon as it is decided; one
// that is refused is refused alone.

type asking struct {
	ctx  context.Context // the caller's
	cmd  Command
	ask  Ask
	came chan answer // holds one; the first is read
}

type answer struct {
	after   *ledger.Snapshot
	numbers []int
	err     error
}

func (a *asking) answer(after *ledger.Snapshot, numbers []int, err error) {
	select {
	case a.came <- answer{after, numbers, err}:
	default: // it has its answer
	}
}

// answeringTime bounds the answering of those who wait together; every single one gives up at its
// own time.
const answeringTime = 10 * time.Minute

// answerAll answers all who wait, behind the requests, and returns those who are left to another
// time.
func (s *Service) answerAll(id string, all []*asking) (left []*asking) {
	var refused error
	answer := func(ctx context.Context) error {
		left, refused = s.answerEach(scheduler.With(ctx, scheduler.Choosing), id, all)
		if errors.Is(refused, supervisor.ErrPanicked) {
			return refused
		}
		return nil
	}
	err := s.Derived.Jobs.Do(context.Background(), "asks", id, answeringTime, answer)
	if errors.Is(err, supervisor.ErrStopping) { // the server waits for its requests only
		err = supervisor.Recovered(all[0].ctx, answer)
	}
	for _, a := range all[:len(all)-len(left)] {
		a.answer(nil, nil, cmp.Or(err, refused))
	}
	return left
}

// atOnce is how long the lock is held for those who ask together, once the first of them has its
// answer, for whom all is worked out that the others share: then other servers, and people with
// trials of their own, have their turn.
const atOnce = 2 * time.Second

// answerEach decides for each in turn, for as long as atOnce, and returns those who are left to
// another time. Its error is why others got no answer.
func (s *Service) answerEach(ctx context.Context, id string, all []*asking) (left []*asking, err error) {
	err = s.store.Choosing(ctx, id, func(ctx context.Context) error {
		snap, err := s.latest(ctx, id)
		if err != nil {
			return err
		}
		from, err := s.answerOne(ctx, all[0], chooser{models: s.Models, snap: snap})
		until := s.now().Add(atOnce)
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

// within is the caller's context, which ends with ctx as well.
func (a *asking) within(ctx context.Context) (own context.Context, end func()) {
	own, cancel := context.WithCancel(scheduler.With(a.ctx, scheduler.Choosing))
	stop := context.AfterFunc(ctx, cancel)
	return own, func() { stop(); cancel() }
}

// answerOne decides for one of them, writes what was decided and tells its caller, within whose time,
// and returns what the next one is decided from. An error is one that ends it for all.
func (s *Service) answerOne(ctx context.Context, a *asking, before chooser) (after chooser, err error) {
	own, end := a.within(ctx)
	defer end()
	after = before
	ruled, refused := after.rule(own, a.cmd, a.ask)
	snap, numbers, err := s.writeChoice(own, a.cmd, before.snap, before.count, ruled, refused)
	if err != nil && ctx.Err() != nil {
		return before, ctx.Err()
	}
	a.answer(snap, numbers, err)
	if refused != nil || err != nil { // what was refused may have been answered before, under its key
		return before, nil
	}
	return after, nil
}

// chooser makes decisions one after another on a history that grows in memory: each sees the
// earlier ones as pending. A copy of it is what to go back to when a decision is not written.
type chooser struct {
	models *Models
	snap   *ledger.Snapshot
	count  int                // trials chosen so far
	state  *optimizer.State   // nil before it has begun
	fitted bool               // as it is once at most, since a snapshot's readings stay the same
	fit    *ledger.FittedData // made just now, to be written before the decisions that use it
	last   *ledger.ChosenData // the algorithm's last decision, which is not part of the history yet
}

func (c *chooser) begin(ctx context.Context) error {
	made, err := c.models.replay(ctx, c.snap)
	if err == nil {
		c.state, c.fit, c.fitted = made.next, made.fit, made.state.FitDue()
	}
	return err
}

// extend adds to the history, after which a fit may be due where the first design ends: one at most,
// since a snapshot's readings stay the same.
func (c *chooser) extend(ctx context.Context, by *optimizer.History) error {
	state, err := compute(ctx, c.models.Derived, c.snap.ID, func(ctx context.Context) (*optimizer.State, error) { return c.state.Extend(ctx, by) })
	if err == nil && !c.fitted {
		c.fitted = state.FitDue()
		state, c.fit, err = c.models.refit(ctx, c.snap, state)
	}
	if err == nil {
		c.state = state
	}
	return notComputable(ctx, err)
}

func (c *chooser) suggest(ctx context.Context, want wanted) (*ledger.ChosenData, error) {
	if c.last != nil {
		if err := c.took(ctx, c.last); err != nil {
			return nil, err
		}
	}
	d, err := compute(ctx, c.models.Derived, c.snap.ID, func(ctx context.Context) (optimizer.Decision, error) {
		state, err := want.from(ctx, c.state)
		if err != nil {
			return optimizer.Decision{}, err
		}
		return state.Suggest(ctx, want.known)
	})
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		of, or := "them", ""
		if len(want.held) > 0 {
			of, or = "those with what is held", ", hold less"
		}
		return nil, conflict("No setting may be chosen now: %s allows none of %s. Loosen a limit, make settings available again%s, or change the algorithm.", c.snap.Compiled().Def.Algorithm.Name, of, or)
	}
	if err != nil {
		return nil, notComputable(ctx, err)
	}
	c.last, err = c.keep(ledger.Suggested, c.snap.Compiled().Settings(d.Place), d, want.brought)
	if err == nil {
		c.last.Held = want.held
	}
	return c.last, err
}

// from is a state that holds what is wanted, of one that holds nothing.
func (want wanted) from(ctx context.Context, state *optimizer.State) (*optimizer.State, error) {
	if len(want.held) == 0 {
		return state, nil
	}
	return state.Holding(ctx, want.config)
}

// keep is the ledger's account of a choice.
func (c *chooser) keep(origin ledger.Origin, settings design.Settings, d optimizer.Decision, brought design.Brought) (*ledger.ChosenData, error) {
	known, faults := c.snap.Compiled().KnownAt(settings, d.Place, brought)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	kept := decisionRecord(c.snap.Compiled(), c.state, d)
	kept.Seen = c.snap.Version
	return &ledger.ChosenData{Origin: origin, Parameters: settings, Candidate: candidateOf(d.Place), Decision: &kept,
		Seen: kept.Seen, Engine: kept.Engine, Brought: brought, KnownValues: known}, nil
}

// took adds the algorithm's choice to the history, so that the next decision sees it as pending.
func (c *chooser) took(ctx context.Context, chosen *ledger.ChosenData) error {
	c.last = nil
	h := *c.state.History()
	h.Rounds = append(slices.Clip(h.Rounds), pendingRound(c.snap.Compiled(), *chosen))
	return c.extend(ctx, &h)
}

// pendingRound is the round of a choice whose results are not known yet. It lies where the ledger's
// clean decimals say, so that later decisions see the same point to the last bit.
func pendingRound(c *design.Compiled, chosen ledger.ChosenData) optimizer.Round {
	place := c.Locate(chosen.Parameters, chosen.Candidate)
	return optimizer.Round{Point: place.U, Arm: place.Arm, Suggested: chosen.Freely(),
		Readings: make([]optimizer.Reading, len(c.MetricNames)), Costs: c.Def.KnownInOrder(chosen.KnownValues), Draw: chosen.Decision.Draw(c.Def.Algorithm.Name)}
}

// decisionRecord keys the numbers of a decision by metric and constraint.
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
			m.Inflation = 0 // and left out
		}
		kept.Model[c.MetricNames[k]] = ledger.MetricModel{
			Kernel: m.Kernel.Name, Lengthscales: m.Kernel.Lengthscales, Variance: m.Kernel.Variance,
			Interaction: m.Kernel.Interaction, Lambda: m.Lambda, Centre: m.Centre, Scale: m.Scale,
			Warp: m.Warp, Inflation: m.Inflation, Freedom: m.Freedom,
		}
	}
	return kept
}

// limitsLearned tells whether there is a reading of every metric whose limits are learned, and a model
// in its units: before, nothing is known of the chance to keep them all.
func limitsLearned(c *design.Compiled, state *optimizer.State) bool {
	return !slices.ContainsFunc(c.Config.Costs, func(cost optimizer.Cost) bool {
		return cost.Knowledge == optimizer.Learned && !state.Foresees(cost.Metric)
	})
}

// keyed is values by name; empty where the algorithm has none.
func keyed(names []string, values []float64) map[string]float64 {
	by := make(map[string]float64, len(values))
	for i, v := range values {
		if i < len(names) && design.Finite(v) {
			by[names[i]] = v
		}
	}
	return by
}

// rule goes on with the decisions for an ask; those before may have been for others.
func (c *chooser) rule(ctx context.Context, cmd Command, ask Ask) (ruling, error) {
	snap := c.snap
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
	want, faults := ask.wants(snap.Compiled())
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
		c.count++
		chosen.Number = len(snap.Trials) + c.count
		chosen.Decision.Because = explain(snap.Compiled().Def, *chosen, decidedBy(cmd.By, snap, snap.Compiled(), c.state))
		c.record(&ruled, *chosen)
	}
	return ruled, nil
}

func (s *Models) ruleAsk(ctx context.Context, cmd Command, snap *ledger.Snapshot, ask Ask) (ruling, error) {
	return (&chooser{models: s, snap: snap}).rule(ctx, cmd, ask)
}

// record adds a choice to what is ruled, after the fit that was made for it.
func (c *chooser) record(ruled *ruling, chosen ledger.ChosenData) {
	if c.fit != nil {
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Fitted, Data: *c.fit})
		c.fit = nil
	}
	ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Chosen, Data: chosen})
	ruled.numbers = append(ruled.numbers, chosen.Number)
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

// foreseen is the study with the fit that was made for the decision, which tells what results it
// expects.
func (r ruling) foreseen(snap *ledger.Snapshot) *ledger.Snapshot {
	if fit, is := r.drafts[0].Data.(ledger.FittedData); is {
		return snap.WithFit(fit)
	}
	return snap
}

// rulePersonal begins a trial that a person chose, placed in the space; replicateOf is the one that it
// repeats, 0 for none.
func (s *Models) rulePersonal(ctx context.Context, cmd Command, snap *ledger.Snapshot, own OwnTrial, place optimizer.Place, known optimizer.Known, replicateOf int) (ruling, error) {
	c := chooser{models: s, snap: snap}
	if err := c.begin(ctx); err != nil {
		return ruling{}, err
	}
	d, err := compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (optimizer.Decision, error) { return c.state.Own(ctx, place, known) })
	if err != nil {
		return ruling{}, notComputable(ctx, err)
	}
	chosen, err := c.keep(ledger.Manual, own.Parameters, d, own.Brought)
	if err != nil {
		return ruling{}, err
	}
	chosen.Number, chosen.Note, chosen.ReplicateOf = len(snap.Trials)+1, own.Note, replicateOf
	chosen.Decision.Because = explain(snap.Compiled().Def, *chosen, decidedBy(cmd.By, snap, snap.Compiled(), c.state))
	var ruled ruling
	c.record(&ruled, *chosen)
	return ruled, nil
}

// Ask asks for Count suggestions, each a round of its own.
type Ask struct {
	Count *int `json:"count,omitempty"` // 1 to 50; nil means 1
	// Held are settings that are given, as where an oven is warm already; the others are chosen.
	Held design.Settings `json:"held,omitempty"`
	design.Brought
}

// wanted is what one decision has to keep to.
type wanted struct {
	known   optimizer.Known
	brought design.Brought
	held    []string          // parameters, in the order of the study
	config  *optimizer.Config // under which those are held
}

// wants is what an ask wants of each decision.
func (ask Ask) wants(c *design.Compiled) (wanted, design.Faults) {
	known, faults := c.Known(ask.Brought)
	config, held, wrong := c.Holding(ask.Held, "held")
	return wanted{known, ask.Brought, held, config}, append(faults, wrong...)
}

// OwnTrial is a person's own choice, with results if they are there already.
type OwnTrial struct {
	Parameters design.Settings           `json:"parameters"`
	Metrics    map[string]ledger.Reading `json:"metrics,omitempty"`
	Note       string                    `json:"note,omitempty"`
	design.Brought
}

// Place finds where it lies. A step rounds what is to be run, not what was.
func (own OwnTrial) Place(c *design.Compiled, at string) (design.Settings, optimizer.Place, design.Faults) {
	place := c.Place
	if len(own.Metrics) > 0 {
		place = c.PlaceExactly
	}
	settings, there, faults := place(own.Parameters, at)
	return settings, there, append(faults, c.Forbids(settings, there, at)...)
}

const maximalCount = 50
