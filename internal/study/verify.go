package study

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/scheduler"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

const mostCompared = 20

// Compare asks each of the algorithms what it would choose next on the history of snap, after the
// fit that is due.
func (s *Models) Compare(ctx context.Context, snap *ledger.Snapshot, with []design.Algorithm) ([]Choice, error) {
	if len(with) == 0 || len(with) > mostCompared {
		return nil, design.NewInvalid("algorithms", fmt.Sprintf("1 to %d algorithms are needed", mostCompared), len(with))
	}
	var brought design.Brought
	if lab, err := labOf(snap); err == nil {
		brought = broughtBy(lab, snap)
	}
	known, faults := snap.Compiled().Known(brought)
	if len(faults) > 0 {
		return nil, design.NewInvalid("algorithms", "a study whose constraints need a context or sampled values at each decision cannot be compared", nil)
	}
	others := make([]*design.Compiled, len(with))
	for i, algorithm := range with {
		var err error
		if others[i], err = compileWith(snap.Definition, algorithm); err != nil {
			return nil, relocate(err, "algorithm", fmt.Sprintf("algorithms[%d]", i))
		}
	}
	made, err := s.replay(ctx, snap)
	if err != nil && !errors.Is(err, ErrConflict) { // each algorithm says for itself that its model cannot be computed
		return nil, err
	}
	choices := make([]Choice, len(with))
	for i, c := range others {
		history := snap.History(c)
		if made.fit != nil {
			history.Fits = append(history.Fits, ledger.FitsUnder(c, []ledger.FittedData{*made.fit})...)
		}
		if choices[i], err = s.choiceOf(ctx, snap, c, history, known, brought); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

// compileWith makes a study ready to compute with under another algorithm.
func compileWith(d design.Definition, algorithm design.Algorithm) (*design.Compiled, error) {
	algorithm.Horizon = cmp.Or(algorithm.Horizon, d.Algorithm.Horizon)
	d.Algorithm = algorithm
	checked, err := d.Check()
	if err != nil {
		return nil, err
	}
	return design.Compile(checked)
}

func (s *Models) choiceOf(ctx context.Context, snap *ledger.Snapshot, c *design.Compiled, history *optimizer.History, known optimizer.Known, brought design.Brought) (Choice, error) {
	var state *optimizer.State
	var d optimizer.Decision
	err := s.Derived.Compute(scheduler.With(ctx, scheduler.Checking), snap.ID, func(ctx context.Context) (err error) {
		if state, err = optimizer.Replay(ctx, c.Config, history); err == nil {
			d, err = state.Suggest(ctx, known)
		}
		return err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return Choice{}, ctx.Err()
	case errors.Is(err, optimizer.ErrNoneAllowed):
		return Choice{Name: c.Def.Algorithm.Name, Because: "It allows none of the settings."}, nil
	default:
		return Choice{Name: c.Def.Algorithm.Name, Because: fmt.Sprintf("Its model cannot be computed: %v.", err)}, nil
	}
	settings := c.Settings(d.Place)
	kept, faults := c.KnownAt(settings, d.Place, brought)
	if err := faults.Err(); err != nil {
		return Choice{}, err
	}
	decision := decisionRecord(c, state, d)
	chosen := ledger.ChosenData{Number: state.Round(), Parameters: settings, Decision: &decision, KnownValues: kept}
	return Choice{Name: c.Def.Algorithm.Name, Parameters: &settings, Because: explain(c.Def, chosen, decidedBy("", snap, c, state))}, nil
}

// relocate moves the faults of err from one place in the request to another.
func relocate(err error, from, to string) error {
	faulty, is := errors.AsType[*design.Invalid](err)
	if !is {
		return err
	}
	moved := slices.Clone(faulty.Faults)
	for i, f := range moved {
		if within, is := strings.CutPrefix(f.Field, from); is {
			moved[i].Field = to + within
		}
	}
	return moved.Err()
}

// How far a replayed decision may be from the recorded one.
const (
	numberTolerance = 1e-6 // relative to max(1, |recorded|)
	searchTolerance = 1e-3 // of the acquisition's range, below the replayed maximum
)

// comparison holds one recorded decision against its replay.
type comparison struct {
	chosen    ledger.ChosenData
	seen      *verifier
	different []Difference
}

func (c *comparison) run(ctx context.Context) error {
	state, err := c.seen.stateAt(ctx, c.chosen.Number)
	if err != nil {
		return err
	}
	compiled := c.seen.snap.Compiled()
	place := compiled.Locate(c.chosen.Parameters, c.chosen.Candidate)
	known, wrong := compiled.Known(c.chosen.Brought)
	if err := wrong.Err(); err != nil {
		return err
	}
	if c.chosen.Decision.Reason != policy.Own {
		again, err := state.Suggest(ctx, known)
		switch {
		case errors.Is(err, optimizer.ErrNoneAllowed):
			c.differ("parameters", c.chosen.Parameters, nil)
			return nil
		case err != nil:
			return err
		// What was chosen is compared as it is written down: on a narrow range neighbouring
		// settings lie far apart in unit coordinates.
		case samePoint(compiled.Locate(compiled.Settings(again.Place), candidateOf(again.Place)), place):
			return c.compareNumbers(decisionRecord(compiled, state, again))
		}
		return c.elsewhere(ctx, state, place, known, again)
	}
	own, err := state.Own(ctx, place, known)
	if err != nil {
		return err
	}
	return c.compareNumbers(decisionRecord(compiled, state, own))
}

// elsewhere compares a decision whose replay chooses another point.
func (c *comparison) elsewhere(ctx context.Context, state *optimizer.State, place optimizer.Place, known optimizer.Known, again optimizer.Decision) error {
	own, err := state.Own(ctx, place, known)
	if err != nil {
		return err
	}
	replayed := decisionRecord(c.seen.snap.Compiled(), state, own)
	if replayed.Acquisition, err = scoreAt(ctx, state, place, known); err != nil {
		return err
	}
	if err := c.compareNumbers(replayed); err != nil {
		return err
	}
	return c.compareMaximum(ctx, state, replayed, again, known)
}

func samePoint(a, b optimizer.Place) bool {
	near := func(u, v float64) bool { return math.Abs(u-v) <= 1e-9 }
	return a.Arm == b.Arm && (a.Arm >= 0 || slices.EqualFunc(a.U, b.U, near))
}

// scoreAt is the acquisition at one place, nil where it may not be chosen.
func scoreAt(ctx context.Context, state *optimizer.State, place optimizer.Place, known optimizer.Known) (*float64, error) {
	scores, err := state.Acquisition(ctx, []optimizer.Place{place}, known)
	if err != nil || scores.Allowed != nil && !scores.Allowed[0] {
		return nil, err
	}
	return design.FiniteOrNil(scores.Values[0]), nil
}

// compareMaximum accepts a recorded point other than the replayed one if its acquisition comes near
// enough to the maximum.
func (c *comparison) compareMaximum(ctx context.Context, state *optimizer.State, replayed ledger.Decision, again optimizer.Decision, known optimizer.Known) error {
	if replayed.Acquisition == nil || !again.HasScore {
		c.differ("parameters", c.chosen.Parameters, c.seen.snap.Compiled().Settings(again.Place))
		return nil
	}
	spread, err := c.acquisitionRange(ctx, state, known, again.Acquisition)
	if err != nil {
		return err
	}
	if short := again.Acquisition - *replayed.Acquisition; short > searchTolerance*spread {
		c.differ("acquisition", c.chosen.Decision.Acquisition, again.Acquisition)
	}
	return nil
}

// logRange stands for the range of scores that are logarithms, whose smallest value means nothing:
// within the search tolerance of it, a twentieth of what is maximised.
const logRange = 50

// acquisitionRange is the maximum less the smallest value among the candidates, or among the points
// tried and probes spread over the space.
func (c *comparison) acquisitionRange(ctx context.Context, state *optimizer.State, known optimizer.Known, maximum float64) (float64, error) {
	places := c.seen.snap.Compiled().Arms()
	if places == nil {
		places = c.seen.snap.Compiled().Probes()
		for _, r := range c.seen.history.Rounds {
			places = append(places, optimizer.Place{U: r.Point, Arm: r.Arm})
		}
	}
	if len(places) == 0 {
		return 0, nil
	}
	scores, err := state.Acquisition(ctx, places, known)
	if err != nil {
		return 0, err
	}
	if scores.Logarithmic {
		return logRange, nil
	}
	smallest := maximum
	for i, value := range scores.Values {
		if (scores.Allowed == nil || scores.Allowed[i]) && design.Finite(value) {
			smallest = min(smallest, value)
		}
	}
	return maximum - smallest, nil
}

// compareNumbers notes every recorded number that the replay does not give again.
func (c *comparison) compareNumbers(replayed ledger.Decision) error {
	if c.chosen.Decision.RandomSeed != replayed.RandomSeed {
		c.differ("random_seed", c.chosen.Decision.RandomSeed, replayed.RandomSeed)
	}
	stored, err := numbersOf(*c.chosen.Decision)
	if err != nil {
		return err
	}
	again, err := numbersOf(replayed)
	if err != nil {
		return err
	}
	both := maps.Clone(stored)
	maps.Copy(both, again)
	for _, field := range sortedKeys(both) {
		a, b := stored[field], again[field]
		was, isNumber := a.(float64)
		is, isNumberToo := b.(float64)
		if same := isNumber && isNumberToo && agrees(was, is) || !isNumber && a == b; !same {
			c.differ(field, a, b)
		}
	}
	return nil
}

// numbersOf are what a decision records that follows from what it had seen, by its path in JSON;
// what is null has none.
func numbersOf(d ledger.Decision) (map[string]any, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	for _, other := range []string{"seen", "engine", "algorithm", "runner_up", "random_seed", "draws", "reason", "because"} {
		delete(tree, other)
	}
	numbers := map[string]any{}
	for field, value := range tree {
		flatten(numbers, field, value)
	}
	return numbers, nil
}

func flatten(into map[string]any, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			flatten(into, path+"."+name, v)
		}
	case []any:
		for i, v := range value {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), v)
		}
	case nil:
	default:
		into[path] = value
	}
}

