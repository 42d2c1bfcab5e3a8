package study

import (
	"context"
	"errors"
	"fmt"
	"math"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// How far a replayed decision may be from the recorded one.
const (
	numberTolerance = 1e-6 // relative to max(1, |recorded|)
	searchTolerance = 1e-3 // of the acquisition's range, below the replayed maximum
)

// comparison holds one recorded decision against its replay.
type comparison struct {
	chosen    ledger.ChosenData
	seen      *replaying
	different []Difference
}

// run replays the decision and notes what differs.
func (c *comparison) run(ctx context.Context) error {
	state, err := c.seen.replayed(ctx, c.chosen.Number)
	if err != nil {
		return err
	}
	compiled := c.seen.snap.Compiled()
	place := compiled.Locate(c.chosen.Parameters, c.chosen.Candidate)
	known, err := compiled.KnownThen(c.chosen.Brought)
	if err != nil {
		return err
	}
	if c.chosen.Decision.Reason != string(optimizer.ReasonOwn) {
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
			c.compareNumbers(decisionRecord(compiled, state, again))
			return nil
		}
		return c.elsewhere(ctx, state, place, known, again)
	}
	own, err := state.Own(ctx, place, known)
	if err != nil {
		return err
	}
	c.compareNumbers(decisionRecord(compiled, state, own))
	return nil
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
	c.compareNumbers(replayed)
	return c.compareMaximum(ctx, state, replayed, again, known)
}

func samePoint(a, b optimizer.Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	for i := range a.U {
		if math.Abs(a.U[i]-b.U[i]) > 1e-9 {
			return false
		}
	}
	return true
}

// scoreAt is the acquisition at one place, nil where it may not be chosen.
func scoreAt(ctx context.Context, state *optimizer.State, place optimizer.Place, known optimizer.Known) (*float64, error) {
	scores, err := state.Acquisition(ctx, []optimizer.Place{place}, known)
	if err != nil || scores.Allowed != nil && !scores.Allowed[0] {
		return nil, err
	}
	return finiteOrNil(scores.Values[0]), nil
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
func (c *comparison) compareNumbers(replayed ledger.Decision) {
	stored := c.chosen.Decision
	c.compareMaps("beta", stored.Beta, replayed.Beta)
	c.compareMaps("multipliers", stored.Multipliers, replayed.Multipliers)
	c.compareMaps("mean", stored.Mean, replayed.Mean)
	c.compareMaps("sd", stored.SD, replayed.SD)
	c.compareMaps("estimates", stored.Estimates, replayed.Estimates)
	c.compareMaps("feasibility_probability", chanceOf(stored), chanceOf(&replayed))
	c.compareMaps("expected_improvement", improvementOf(stored), improvementOf(&replayed))
	c.compareMaps("works", worksOf(stored), worksOf(&replayed))
	if stored.Horizon != replayed.Horizon {
		c.differ("horizon", stored.Horizon, replayed.Horizon)
	}
	if stored.RandomSeed != replayed.RandomSeed {
		c.differ("random_seed", stored.RandomSeed, replayed.RandomSeed)
	}
	switch {
	case stored.Acquisition == nil && replayed.Acquisition == nil:
	case stored.Acquisition == nil || replayed.Acquisition == nil || !agrees(*stored.Acquisition, *replayed.Acquisition):
		c.differ("acquisition", stored.Acquisition, replayed.Acquisition)
	}
	c.compareModels(stored.Model, replayed.Model)
}

// chanceOf is the probability of keeping all limits; empty where nothing is known of it.
func chanceOf(d *ledger.Decision) map[string]float64 {
	if d.FeasibilityProbability == nil {
		return nil
	}
	return map[string]float64{"": *d.FeasibilityProbability}
}

// improvementOf is the expected improvement by the trial it is over; empty where there is none.
func improvementOf(d *ledger.Decision) map[string]float64 {
	if d.ExpectedImprovement == nil {
		return nil
	}
	return map[string]float64{fmt.Sprintf("over trial %d", d.Incumbent): *d.ExpectedImprovement}
}

// worksOf is the chance that the trial would work with what it was made from; empty where there is
// none.
func worksOf(d *ledger.Decision) map[string]float64 {
	if d.Works == nil {
		return nil
	}
	return map[string]float64{"chance": d.Works.Chance, "failed": float64(d.Works.Failed), "of": float64(d.Works.Of)}
}

func (c *comparison) compareModels(stored, replayed map[string]ledger.MetricModel) {
	for _, name := range sortedKeys(stored) {
		a, b := stored[name], replayed[name]
		at := "model." + name + "."
		if a.Kernel != b.Kernel {
			c.differ(at+"kernel", a.Kernel, b.Kernel)
		}
		c.compareMaps(at[:len(at)-1], modelNumbers(a), modelNumbers(b))
		if len(a.Lengthscales) != len(b.Lengthscales) {
			c.differ(at+"lengthscales", a.Lengthscales, b.Lengthscales)
			continue
		}
		for i := range a.Lengthscales {
			if !agrees(a.Lengthscales[i], b.Lengthscales[i]) {
				c.differ(at+"lengthscales", a.Lengthscales, b.Lengthscales)
				break
			}
		}
	}
}

// modelNumbers are the hyperparameters that are one number each.
func modelNumbers(m ledger.MetricModel) map[string]float64 {
	numbers := map[string]float64{"variance": m.Variance, "lambda": m.Lambda, "centre": m.Centre, "scale": m.Scale,
		"inflation": m.Inflation, "freedom": m.Freedom, "interaction": m.Interaction}
	if m.Warp != nil {
		numbers["warp.power"], numbers["warp.centre"], numbers["warp.scale"] = m.Warp.Power, m.Warp.Centre, m.Warp.Scale
		numbers["warp.origin"], numbers["warp.unit"] = m.Warp.Origin, m.Warp.Unit
	}
	return numbers
}

func (c *comparison) compareMaps(field string, stored, replayed map[string]float64) {
	names := map[string]bool{}
	for name := range stored {
		names[name] = true
	}
	for name := range replayed {
		names[name] = true
	}
	for _, name := range sortedKeys(names) {
		a, hasA := stored[name]
		b, hasB := replayed[name]
		if hasA && hasB && agrees(a, b) {
			continue
		}
		at := field
		if name != "" {
			at += "." + name
		}
		c.differ(at, numberOrNil(a, hasA), numberOrNil(b, hasB))
	}
}

func numberOrNil(x float64, there bool) any {
	if !there {
		return nil
	}
	return x
}

func agrees(stored, replayed float64) bool {
	return math.Abs(stored-replayed) <= numberTolerance*max(1, math.Abs(stored))
}

func (c *comparison) differ(field string, stored, replayed any) {
	c.different = append(c.different, Difference{Number: c.chosen.Number, Field: field, Stored: stored, Replayed: replayed})
}
