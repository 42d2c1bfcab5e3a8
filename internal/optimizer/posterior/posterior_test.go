package posterior

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// bench is one history in both forms: readings of two functions on five candidates, and points that
// wait at two of them.
func bench(t *testing.T) (both map[string]Posterior, all Points) {
	t.Helper()
	random, must := rand.New(rand.NewPCG(1, 2)), func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	k, err := kernel.New("matern52", []float64{0.5}, 1.3)
	must(err)
	all = Points{Inputs: kernel.NewInputs(1), Listed: true}
	for i := range 5 {
		all.Inputs.Append([]float64{float64(i) / 4})
		all.Arms = append(all.Arms, i)
	}
	arms, err := gp.NewArms(t.Context(), k, all.Inputs, 2)
	must(err)
	data, y := gp.NewData(k), [2][]float64{}
	for range 12 {
		arm, ys := random.IntN(5), []float64{random.NormFloat64(), random.NormFloat64()}
		must(data.Append(all.Inputs.Row(arm), 0.1))
		must(arms.Update(t.Context(), arm, ys, 0.1))
		y[0], y[1] = append(y[0], ys[0]), append(y[1], ys[1])
	}
	rows := &Rows{Data: data, Read: 12, Of: &Regression{Data: data}}
	for _, some := range y {
		rows.Z = append(rows.Z, append(data.Whiten(nil, some), 0, 0))
	}
	rows.StartPending(nil)
	narrowed := arms.Clone()
	for _, arm := range []int{1, 4} {
		must(rows.Data.Append(all.Inputs.Row(arm), 0.1))
		must(narrowed.Update(t.Context(), arm, nil, 0.1))
	}
	byRows := func(context.Context) (*Rows, error) { return rows, nil }
	return map[string]Posterior{"rows": rows, "candidates": &Candidates{Arms: arms, WithPending: narrowed, HasPending: true, ByRows: byRows}}, all
}

// TestBothSayTheSame asks both forms of one posterior everything, among the candidates and
// elsewhere.
func TestBothSayTheSame(t *testing.T) {
	t.Parallel()
	both, all := bench(t)
	between := Points{Inputs: kernel.NewInputs(1)}
	between.Inputs.Append([]float64{0.33})
	for name, at := range map[string]Points{"candidates": all, "between them": between} {
		said := map[string][]float64{}
		for form, p := range both {
			add := func(err error, rows ...[]float64) {
				t.Helper()
				must.Do(t, err)
				for _, row := range rows {
					said[form] = append(said[form], row...)
				}
			}
			add(nil, []float64{p.Gain()})
			means, err := p.Means(t.Context(), at)
			add(err, means...)
			prediction, err := p.Predict(t.Context(), at, p.Refer(Points{Inputs: all.Inputs.Prefix(1), Arms: all.Arms[:1]}))
			add(err, append(prediction.Means, prediction.Variances, prediction.ReferenceCovariances)...)
			if len(means) != 2 || len(prediction.ReferenceCovariances) != at.Inputs.Len() {
				t.Fatalf("%s of %s: %d functions, %d covariances", form, name, len(means), len(prediction.ReferenceCovariances))
			}
			some, err := p.Covariances(t.Context(), at, []int{0})
			add(err, some(at.Inputs.Len()-1))
		}
		for i, value := range said["rows"] {
			if got := said["candidates"][i]; math.Abs(got-value) > 1e-9 {
				t.Errorf("at %s, number %d is %v by candidates, %v by rows", name, i, got, value)
			}
		}
	}
}

// TestWhatIsKeptChangesNothing predicts at a list, by what is kept of it, and at the same points as
// none; and at the readings' own points, where sums are taken otherwise.
func TestWhatIsKeptChangesNothing(t *testing.T) {
	t.Parallel()
	both, all := bench(t)
	rows := both["rows"].(*Rows)
	once, own := Points{Inputs: all.Inputs}, Points{Inputs: rows.Data.Inputs().Prefix(rows.Data.Len())}
	unknown := own
	own.Rows = make([]int, rows.Data.Len())
	for i := range own.Rows {
		own.Rows[i] = i
		if i%3 == 0 {
			own.Rows[i] = -1
		}
	}
	rounding := map[string]float64{"its own": 1e-12}
	for name, pair := range map[string][2]func() (Prediction, error){
		"a list":  {func() (Prediction, error) { return rows.Predict(t.Context(), all, nil) }, func() (Prediction, error) { return rows.Predict(t.Context(), once, nil) }},
		"its own": {func() (Prediction, error) { return rows.Predict(t.Context(), own, nil) }, func() (Prediction, error) { return rows.Predict(t.Context(), unknown, nil) }},
	} {
		for range 2 {
			got := must.Get(pair[0]())(t)
			want := must.Get(pair[1]())(t)
			for i := range want.Variances {
				if math.Abs(got.Variances[i]-want.Variances[i]) > rounding[name] || math.Abs(got.Means[1][i]-want.Means[1][i]) > rounding[name] {
					t.Errorf("%s, point %d: %v ± %v, want %v ± %v", name, i, got.Means[1][i], got.Variances[i], want.Means[1][i], want.Variances[i])
				}
			}
		}
	}
}
