package study

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// chooser makes decisions one after another on a history that grows in memory: each sees the
// earlier ones as pending.
type chooser struct {
	work     *derived.Store[*ledger.Snapshot] // in which it computes
	id       string
	compiled *design.Compiled
	history  *optimizer.History
	state    *optimizer.State
	seen     int64
	fit      *ledger.FittedData // made just now, to be written before the decisions
	told     bool               // whether any trial is known to be within every limit
	last     *chosenPoint       // the algorithm's last decision, which is not part of the history yet
}

// chosenPoint is a decision with what the ledger keeps of it.
type chosenPoint struct {
	settings design.Settings
	place    optimizer.Place
	decision ledger.Decision
	known    map[string]float64
}

// chooser starts from snap, after the fit that is due.
func (s *Models) chooser(ctx context.Context, snap *ledger.Snapshot) (*chooser, error) {
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	feasible, _ := snap.Feasibility()
	c := &chooser{work: s.Derived, id: snap.ID, compiled: snap.Compiled(), history: snap.History(snap.Compiled()), state: state, seen: snap.Version, told: feasible > 0}
	if !state.FitDue() {
		return c, nil
	}
	fit, err := s.fit(ctx, snap, state)
	if err != nil || fit == nil {
		return c, err
	}
	c.fit = fit
	c.history = &optimizer.History{Rounds: c.history.Rounds, Fits: ledger.FitsUnder(c.compiled, append(snap.Fits[:len(snap.Fits):len(snap.Fits)], *fit))}
	return c, c.extend(ctx)
}

func (c *chooser) extend(ctx context.Context) error {
	state, err := compute(ctx, c.work, c.id, func(ctx context.Context) (*optimizer.State, error) { return c.state.Extend(ctx, c.history) })
	if err == nil {
		c.state = state
	}
	return notComputable(ctx, err)
}

// suggest lets the algorithm make the next decision.
func (c *chooser) suggest(ctx context.Context, known optimizer.Known, brought design.Brought) (chosenPoint, error) {
	if c.last != nil {
		if err := c.took(ctx, *c.last); err != nil {
			return chosenPoint{}, err
		}
	}
	d, err := compute(ctx, c.work, c.id, func(ctx context.Context) (optimizer.Decision, error) { return c.state.Suggest(ctx, known) })
	if errors.Is(err, optimizer.ErrNoneAllowed) {
		return chosenPoint{}, conflict("No setting may be chosen now: %s allows none of them. Raise a limit, make settings available again, or change the algorithm.", c.compiled.Def.Algorithm.Name)
	}
	if err != nil {
		return chosenPoint{}, notComputable(ctx, err)
	}
	point, err := c.keep(c.compiled.Settings(d.Place), d, brought)
	if err == nil {
		c.last = &point
	}
	return point, err
}

// own records what the algorithm makes of a person's choice.
func (c *chooser) own(ctx context.Context, p personal) (chosenPoint, error) {
	d, err := compute(ctx, c.work, c.id, func(ctx context.Context) (optimizer.Decision, error) { return c.state.Own(ctx, p.place, p.known) })
	if err != nil {
		return chosenPoint{}, notComputable(ctx, err)
	}
	return c.keep(p.Parameters, d, p.Brought)
}

func (c *chooser) keep(settings design.Settings, d optimizer.Decision, brought design.Brought) (chosenPoint, error) {
	known, faults := c.compiled.KnownAt(settings, d.Place, brought)
	if err := faults.Err(); err != nil {
		return chosenPoint{}, err
	}
	kept := decisionRecord(c.compiled, c.state, d)
	kept.Seen = c.seen
	// Settings are written in clean decimals; later decisions must see the point that the ledger
	// gives back, to the last bit.
	return chosenPoint{settings, c.compiled.Locate(settings, candidateOf(d.Place)), kept, known}, nil
}

