package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
	"headroom/internal/lists"
	"headroom/internal/must"
)

// publishedVectors are rounds worked out by an independent implementation, with the study that
// plays them.
type publishedVectors struct {
	T          int         `json:"T"`
	Candidates [][]float64 `json:"candidates"`
	Samples    [][]float64 `json:"g_t"` // of a constraint known before each choice
	Algorithms []struct {
		Name    string         `json:"name"`
		Kernel  map[string]any `json:"kernel"`
		KernelG map[string]any `json:"kernel_g"`
		Lambda  float64        `json:"lam"`
		LambdaG *float64       `json:"lam_g"`
		Params  map[string]any `json:"params"`
		Metrics struct{ Hard, Soft, N float64 }
		Rounds  []struct {
			Index int
			BetaF float64 `json:"beta_f"`
			BetaG float64 `json:"beta_g"`
			Mult  float64
			Q     *float64
			Acq   []*float64
			MeanF []float64 `json:"mu_f"`
			SDF   []float64 `json:"sd_f"`
			GainF float64   `json:"gain_f"`
			Y, C  float64
		}
	} `json:"algorithms"`
}

// TestVectorsThroughTheAPI plays the vectors of several algorithms as a script would and compares
// /state, /acquisition and /posterior.
func TestVectorsThroughTheAPI(t *testing.T) {
	t.Parallel()
	data := must.Get(os.ReadFile("../../optimizer/testdata/algorithms.json"))(t)
	var v publishedVectors
	must.Do(t, json.Unmarshal(data, &v))
	// The algorithm and its settings by the name of the vectors, whose own parameters stand in for
	// {their names}.
	settings := map[string][2]string{
		"rpol_ucb_theory": {"rpol-ucb", `{"beta": {"default": {"schedule": "theory", "B": {B_f}, "R": {R}, "p": {p}}, "cost": {"schedule": "theory", "B": {B_g}, "R": {R}, "p": {p}}}}`},
		"rpol_ucb_pair":   {"rpol-ucb", `{"beta": {"gain": {"schedule": "constant", "value": {value_f}}, "cost": {"schedule": "constant", "value": {value_g}}}}`},
		"rpol_censored_scaled": {"rpol-censored-ucb", `{"beta": {"schedule": "constant", "value": {value}}, "delay_window": {m},
			"response_bound": {"gain": {B_r}, "cost": {B_c}}}`},
		"rpol_sw_const": {"rpol-sw-ucb", `{"beta": {"schedule": "constant", "value": {value}}, "window": {W}}`},
		"config_const":  {"config", `{"beta": {"schedule": "constant", "value": {value}}}`},
		"scgp_case1_const": {"scgp-ucb", `{"beta": {"schedule": "constant", "value": {value}}, "objective_bound": {B}, "slater": {slater},
			"schedule_bound": {schedule_B}, "variant": "i"}`},
		"alg3_reuse": {"penalty-noisy", `{"beta": {"schedule": "theory", "B": {B}, "R": {R}, "p": {delta}}, "epoch_length": {S}, "reuse": {reuse}, "step": {mu}}`},
		"ckb_ucb_slack": {"ckb-ucb", `{"beta": {"schedule": "constant", "value": {value}}, "objective_bound": {B}, "constraint_bound": {G},
			"multiplier_cap": {rho}, "step": {"limit": {V}}, "slack": {eps}}`},
	}
	played := 0
	for _, a := range v.Algorithms {
		chosen, ok := settings[a.Name]
		if !ok {
			continue
		}
		played++
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t)
			algorithm, values := chosen[0], regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(chosen[1], func(name string) string {
				value := must.Get(json.Marshal(a.Params[strings.Trim(name, "{}")]))(t)
				return string(value)
			})
			kernels := map[string]any{"default": a.Kernel["name"]}
			lengths := map[string]any{"default": a.Kernel["lengthscale"]}
			lambdas := map[string]any{"default": a.Lambda}
			if a.KernelG != nil {
				kernels["cost"], lengths["cost"], lambdas["cost"] = a.KernelG["name"], a.KernelG["lengthscale"], *a.LambdaG
			}
			limit := map[string]any{"name": "limit", "metric": "cost", "op": "<=", "threshold": 0}
			sampled := algorithm == "scgp-ucb"
			if sampled {
				limit["sampled"] = true
				delete(kernels, "cost")
			}
			candidates := lists.Map(v.Candidates, func(x []float64) map[string]float64 { return map[string]float64{"u": x[0], "v": x[1]} })
			id, _ := s.API("POST", "/studies", map[string]any{
				"name": a.Name,
				"parameters": []map[string]any{{"name": "u", "type": "real", "low": 0, "high": 1},
					{"name": "v", "type": "real", "low": 0, "high": 1}},
				"candidates":  candidates,
				"objective":   map[string]any{"metric": "gain", "direction": "maximize"},
				"constraints": []map[string]any{limit},
				"algorithm":   map[string]any{"name": algorithm, "horizon": v.T, "settings": json.RawMessage(values)},
				"model":       map[string]any{"kernel": kernels, "lengthscales": lengths, "lambda": lambdas, "fit": "fixed", "outputs": "raw"},
				"seed":        1,
			}).Want(201).JSON()["id"].(string)
			at := "/studies/" + id
			read := false // whether a gain was told before this round
			for n, want := range a.Rounds {
				state := s.API("GET", at+"/state", nil).Want(200).JSON()
				metrics := state["metrics"].(map[string]any)
				gain := metrics["gain"].(map[string]any)
				close9(t, n, "beta", gain["beta"], want.BetaF)
				close9(t, n, "information gain", gain["information_gain"], want.GainF)
				if cost, learned := metrics["cost"].(map[string]any); learned && want.BetaG != 0 {
					close9(t, n, "beta of the cost", cost["beta"], want.BetaG)
				}
				if algorithm != "config" {
					multiplier := want.Mult
					if want.Q != nil {
						multiplier = *want.Q
					}
					close9(t, n, "multiplier", state["multipliers"].(map[string]any)["limit"], multiplier)
				}
				query := map[string]any{}
				if sampled {
					query["constraint_values"] = map[string]any{"cost": v.Samples[n]}
				}
				acquisition := s.API("POST", at+"/acquisition", query).Want(200).JSON()
				for i, value := range acquisition["values"].([]any) {
					if want.Acq[i] != nil {
						close9(t, n, "acquisition", value, *want.Acq[i])
					} else if value != nil {
						t.Errorf("round %d: arm %d may be chosen", n+1, i)
					}
				}
				if algorithm == "rpol-ucb" || algorithm == "ckb-ucb" {
					posterior := s.API("POST", at+"/posterior", map[string]any{"points": candidates}).Want(200).JSON()
					band := posterior["metrics"].(map[string]any)["gain"].(map[string]any)
					for i := range candidates {
						mean, sd := band["mean"].([]any)[i], band["sd"].([]any)[i]
						if read {
							close9(t, n, "mean", mean, want.MeanF[i])
							close9(t, n, "sd", sd, want.SDF[i])
						} else if mean != nil || sd != nil {
							t.Errorf("round %d: mean %v and sd %v of a gain never read", n+1, mean, sd)
						}
					}
				}
				query["parameters"] = candidates[want.Index]
				s.API("POST", at+"/trials", query).Want(201)
				// What has arrived by the end of this round is told now, late readings of earlier
				// trials included.
				for earlier := range n + 1 {
					told := map[string]any{}
					if earlier+delay(a.Params["delay_f"], earlier) == n {
						told["gain"], read = a.Rounds[earlier].Y, true
					}
					if !sampled && earlier+delay(a.Params["delay_g"], earlier) == n {
						told["cost"] = map[string]any{"value": a.Rounds[earlier].C, "stddev": 0.1}
					}
					if len(told) > 0 {
						s.API("POST", fmt.Sprintf("%s/trials/%d/tell", at, earlier+1), map[string]any{"metrics": told}).Want(200)
					}
				}
			}
			s.API("POST", at+"/verify", map[string]any{}).Want(200).Has("ok", true, "checked", float64(len(a.Rounds)))
		})
	}
	if played != len(settings) {
		t.Fatalf("played %d of %d algorithms", played, len(settings))
	}
}

// delay is how many rounds late the reading of a round comes; nil means none.
func delay(delays any, round int) int {
	list, _ := delays.([]any)
	if round >= len(list) {
		return 0
	}
	return int(list[round].(float64))
}

func close9(t *testing.T, round int, what string, got any, want float64) {
	t.Helper()
	value, ok := got.(float64)
	if !ok || !(math.Abs(value-want) <= 1e-9) {
		t.Errorf("round %d: %s is %v, want %v", round+1, what, got, want)
	}
}
