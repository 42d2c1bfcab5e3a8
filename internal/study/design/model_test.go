package design

import (
	"slices"
	"testing"

	"headroom/internal/optimizer"
)

func TestModelOfEachMetric(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Model = Model{
		Kernel:        rawJSON(`{"default": "se", "pH": {"name": "matern32"}}`),
		Lengthscales:  rawJSON(`{"yield": [0.1, 0.2, 0.3, 0.4, 0.5], "pH": {"temperature": 1, "cycles": 2, "salt": 3, "time": 4, "catalyst": 5}}`),
		Variance:      rawJSON(`2`),
		Lambda:        rawJSON(`{"yield": 0.25}`),
		NoiseVariance: rawJSON(`{"impurity": 0.01, "pH": null}`),
	}
	metrics := mustCompile(t, d).Config.Metrics
	if len(metrics) != 3 || metrics[0].Name != "yield" || metrics[1].Name != "impurity" || metrics[2].Name != "pH" {
		t.Fatalf("metrics %+v", metrics)
	}
	for i, want := range []optimizer.Metric{
		{Name: "yield", Kernel: optimizer.Kernel{Name: "se", Lengthscales: []float64{0.1, 0.2, 0.3, 0.4, 0.5}, Variance: 2}, Lambda: 0.25},
		{Name: "impurity", Kernel: optimizer.Kernel{Name: "se", Lengthscales: []float64{0.3, 0.3, 0.3, 0.3, 0.3}, Variance: 2}, NoiseVariance: 0.01, FreeLengthscales: true},
		{Name: "pH", Kernel: optimizer.Kernel{Name: "matern32", Lengthscales: []float64{1, 2, 3, 4, 5}, Variance: 2}, Lambda: 1.02, FreeNoise: true},
	} {
		got := metrics[i]
		if got.Kernel.Name != want.Kernel.Name || !slices.Equal(got.Kernel.Lengthscales, want.Kernel.Lengthscales) || got.Kernel.Variance != want.Kernel.Variance ||
			got.Lambda != want.Lambda || got.NoiseVariance != want.NoiseVariance || got.FreeLengthscales != want.FreeLengthscales || got.FreeNoise != want.FreeNoise {
			t.Errorf("metric %d is %+v\nwant %+v", i, got, want)
		}
	}
}

func TestLengthscalesAsWritten(t *testing.T) {
	t.Parallel()
	const all = `{"temperature": 1, "cycles": 2, "salt": 3, "time": 0.5, "catalyst": 0.4}`
	for _, test := range []struct {
		inputs, written string
		want            []float64
	}{
		{"unit", ``, []float64{0.3, 0.3, 0.3, 0.3, 0.3}},
		{"unit", `null`, []float64{0.3, 0.3, 0.3, 0.3, 0.3}},
		{"raw", ``, []float64{12, 3.3, 0.3 * 9.999, 0.45, 0.3}},
		{"unit", `0.2`, []float64{0.2, 0.2, 0.2, 0.2, 0.2}},
		{"raw", `[1, 2, 3, 0.5, 0.4]`, []float64{1, 2, 3, 0.5, 0.4}},
		{"raw", all, []float64{1, 2, 3, 0.5, 0.4}},
		{"raw", `{"default": ` + all + `}`, []float64{1, 2, 3, 0.5, 0.4}},
		{"raw", `{"yield": 7, "default": 5}`, []float64{7, 7, 7, 7, 7}},
		{"unit", `{"impurity": 7}`, []float64{0.3, 0.3, 0.3, 0.3, 0.3}},
	} {
		d := bufferScreen()
		d.Model.Inputs, d.Model.Lengthscales = test.inputs, rawJSON(test.written)
		if got := mustCompile(t, d).Config.Metrics[0].Kernel.Lengthscales; !allNear(got, test.want, 1e-12) {
			t.Errorf("%s %s: %v, want %v", test.inputs, test.written, got, test.want)
		}
	}
}

