package policy

import (
	"slices"
	"strings"
	"testing"
)

// ideal is a study of the algorithm in which nothing is known to contradict its theorem.
func ideal(t *testing.T, d Description, own ...string) Circumstances {
	t.Helper()
	context := studyOf(1)
	has := func(name string) bool {
		return slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Name == name })
	}
	switch {
	case d.NeedsGivenConstraint:
		context = knownBefore(context)
		own = append(own, `"slater": 1, "objective_bound": 2`)
	case has("slater"):
		own = append(own, `"slater": 1, "objective_bound": 2, "multiplier_cap": 20`)
	}
	s, faults := settle(t, d.Name, withTheory(d, own...), context)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", d.Name, faults)
	}
	context.Listed = true
	return Circumstances{Context: context, Settings: s, Rounds: 40, Within: 12, Watched: 60,
		Lambda: filled(len(context.Metrics), 1.04), Peak: filled(len(context.Metrics), 1),
		Reread: func() []string { return nil }}
}

// broken are the texts of the assumptions known not to hold.
func broken(d Description, c Circumstances) (list []string) {
	for _, a := range slices.Concat(d.Theorem.Assumptions, d.Theorem.ForRegret) {
		if f := a.Judge(c); f.Standing == NotMet {
			list = append(list, a.Text)
		} else if f.Because == "" {
			list = append(list, "no reason: "+a.Text)
		}
	}
	return list
}

// TestEveryBoundNamesItsTheorem: an algorithm that draws a bound says what was proved, and none of
// the others does.
func TestEveryBoundNamesItsTheorem(t *testing.T) {
	t.Parallel()
	drawn := 0
	for _, d := range Descriptions() {
		p := ordinary(t, d)
		if draws := p.Traits().Bound != nil; draws != (d.Theorem != nil) {
			t.Errorf("%s draws a bound: %v; names a theorem: %v", d.Name, draws, d.Theorem != nil)
		}
		if draws := p.Traits().RegretBound != nil; draws != (d.Theorem != nil && d.Theorem.Regret != "") {
			t.Errorf("%s draws a bound on regret: %v, and its theorem is %+v", d.Name, draws, d.Theorem)
		}
		if d.Theorem == nil {
			continue
		}
		drawn++
		if th := d.Theorem; th.Name == "" || th.Paper == "" || th.Year < 2010 || th.Bounds == "" || len(th.Assumptions) < 12 {
			t.Errorf("%s: %+v", d.Name, th)
		}
	}
	if drawn < 13 {
		t.Errorf("only %d algorithms draw a bound", drawn)
	}
}