func agrees(stored, replayed float64) bool {
	return math.Abs(stored-replayed) <= numberTolerance*max(1, math.Abs(stored))
}

func (c *comparison) differ(field string, stored, replayed any) {
	c.different = append(c.different, Difference{Number: c.chosen.Number, Field: field, Stored: stored, Replayed: replayed})
}

// What Verification.Rules says.
const (
	RulesPresent = "present"
	RulesGone    = "gone"
)

// Verified is how verifying a study ended, on whichever server.
type Verified struct {
	Verification
	Version int64     `json:"version"`
	Hash    string    `json:"hash"`   // of the ledger's last event then
	Engine  string    `json:"engine"` // of the program that verified it
	At      time.Time `json:"at"`
}

// Verification says how replaying a ledger ended.
type Verification struct {
	OK           bool         `json:"ok"`
	Checked      int          `json:"checked"`
	Different    []Difference `json:"different"`
	LedgerIntact bool         `json:"ledger_intact"`
	// Rules tells whether the program still has the rules of every engine that decided; Unchecked
	// counts the decisions of those it no longer has, which were not replayed, and GoneEngines
	// names them.
	Rules       string   `json:"rules" enum:"present,gone"`
	Unchecked   int      `json:"unchecked"`
	GoneEngines []string `json:"gone_engines,omitempty"`
}

