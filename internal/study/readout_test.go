package study

import (
	"encoding/json"
	"testing"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

func TestCandidatesCanBeLookedAtFromBetween(t *testing.T) {
	t.Parallel()
	ctx, between := t.Context(), design.Settings{"temperature": design.NumberValue(23.4), "cycles": design.NumberValue(4)}
	d := ovenWith(optimizer.Algorithm{Name: "rpol-ucb"})
	b := newBench(t, d)
	for i := range 8 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i % 5), "impurity": 0.1 * float64(i)})
	}
	posterior, err := b.service.PosteriorAt(ctx, b.snap, []design.Settings{between, d.Candidates[0]})
	if err != nil || len(posterior.Metrics["yield"].Mean) != 2 || !(posterior.Metrics["yield"].SD[0] > 0) {
		t.Errorf("%v %+v", err, posterior)
	}
	acquisition, err := b.service.AcquisitionAt(ctx, b.snap, AcquisitionQuery{})
	if err != nil || len(acquisition.Values) != 36 {
		t.Fatalf("%v %+v", err, acquisition)
	}
	b.ask(1) // the same model unless a fit came between, which at round 9 it does not
	if chosen := b.snap.Trial(9); len(b.snap.Fits) == 1 && *chosen.Candidate != *acquisition.Argmax {
		t.Errorf("the next ask took candidate %d instead of %d", *chosen.Candidate, *acquisition.Argmax)
	}
	if _, err := b.service.Slices(ctx, b.snap, between, 7); err != nil {
		t.Error(err)
	}
	if _, err := b.service.AcquisitionAt(ctx, b.snap, AcquisitionQuery{Points: []design.Settings{between}}); err == nil {
		t.Error("the acquisition is that of candidates only")
	}
}

func TestACovarianceKnowsOnlyItsCandidates(t *testing.T) {
	t.Parallel()
	d := ovenWith(optimizer.Algorithm{Name: "rpol-ucb"})
	d.Candidates = d.Candidates[:2]
	matrix, err := json.Marshal(map[string]any{"name": "covariance", "matrix": [][]float64{{1, 0.5}, {0.5, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	d.Model = design.Model{Kernel: matrix, Fit: "fixed"}
	b := newBench(t, d)
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 1})
	if _, err := b.service.PosteriorAt(t.Context(), b.snap, d.Candidates); err != nil {
		t.Error(err)
	}
	_, err = b.service.PosteriorAt(t.Context(), b.snap, []design.Settings{{"temperature": design.NumberValue(23.4), "cycles": design.NumberValue(4)}})
	wantFault(t, faultsOf(t, err), "points[0]", "not one of the 2 candidates")
	if slices, err := b.service.Slices(t.Context(), b.snap, d.Candidates[0], 7); err != nil || slices != nil {
		t.Errorf("%v %v", slices, err)
	}
}