// TestAssumptionsAreHeldAgainstTheStudy changes one thing at a time in a study that contradicts
// nothing, and expects the assumptions that name it.
func TestAssumptionsAreHeldAgainstTheStudy(t *testing.T) {
	t.Parallel()
	forgetful := []string{"ckb-sw-ucb", "ckb-restart-ucb"}
	alone := []string{"scgp-ucb", "penalty-noiseless", "penalty-noisy"} // those that model the objective alone
	epochs := alone[1:]
	for _, test := range []struct {
		what   string
		change func(*Circumstances)
		want   string // in the text of the only assumption that no longer holds; "" for none
		except []string
	}{
		{what: "nothing", change: func(*Circumstances) {}},
		{what: "fitted", change: func(c *Circumstances) { c.Fitted = true }, want: "given before the first reading"},
		{what: "standardised", change: func(c *Circumstances) { c.Standardized = true }, want: "modelled as they are told"},
		{what: "a wide kernel", change: func(c *Circumstances) { c.Peak = slices.Concat(c.Peak[:1], filled(len(c.Peak)-1, 1.5)) }, want: "k(x, x) ≤ 1", except: alone},
		{what: "a wide kernel of the objective", change: func(c *Circumstances) { c.Peak[0] = 1.5 }, want: "k(x, x) ≤ 1"},
		{what: "a small λ", change: func(c *Circumstances) { c.Lambda[len(c.Lambda)-1] = 0.1 }, want: "λ = 1 + 2/T", except: append([]string{"rpol-sw-ucb"}, epochs...)},
		{what: "a large λ", change: func(c *Circumstances) { c.Lambda[0] = 1.05 }, want: "λ = 1 + 2/T", except: append([]string{"rpol-sw-ucb"}, epochs...)},
		{what: "past the horizon", change: func(c *Circumstances) { c.Rounds = 51 }, want: "no more rounds than T"},
		{what: "uneven noise", change: func(c *Circumstances) { c.Uneven = []string{"f"} }, want: "alike from reading to reading"},
		{what: "drift", change: func(c *Circumstances) { c.Drifted = []string{"f"} }, want: "Nothing changes with time", except: []string{"rpol-sw-ucb"}},
		{what: "a change", change: func(c *Circumstances) { c.Reconfigured = 3 }, want: "those of the first round"},
		{what: "late readings", change: func(c *Circumstances) { c.Late = 2 }, want: "told before the next trial", except: []string{"rpol-censored-ucb"}},
		{what: "a correction", change: func(c *Circumstances) { c.Corrected = 1 }, want: "readings that count now"},
		{what: "an exclusion", change: func(c *Circumstances) { c.Excluded = 1 }, want: "readings that count now"},
		{what: "a first design", change: func(c *Circumstances) { c.Spread = 4 }, want: "chosen by the rule"},
		{what: "other settings", change: func(c *Circumstances) { c.Moved = 1 }, want: "chosen by the rule"},
	} {
		for _, d := range Descriptions() {
			if d.Theorem == nil || slices.Contains(test.except, d.Name) {
				continue
			}
			c := ideal(t, d)
			test.change(&c)
			got := broken(d, c)
			if slices.Contains(forgetful, d.Name) {
				if !slices.Contains(got, remembers.Text) {
					t.Errorf("%s of %s: nothing is said of what it forgets", test.what, d.Name)
				}
				got = slices.DeleteFunc(got, func(text string) bool { return text == remembers.Text })
			}
			if len(got) == 0 && test.want == "" || len(got) == 1 && test.want != "" && strings.Contains(got[0], test.want) {
				continue
			}
			t.Errorf("%s of %s: %q, want %q", test.what, d.Name, got, test.want)
		}
	}
}

// TestReadingsOnOneSideNeedNoDrift: a function that is larger than B allows comes out so, too, and nothing
// changes with time.
func TestReadingsOnOneSideNeedNoDrift(t *testing.T) {
	t.Parallel()
	if got := stationary.Judge(Circumstances{Drifted: []string{"f"}}); !strings.HasSuffix(got.Because, "again and again, as where they change with time, or where B or the kernel is wrong for them") {
		t.Errorf("%+v", got)
	}
}

// TestAssumptionsOnSettings: what the settings themselves contradict.
// TestOnlyListsAreSearchedWhole: that each trial maximises the acquisition is known of listed
// candidates alone.
func TestOnlyListsAreSearchedWhole(t *testing.T) {
	t.Parallel()
	var c Circumstances
	for _, want := range []Standing{Unknown, Met} {
		if got := exactMaximum.Judge(c); got.Standing != want {
			t.Errorf("with a list: %v, it is %+v", c.Listed, got)
		}
		c.Listed = true
	}
}

func TestAssumptionsOnSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ algorithm, settings, want string }{
		{"rpol-ucb", `{"beta": 2}`, "norm of at most B|no wider than a normal|The widths are the theorem’s"},
		{"rpol-ucb", `{"beta": {"default": {"schedule": "theory", "B": 1, "R": 1}, "f": {"schedule": "sqrt_log", "value": 2}}}`, "norm of at most B|no wider than a normal|The widths are the theorem’s"},
		{"rpol-ucb", `{"beta": {"schedule": "srinivas", "B": 1}}`, "The widths are the theorem’s"},
		{"rpol-ucb", `{"beta": {"default": {"schedule": "srinivas", "B": 1}, "f": 2}}`, "norm of at most B|no wider than a normal|The widths are the theorem’s"},
		{"rpol-censored-ucb", `{` + theory + `, "delay_window": 3, "response_bound": 0}`, "B_r = B + R"},
		{"ckb-ucb", `{` + theory + `, "slater": 1, "objective_bound": 2, "multiplier_cap": 7}`, "Slater"},
		{"ckb-ucb", `{` + theory + `, "slater": 1, "objective_bound": 2, "multiplier_cap": 9}`, ""},
		{"ckb-ucb", `{` + theory + `, "slater": 1, "objective_bound": 2, "multiplier_cap": 9, "slack": 0.2}`, "Slater"}, // 4·2/0.8 = 10
		{"ckb-ucb", `{` + theory + `, "slater": 1, "objective_bound": 2, "multiplier_cap": 10, "slack": 0.2}`, ""},
		{"ckb-ucb", `{` + theory + `, "slater": 1, "objective_bound": 2, "slack": 1}`, "Slater"},
		{"ckb-ucb", `{` + theory + `, "objective_bound": 2}`, ""}, // without δ nobody can know
		{"ckb-lyapunov", `{` + theory + `, "truncate": false}`, "Estimates are cut"},
		{"ckb", `{` + theory + `, "explore_limits": "random", "distribution": "uniform"}`, ""},
		{"ckb-lyapunov", `{` + theory + `, "slack": 0.2}`, "Some mixture of settings can keep the slack ε"}, // without δ nobody knows what it costs
		{"ckb-lyapunov", `{` + theory + `, "slack": 0.2, "slater": 0.1}`, "Some mixture of settings can keep the slack ε"},
		{"ckb-lyapunov", `{` + theory + `, "slack": 0.2, "slater": 0.2}`, ""},
		{"scgp-ucb", `{` + theory + `, "slater": 0.5, "objective_bound": 2}`, ""},
		{"scgp-ucb", `{` + theory + `, "slater": 0.5, "objective_bound": 2, "variant": "ii"}`, ""},
		{"scgp-ucb", `{` + theory + `, "slater": 0.5, "objective_bound": 2, "schedule_bound": 3}`, "V_t and ε_t are the theorem’s"},
		{"scgp-ucb", `{` + theory + `, "slater": 1.5, "objective_bound": 2}`, "keeps every limit and its margin by δ ≤ 1"},
		{"scgp-ucb", `{` + theory + `, "objective_bound": 2}`, "keeps every limit and its margin by δ ≤ 1|V_t and ε_t are the theorem’s"},
		{"penalty-noiseless", `{` + theory + `}`, "Every epoch regresses its own rounds alone"},
		{"penalty-noiseless", `{` + theory + `, "reuse": false, "acquisition": "thompson"}`, "Within an epoch each trial maximises"},
		{"penalty-noisy", `{` + theory + `}`, "Every epoch regresses its own rounds alone"},
		{"penalty-noisy", `{` + theory + `, "reuse": false, "epoch_length": 50}`, ""}, // λ = 1.04 = 1 + 2/50
		{"penalty-noisy", `{"beta": 2, "reuse": false}`, "with a norm of at most B|no wider than a normal|The width is the theorem’s"},
		{"penalty-noiseless", `{"beta": 2, "reuse": false}`, "with a norm of at most B|no wider than a normal|The width is the theorem’s|The objective stays within ±B"},
	} {
		d, _ := Find(test.algorithm)
		c := ideal(t, d)
		var faults []Fault
		if c.Settings, faults = settle(t, test.algorithm, test.settings, c.Context); len(faults) > 0 {
			t.Fatal(test.settings, faults)
		}
		got, want := broken(d, c), strings.Split(test.want, "|")
		if test.want == "" {
			want = nil
		}
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%s with %s: %q, want %q", test.algorithm, test.settings, got, want)
		}
	}
}

