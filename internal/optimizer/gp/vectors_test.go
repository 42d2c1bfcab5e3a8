package gp_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// vectors are posteriors worked out by an independent implementation with plain matrix inverses.
type vectors struct {
	X     [][]float64 `json:"X"`
	Y     []float64   `json:"y"`
	Xq    [][]float64 `json:"Xq"`
	Cases []struct {
		Kernel struct {
			Name        string          `json:"name"`
			Lengthscale json.RawMessage `json:"lengthscale"`
			Variance    float64         `json:"variance"`
		} `json:"kernel"`
		Lambda      float64   `json:"lam"`
		KernelRow   []float64 `json:"K_row0"`
		Mean        []float64 `json:"mean"`
		Variance    []float64 `json:"var"`
		AheadMean   []float64 `json:"seq_mean"`
		AheadVar    []float64 `json:"seq_var"`
		Gain        []float64 `json:"info_gain"`
		LogMarginal float64   `json:"log_marginal"`
	} `json:"cases"`
}

const tolerance = 1e-9

func close(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Errorf("%s[%d] = %.12g, want %.12g", what, i, got[i], want[i])
		}
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/gp.json"))(t)
	var v vectors
	must.Do(t, json.Unmarshal(text, &v))
	if len(v.Cases) != 15 {
		t.Fatalf("%d cases, want 15", len(v.Cases))
	}
	return v
}

func lengthscales(t *testing.T, raw json.RawMessage) []float64 {
	t.Helper()
	var one float64
	if json.Unmarshal(raw, &one) == nil {
		return []float64{one, one}
	}
	var each []float64
	must.Do(t, json.Unmarshal(raw, &each))
	return each
}

func TestVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	for _, c := range v.Cases {
		k := must.Get(kernel.New(c.Kernel.Name, lengthscales(t, c.Kernel.Lengthscale), c.Kernel.Variance))(t)
		d := gp.NewData(k)
		lambdas := make([]float64, len(v.X))
		for i := range lambdas {
			lambdas[i] = c.Lambda
		}
		must.Do(t, d.AppendAll(t.Context(), v.X, lambdas, nil))
		row := make([]float64, len(v.X))
		k.Row(row, v.X[0], d.Inputs())
		close(t, c.Kernel.Name+" kernel row", row, c.KernelRow)

		z := d.Whiten(nil, v.Y)
		Xq := kernel.InputsOf(v.Xq)
		means, variances := predictMany(t, d, Xq, [][]float64{z})
		close(t, c.Kernel.Name+" mean", means[0], c.Mean)
		close(t, c.Kernel.Name+" variance", variances, c.Variance)
		close(t, c.Kernel.Name+" mean alone", meanMany(t, d, Xq, [][]float64{z})[0], c.Mean)

		var aheadMean, aheadVariance, gain []float64
		logMarginal := -0.5 * (factor.Dot(z, z) + float64(len(z))*math.Log(2*math.Pi))
		for i := range v.X {
			aheadMean = append(aheadMean, d.AheadMean(i, z))
			aheadVariance = append(aheadVariance, d.AheadVariance(i))
			gain = append(gain, d.Gain(i+1))
			logMarginal -= math.Log(d.Factor().Row(i)[i])
		}
		close(t, c.Kernel.Name+" ahead mean", aheadMean, c.AheadMean)
		close(t, c.Kernel.Name+" ahead variance", aheadVariance, c.AheadVar)
		close(t, c.Kernel.Name+" gain", gain, c.Gain)
		close(t, c.Kernel.Name+" log marginal", []float64{logMarginal}, []float64{c.LogMarginal})
		covariance := covarianceOf(t, d, Xq)
		for i := range v.Xq {
			close(t, c.Kernel.Name+" joint variance", covariance[i][i:i+1], c.Variance[i:i+1])
		}
	}
}