// Difference is what a replay does not give again.
type Difference struct {
	Number   int    `json:"number"`
	Field    string `json:"field"`
	Stored   any    `json:"stored"`
	Replayed any    `json:"replayed"`
}

// verifying is a verification behind requests; its progress counts events. It can be asked for
// again, and goes on from where it was.
var verifying = derived.Task{Kind: "verification", Limit: 10 * time.Minute}

// verifiedFor is for how long an outcome is told again instead of being looked for anew.
const verifiedFor = time.Second

// Verify checks the hashes of the study up to the snapshot and replays every decision from what it
// had seen, under the definition then in force. Decisions that were replayed before, on whichever
// server, are not replayed again, nor are those that a caller who left waited for: outcomes are
// remembered as the walk goes on.
func (s *Service) Verify(ctx context.Context, snap *ledger.Snapshot) (Verification, error) {
	return derived.Fresh(scheduler.With(ctx, scheduler.Checking), s.Derived, snap, verificationOf, verifiedFor, func(ctx context.Context) (Verification, error) {
		before, err := s.verifiedBefore(ctx, snap)
		if err != nil {
			return Verification{}, err
		}
		v := newVerifier(before)
		for err == nil && v.last.Seq < snap.Version {
			err = s.verifyPart(ctx, v, snap)
		}
		return v.outcome(), err
	})
}

