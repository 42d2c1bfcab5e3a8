package optimizer

import (
	"context"
	"errors"

	"headroom/internal/optimizer/policy"
)

// ErrNoneAllowed is returned by Suggest when the algorithm may choose nothing.
var ErrNoneAllowed = errors.New("the algorithm may choose none of the points")

// Suggest makes the next decision. The error is ErrNoneAllowed when the algorithm may choose
// nothing, or ctx's.
func (s *decision) Suggest(ctx context.Context, known Known) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	if s.designed(s.Round(), s.settings.InitialDesign()) {
		return s.firstDesign(ctx, known)
	}
	found, err := s.maximise(ctx, known)
	if err != nil {
		return Decision{}, err
	}
	d, err := s.decision(ctx, found.place, known, found.draw)
	if err != nil {
		return Decision{}, err
	}
	d.Acquisition, d.HasScore, d.RunnerUp, d.Reason = found.value, true, found.runnerUp, found.reason
	return d, nil
}

// Own returns the decision record of a point that somebody else chose as the next round. The error
// is that of ctx.
func (s *decision) Own(ctx context.Context, at Place, known Known) (Decision, error) {
	d, err := s.decision(ctx, at, known, s.draw(s.Round()))
	d.Reason = policy.Own
	return d, err
}

// Acquisition returns what the next Suggest would maximise, at the given places. The error is that
// of ctx.
func (s *decision) Acquisition(ctx context.Context, at []Place, known Known) (Scores, error) {
	of, input, err := s.choices(ctx, at, known.at(at), s.draw(s.Round()), true)
	out := Scores{Values: make([]float64, len(at)), Allowed: make([]bool, len(at)), Argmax: -1}
	if err != nil || len(of) == 0 {
		return out, err
	}
	scores, err := s.score(input)
	if err != nil {
		return Scores{}, err
	}
	if err := s.askFurther(scores, pick(at, of), true); err != nil {
		return out, err
	}
	values, allowed, _ := s.effective(scores, pick(at, of))
	for n, i := range of {
		out.Values[i], out.Allowed[i] = values[n], allowed[n]
	}
	if best := Argmax(values, scores.Untruncated, allowed, scores.Relative); best >= 0 {
		out.Argmax = of[best]
	}
	out.Logarithmic = scores.Logarithmic
	return out, nil
}

// decide prepares the next decision.
func (s *evidence) decide(ctx context.Context, shown *shown, prior *decision) (*decision, error) {
	d := &decision{view: s.next, shown: shown}
	d.shortlist = d.shorten(prior)
	shown.shortlist, d.spent = d.shortlist, d.listSpent()
	var err error
	d.works, err = d.learnWorks(ctx, prior)
	return d, err
}

// firstDesign takes the next point of the scrambled Halton sequence that is allowed, or the arm
// nearest to it that has not been tried. What would break a limit of known form is passed over as
// long as something else is left, and so are settings that are spent.
func (s *decision) firstDesign(ctx context.Context, known Known) (Decision, error) {
	place, ok := s.designPlace(s.keepsKnownLimits(known))
	if !ok {
		return Decision{}, ErrNoneAllowed
	}
	d, err := s.decision(ctx, place, known, s.draw(s.Round()))
	d.FirstDesign, d.Reason = true, policy.FirstDesign
	return d, err
}