// took adds the algorithm's choice to the history, so that the next decision sees it as pending.
func (c *chooser) took(ctx context.Context, p chosenPoint) error {
	draw := optimizer.Draw{Seed: p.decision.RandomSeed, Z: p.decision.Draws}
	c.history = withChoice(c.history, p.place, true, c.compiled.Def.KnownInOrder(p.known), draw, len(c.compiled.MetricNames))
	c.last = nil
	return c.extend(ctx)
}

// withChoice is h after one more decision, whose results are not known yet.
func withChoice(h *optimizer.History, place optimizer.Place, suggested bool, costs []float64, draw optimizer.Draw, metrics int) *optimizer.History {
	next := optimizer.Round{Point: place.U, Arm: place.Arm, Suggested: suggested, Readings: make([]optimizer.Reading, metrics), Costs: costs, Draw: draw}
	return &optimizer.History{Rounds: append(slices.Clip(h.Rounds), next), Fits: h.Fits, Rewritten: h.Rewritten}
}

// event is the ledger's account of the choice.
func (p chosenPoint) event(number int, origin ledger.Origin, brought design.Brought) ledger.ChosenData {
	return ledger.ChosenData{
		Number: number, Origin: origin, Parameters: p.settings, Candidate: candidateOf(p.place), Decision: &p.decision,
		Seen: p.decision.Seen, Engine: p.decision.Engine,
		Brought: brought, KnownValues: p.known,
	}
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
	if limitsRead(c, state) {
		kept.FeasibilityProbability = &d.FeasibilityProbability
	}
	for k, name := range c.MetricNames {
		if state.Unread(k) {
			delete(kept.Mean, name)
			delete(kept.SD, name)
		}
	}
	if d.HasScore && design.Finite(d.Acquisition) {
		kept.Acquisition = &d.Acquisition
	}
	if d.Incumbent > 0 && design.Finite(d.ExpectedImprovement) {
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
		kept.Model[c.MetricNames[k]] = ledger.MetricModel{
			Kernel: m.Kernel.Name, Lengthscales: m.Kernel.Lengthscales, Variance: m.Kernel.Variance,
			Interaction: m.Kernel.Interaction, Lambda: m.Lambda, Centre: m.Centre, Scale: m.Scale,
			Warp: ledger.WarpOf(m.Warp), Inflation: unlessOne(m.Inflation), Freedom: m.Freedom,
		}
	}
	return kept
}

// limitsRead tells whether there is a reading of every metric whose limits are learned: before,
// nothing is known of the chance to keep them all.
func limitsRead(c *design.Compiled, state *optimizer.State) bool {
	return !slices.ContainsFunc(c.Config.Costs, func(cost optimizer.Cost) bool {
		return cost.Knowledge == optimizer.Learned && state.Unread(cost.Metric)
	})
}

// unlessOne leaves a factor of 1 out of the record.
func unlessOne(factor float64) float64 {
	if factor == 1 {
		return 0
	}
	return factor
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

// succession are the decisions made one after another from one snapshot.
type succession struct {
	snap    *ledger.Snapshot
	chooser *chooser
	count   int // trials chosen so far
}

// clone is what to go back to when a decision is not written.
func (m *succession) clone() succession {
	kept := *m
	if m.chooser != nil {
		c := *m.chooser
		kept.chooser = &c
	}
	return kept
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

func (s *Models) ruleAsk(ctx context.Context, cmd Command, snap *ledger.Snapshot, ask Ask) (ruling, error) {
	return s.ruleNext(ctx, cmd, &succession{snap: snap}, ask)
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

// maximalCount is the number of suggestions in one request.
const maximalCount = 50

// unread are the study's metrics of which there is no reading yet.
func unread(snap *ledger.Snapshot) map[string]bool {
	names := map[string]bool{}
	for _, metric := range snap.Definition.MetricNames() {
		names[metric] = !snap.HasReading(metric)
	}
	return names
}