// verifiedBefore is the last outcome, if the snapshot's verification can go on from it: it found
// nothing wrong, by the rules of now, with what the ledger says still.
func (s *Service) verifiedBefore(ctx context.Context, snap *ledger.Snapshot) (*Verified, error) {
	last, err := s.store.Verified(ctx, snap.ID)
	if err != nil || last == nil || !last.OK || last.Engine != optimizer.Engine || last.Version > snap.Version {
		return nil, err
	}
	events, err := s.store.Events(ctx, snap.ID, last.Version-1, 1)
	if err != nil || len(events) == 0 || events[0].Hash != last.Hash {
		return nil, err
	}
	return last, nil
}

// verifyPart walks over the next events up to the snapshot, and has the outcome up to them
// remembered.
func (s *Service) verifyPart(ctx context.Context, v *verifier, snap *ledger.Snapshot) error {
	events, err := s.eventsUpTo(ctx, snap, v.last.Seq)
	if err != nil {
		return err
	}
	from := v.last.Seq
	err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) error { return v.walk(ctx, events) })
	s.Derived.Advance(verifying, snap.ID, func(now Progress) int64 {
		if now.Wanted != snap.Version { // another version is verified meanwhile
			return now.Done
		}
		return v.last.Seq
	})
	if v.last.Seq == from || v.last.Seq < v.replayed {
		return err
	}
	kept := Verified{v.outcome(), v.last.Seq, v.last.Hash, optimizer.Engine, s.now()}
	return errors.Join(err, s.store.KeepVerified(context.WithoutCancel(ctx), snap.ID, kept))
}

// VerifyBehind verifies as Verify does, behind the request; one of a study at a time. Verifying
// says how far it is.
func (s *Service) VerifyBehind(snap *ledger.Snapshot) error {
	err := s.begin(verifying, snap.ID, snap.Version, func(ctx context.Context) error {
		_, err := s.Verify(ctx, snap)
		return err
	})
	if errors.Is(err, derived.ErrGoing) {
		return nil
	}
	return err
}

// Verifying says how the verification of a study stands that goes on behind requests on this
// server, without waiting for it, and how the last one ended, on whichever; nil if there was none.
func (s *Service) Verifying(ctx context.Context, id string) (Progress, *Verified, error) {
	now, _ := s.Derived.Progress(verifying, id) // before the outcome is read, which is kept before the work ends: one that ends meanwhile is seen
	last, err := s.store.Verified(ctx, id)
	if last != nil && last.Version >= now.Wanted {
		now.Failed = nil // somebody has finished it
	}
	return now, last, err
}

// VerifyBundle checks an exported study offline: its hashes, and every decision replayed.
func VerifyBundle(ctx context.Context, text []byte) (Verification, error) {
	var bundle ledger.Bundle
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&bundle); err != nil {
		return Verification{}, fmt.Errorf("this is not an exported study: %w", err)
	}
	if bundle.Format != ledger.BundleFormat {
		return Verification{}, fmt.Errorf("this is not an exported study: its format is %q, not %q", bundle.Format, ledger.BundleFormat)
	}
	v := newVerifier(nil)
	if err := v.walk(ctx, bundle.Events); err != nil {
		return Verification{}, err
	}
	v.intact(bundle.EndsWith(v.last))
	return v.outcome(), nil
}

// mostDifferences is how many differences are kept; beyond it a ledger is broken enough.
const mostDifferences = 1000

// verifier walks a ledger once, from its first event on. Two places move along it: the event that
// it has walked to, and behind it the study as the last decision saw it.
type verifier struct {
	found    Verification
	replayed int64        // decisions up to this event were replayed by an earlier verification
	last     ledger.Event // the last one walked; its Seq is 0 before the first
	ended    bool         // the ledger could no longer be followed

	snap    *ledger.Snapshot    // after event snap.Version, the one that the last decision had seen
	tail    []ledger.Event      // after snap.Version, up to last
	fits    []ledger.FittedData // of all events walked
	pending []optimizer.Round   // chosen after snap
	history *optimizer.History  // of snap, nil until it is needed
	state   *optimizer.State
	under   *design.Compiled // what state was replayed under
	values  ledger.Resolver  // of all events walked
}

// newVerifier goes on from an earlier outcome, which may be nil: all is walked again, and what was
// decided since is replayed.
func newVerifier(before *Verified) *verifier {
	v := &verifier{found: Verification{Different: []Difference{}, LedgerIntact: true, Rules: RulesPresent}}
	if before != nil {
		v.found, v.replayed = before.Verification, before.Version
	}
	return v
}