// TestDriftWithinTheWindow: the windowed algorithm's theorem allows for drift as far as Γ does.
func TestDriftWithinTheWindow(t *testing.T) {
	t.Parallel()
	d, _ := Find("rpol-sw-ucb")
	for own, want := range map[string]string{`"eta": 1`: "Γ is 0, as if nothing changed within 3 rounds", `"drift_width": 0.5`: "Γ is set"} {
		if f := boundedDrift.Judge(ideal(t, d, own)); f.Standing != Unknown || !strings.HasPrefix(f.Because, want) {
			t.Errorf("with %q: %+v", own, f)
		}
	}
}

// TestBoundedNoiseAsksForNoLambda: the width of Srinivas and others holds with whatever bounds the
// noise for √λ.
func TestBoundedNoiseAsksForNoLambda(t *testing.T) {
	t.Parallel()
	d, _ := Find("rpol-ucb")
	for settings, want := range map[string]int{
		`{"beta": {"schedule": "srinivas", "B": 1}}`:                                                            1,
		`{"beta": {"g1": {"schedule": "srinivas", "B": 1}, "default": {"schedule": "theory", "B": 1, "R": 1}}}`: 2,
	} {
		c := ideal(t, d)
		c.Settings, _ = settle(t, d.Name, settings, c.Context)
		c.Lambda = filled(2, 0.1)
		if got := broken(d, c); len(got) != want {
			t.Errorf("%s: %q", settings, got)
		}
	}
}

// TestAssumptionsOfPenalties: what the theorems on epochs of one penalised response ask beside the
// others.
func TestAssumptionsOfPenalties(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		algorithm string
		change    func(*Circumstances)
		want      string
	}{
		{"penalty-noiseless", func(c *Circumstances) { c.Capped = []string{"limit1"} }, "grow without a largest value"},
		{"penalty-noiseless", func(c *Circumstances) { c.Reread = func() []string { return []string{"limit1"} } }, "read without noise"},
		{"penalty-noiseless", func(c *Circumstances) { c.Uneven = []string{"g1"} }, ""},
		{"penalty-noisy", func(c *Circumstances) { c.Reread = func() []string { return []string{"limit1"} } }, ""},
		{"penalty-noisy", func(c *Circumstances) { c.Uneven = []string{"g1"} }, "with the same R"},
		{"penalty-noisy", func(c *Circumstances) { c.Lambda[0] = 1.25 }, ""}, // 1 + 2/S with S = ⌈√50⌉ = 8
		{"penalty-noisy", func(c *Circumstances) { c.Lambda[0] = 1.26 }, "λ = 1 + 2/S"},
	} {
		d, _ := Find(test.algorithm)
		c := ideal(t, d)
		test.change(&c)
		if got := broken(d, c); len(got) != min(len(test.want), 1) || len(got) == 1 && !strings.Contains(got[0], test.want) {
			t.Errorf("%s: %q, want %q", test.algorithm, got, test.want)
		}
	}
}

// TestFewReadingsProveLittle: how many were watched for drift is said of none and of one too.
func TestFewReadingsProveLittle(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"(readings watched: 0)", "(readings watched: 1)"} {
		if said := stationary.Judge(Circumstances{Watched: n}).Because; !strings.Contains(said, want) {
			t.Error(said)
		}
	}
}

// TestOneTrialOfTheFirstDesign is said of as well as of many.
func TestOneTrialOfTheFirstDesign(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1 trial of the first design filled the space instead", 5: "5 trials of the first design filled the space instead"} {
		if said := rectifiedRule.Judge(Circumstances{Spread: n}).Because; said != want {
			t.Error(said)
		}
	}
}