func TestModelFaults(t *testing.T) {
	t.Parallel()
	const at = "model."
	for _, test := range []struct {
		name              string
		model             Model
		location, message string
	}{
		{"unknown kernel", Model{Kernel: rawJSON(`"matern53"`)}, at + "kernel", `did you mean "matern52"?`},
		{"kernel of a wrong kind", Model{Kernel: rawJSON(`5`)}, at + "kernel", "must be the name of a kernel"},
		{"unknown kernel of a metric", Model{Kernel: rawJSON(`{"yield": "rbf"}`)}, at + "kernel.yield", "there is no kernel"},
		{"kernel of an unknown metric", Model{Kernel: rawJSON(`{"Yield": "se"}`)}, at + "kernel.Yield", `did you mean "yield"?`},
		{"kernel of a recorded metric", Model{Kernel: rawJSON(`{"colour": "se"}`)}, at + "kernel.colour", "there is no modelled metric"},
		{"kernel with an unknown field", Model{Kernel: rawJSON(`{"name": "se", "nu": 1}`)}, at + "kernel.nu", "a kernel has a name"},
		{"kernel named by a number", Model{Kernel: rawJSON(`{"name": 5}`)}, at + "kernel.name", "must be the name"},
		{"matrix of another kernel", Model{Kernel: rawJSON(`{"name": "se", "matrix": [[1]]}`)}, at + "kernel.matrix", `only the kernel "covariance"`},
		{"covariance without candidates", Model{Kernel: rawJSON(`{"matrix": [[1]]}`)}, at + "kernel", "give candidates"},
		{"covariance without matrix", Model{Kernel: rawJSON(`"covariance"`)}, at + "kernel", "needs its matrix"},
		{"too few lengthscales", Model{Lengthscales: rawJSON(`[1, 2]`)}, at + "lengthscales", "has 2 lengthscales; there are 5 parameters"},
		{"one lengthscale in a list", Model{Lengthscales: rawJSON(`[1]`)}, at + "lengthscales", "has 1 lengthscale; there are 5 parameters"},
		{"a lengthscale left out", Model{Lengthscales: rawJSON(`{"temperature": 1, "cycles": 1, "salt": 1, "time": 1}`)}, at + "lengthscales.catalyst", "is missing"},
		{"lengthscale zero", Model{Lengthscales: rawJSON(`0`)}, at + "lengthscales", "must be between 1e-06 and 1e+06"},
		{"a negative lengthscale", Model{Lengthscales: rawJSON(`[1, 1, -1, 1, 1]`)}, at + "lengthscales[2]", "must be between"},
		{"a lengthscale that is null", Model{Lengthscales: rawJSON(`[1, 1, null, 1, 1]`)}, at + "lengthscales[2]", "must be a number"},
		{"a lengthscale that is text", Model{Lengthscales: rawJSON(`"long"`)}, at + "lengthscales", "must be a number"},
		{"lengthscale of an unknown metric", Model{Lengthscales: rawJSON(`{"default": 1, "temperature": 1}`)}, at + "lengthscales.temperature", "there is no modelled metric"},
		{"lambda zero", Model{Lambda: rawJSON(`0`)}, at + "lambda", "must be between"},
		{"lambda as text", Model{Lambda: rawJSON(`"1"`)}, at + "lambda", "must be a number"},
		{"lambda overflowing", Model{Lambda: rawJSON(`1e999`)}, at + "lambda", "must be a number"},
		{"negative variance of a metric", Model{Variance: rawJSON(`{"pH": -1}`)}, at + "variance.pH", "must be between"},
		{"lambda and noise", Model{Lambda: rawJSON(`1`), NoiseVariance: rawJSON(`{"pH": 1}`)}, at + "noise_variance", "pH is given both lambda and noise_variance"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := bufferScreen()
			d.Model = test.model
			_, err := d.Check()
			wantFault(t, faultsOf(t, err), test.location, test.message)
		})
	}
}

func TestCovarianceBetweenCandidates(t *testing.T) {
	t.Parallel()
	const good = `[[1, 0.5, 0.5, 0], [0.5, 1, 1, 0], [0.5, 1, 1, 0], [0, 0, 0, 2]]`
	for _, written := range []string{`{"matrix": ` + good + `}`, `{"name": "covariance", "matrix": ` + good + `}`, `{"default": {"matrix": ` + good + `}}`} {
		d := queue()
		d.Model.Kernel = rawJSON(written)
		m := mustCompile(t, d).Config.Metrics[0]
		if m.Kernel.Name != "covariance" || len(m.Kernel.Matrix) != 4 || m.Kernel.Matrix[3][3] != 2 || m.FreeLengthscales || !m.FreeNoise || m.Kernel.Lengthscales != nil {
			t.Errorf("%s: %+v", written, m)
		}
	}
	for _, test := range []struct{ matrix, location, message string }{
		{`[[1]]`, "model.kernel.matrix", "has 1 row; there are 4 candidates"},
		{`[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1], [0, 0, 0, 1]]`, "model.kernel.matrix[2]", "has 3 numbers"},
		{`[[1, 2, 0, 0], [2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]`, "model.kernel", "not positive semidefinite"},
		{`[[1, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]`, "model.kernel", "must be equal"},
		{`[[1e20, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]`, "model.kernel.matrix[0][0]", "use other units"},
		{`[[1, 1e300, 0, 0], [1e300, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]`, "model.kernel.matrix[0][1]", "use other units"},
		{`[[1, null, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]`, "model.kernel.matrix[0][1]", "not null"},
		{`"identity"`, "model.kernel.matrix", "must be a list of rows"},
	} {
		d := queue()
		d.Model.Kernel = rawJSON(`{"matrix": ` + test.matrix + `}`)
		_, err := d.Check()
		wantFault(t, faultsOf(t, err), test.location, test.message)
	}
	d := queue()
	d.Model.Kernel = rawJSON(`{"matrix": [[1]]}`)
	for len(d.Candidates) <= maxMatrixArms {
		d.Candidates = append(d.Candidates, d.Candidates[0])
	}
	_, err := d.Check()
	wantFault(t, faultsOf(t, err), "model.kernel", "at most 1000 candidates; there are 1001")
	d = queue()
	d.Model = Model{Kernel: rawJSON(`{"matrix": ` + good + `}`), Lengthscales: rawJSON(`{"rate": 1}`)}
	_, err = d.Check()
	wantFault(t, faultsOf(t, err), "model.lengthscales.rate", "has no lengthscales")
}