// outcome is what was found up to the last event walked, also of whether those after the last
// decision can be followed.
func (v *verifier) outcome() Verification {
	if !v.ended && len(v.tail) > 0 {
		if _, err := ledger.Fold("verified", v.snap, v.tail, nil); err != nil {
			v.end(err)
		}
	}
	out := v.found
	out.OK = len(out.Different) == 0
	return out
}

// walk goes on over the events that follow, as far as ctx lets it. A ledger that cannot be followed
// is a difference, and only the hashes of the rest of it are looked at.
func (v *verifier) walk(ctx context.Context, events []ledger.Event) error {
	for _, e := range events {
		if !v.ended {
			err := v.event(ctx, e)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				v.end(fmt.Errorf("event %d: %w", e.Seq, err))
			}
		}
		v.intact(ledger.CheckContinues(v.last, []ledger.Event{e}))
		v.last = e
	}
	return nil
}

// intact notes the first place from which on the hashes do not hold.
func (v *verifier) intact(err error) {
	if err != nil && v.found.LedgerIntact {
		v.found.LedgerIntact = false
		v.note(Difference{Field: "ledger", Replayed: err.Error()})
	}
}

func (v *verifier) end(why error) {
	v.ended = true
	v.note(Difference{Field: "ledger", Replayed: why.Error()})
}

func (v *verifier) note(differences ...Difference) {
	room := mostDifferences - len(v.found.Different)
	v.found.Different = append(v.found.Different, differences[:min(len(differences), room)]...)
}

func (v *verifier) event(ctx context.Context, e ledger.Event) error {
	switch e.Kind {
	case ledger.Fitted:
		var fit ledger.FittedData
		if err := e.Decode(&fit); err != nil {
			return err
		}
		v.fits = append(v.fits, fit)
	case ledger.Chosen:
		if err := v.chosen(ctx, e); err != nil {
			return err
		}
	}
	v.tail = append(v.tail, e)
	return nil
}

// chosen replays a decision, before later ones see it as pending.
func (v *verifier) chosen(ctx context.Context, e ledger.Event) error {
	var chosen ledger.ChosenData
	if err := e.Decode(&chosen); err != nil {
		return err
	}
	chosen, err := v.values.Resolve(chosen)
	if err != nil {
		return err
	}
	if err := v.advance(chosen.Seen); err != nil {
		return err
	}
	switch {
	case chosen.Decision == nil || e.Seq <= v.replayed:
	case chosen.Engine != optimizer.Engine:
		v.found.Rules, v.found.Unchecked = RulesGone, v.found.Unchecked+1
		if !slices.Contains(v.found.GoneEngines, chosen.Engine) {
			v.found.GoneEngines = append(v.found.GoneEngines, chosen.Engine)
		}
	default:
		replayed := comparison{chosen: chosen, seen: v}
		if err := replayed.run(ctx); err != nil {
			return err
		}
		v.note(replayed.different...)
		v.found.Checked++
	}
	v.pending = append(v.pending, pendingRound(v.snap.Compiled(), chosen))
	return nil
}

// advance folds the ledger up to event seq; what was chosen by then is part of it.
func (v *verifier) advance(seq int64) error {
	count := seq - versionOf(v.snap)
	if v.snap != nil && count == 0 {
		return nil
	}
	if count < 0 || count > int64(len(v.tail)) {
		return fmt.Errorf("a decision made from event %d", seq)
	}
	snap, err := ledger.Fold("verified", v.snap, v.tail[:count], nil)
	if err != nil {
		return err
	}
	v.snap, v.tail, v.pending, v.history = snap, slices.Clone(v.tail[count:]), nil, nil
	return nil
}

// stateAt is the state that decision number was made from.
func (v *verifier) stateAt(ctx context.Context, number int) (*optimizer.State, error) {
	c := v.snap.Compiled()
	if v.history == nil {
		v.history = v.snap.History(c)
	}
	if chosen := len(v.history.Rounds) + len(v.pending); chosen != number-1 {
		return nil, fmt.Errorf("trial %d was decided when %d were chosen", number, chosen)
	}
	h := &optimizer.History{Rounds: append(slices.Clip(v.history.Rounds), v.pending...), Fits: ledger.FitsUnder(c, v.fits)}
	var err error
	if v.state != nil && v.under == c {
		v.state, err = v.state.Extend(ctx, h)
	} else {
		v.state, err = optimizer.Replay(ctx, c.Config, h)
	}
	v.under = c
	return v.state, err
}
