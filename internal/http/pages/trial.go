package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// TrialPage is one trial with everything behind it.
func (s *Site) TrialPage(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return s.showTrial(w, r, http.StatusOK, visiting(r, snap), trial, nil)
}

// showTrial draws the page of a trial; change may put a form with its faults into it.
func (s *Site) showTrial(w http.ResponseWriter, r *http.Request, status int, v visit, t *ledger.Trial, change func(*templates.TrialPage)) error {
	page := templates.TrialPage{
		Page: newPage(r, fmt.Sprintf("Trial %d of %s", t.Number, v.head.Name)), Study: v.head, Card: v.card(t), State: v.stateWords(t), Mark: v.markOf(t),
		Excluded: t.Excluded, Reason: v.reasonLine(t), Waiting: t.Waiting(), Ended: t.Status == ledger.StatusFailed || t.Status == ledger.StatusAbandoned, Because: whyOf(t), Key: newKey(r), Previous: t.Number - 1,
	}
	page.Width = "medium"
	if len(t.Doubts) > 0 && !t.Excluded {
		doubtful := v.doubtsOf(t)
		page.Doubtful = &doubtful
	}
	if v.head.Operates {
		page.Saved = v.savedJustNow(t)
	}
	if t.Number < len(v.snap.Trials) {
		page.Following = t.Number + 1
	}
	page.Metrics = v.metricFacts(t)
	page.Facts = v.decisionFacts(t)
	page.Model = modelTable(v.snap.Definition, t.Decision)
	var err error
	var before int
	if page.History, before, err = s.eventsOf(r.Context(), v, t.Number); err != nil {
		return err
	}
	if before > 0 {
		page.Earlier = count(before, "earlier entry is", "earlier entries are") + " in the study’s ledger."
	}
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.TrialView(page))
}

// trialNow is the study and the trial that the path names.
func (s *Site) trialNow(r *http.Request) (*ledger.Snapshot, *ledger.Trial, error) {
	snap, err := s.studyNow(r)
	if err != nil {
		return nil, nil, err
	}
	number, err := request.TrialNumber(r)
	if err != nil {
		return nil, nil, err
	}
	trial := snap.Trial(number)
	if trial == nil {
		return nil, nil, problem.NoSuchThing
	}
	return snap, trial, nil
}

// Close ends a trial or sets it aside.
func (s *Site) Close(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(form *typed) submission {
		to := trialURL(snap.ID, trial.Number) + "?done=closed"
		if form.text("kind") == string(ledger.Confirmed) {
			to = "/studies/" + snap.ID + "?done=confirmed"
		}
		return submission{
			do: func(cmd study.Command) (err error) {
				kind, reason := form.text("kind"), form.text("reason")
				switch {
				case ledger.Kind(kind) == ledger.Confirmed:
					_, err = s.Studies.Confirm(r.Context(), cmd, snap.ID, trial.Number)
				case ledger.Cause(kind).Known():
					_, err = s.Studies.Fail(r.Context(), cmd, snap.ID, trial.Number, ledger.Cause(kind), reason)
				case slices.Contains([]ledger.Kind{ledger.Abandoned, ledger.Excluded, ledger.Included}, ledger.Kind(kind)):
					_, err = s.Studies.Close(r.Context(), cmd, snap.ID, ledger.Kind(kind), trial.Number, reason)
				default:
					err = problem.Malformed("body", "kind", "The form must say whether the trial failed because of its settings or by chance, was not run, is excluded, included or confirmed.")
				}
				return err
			},
			to:    to,
			names: itself,
			again: func(form templates.Form) error {
				return s.showTrial(w, r, http.StatusUnprocessableEntity, visiting(r, snap), trial, func(page *templates.TrialPage) { page.Closing = form })
			},
		}
	})
}

// Replicate asks for the same settings again.
func (s *Site) Replicate(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		return submission{
			do: func(cmd study.Command) error {
				_, _, err := s.Studies.Replicate(r.Context(), cmd, snap.ID, trial.Number)
				return err
			},
			to: "/studies/" + snap.ID + "?done=replicated#next",
		}
	})
}

// Undo takes back what the viewer saved of a trial just now.
func (s *Site) Undo(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		var after *ledger.Snapshot
		return submission{
			do: func(cmd study.Command) (err error) {
				after, err = s.Studies.Undo(r.Context(), cmd, snap.ID, trial.Number)
				return err
			},
			done: func() error {
				w.Header().Set("X-Undone", strconv.Itoa(trial.Number))
				if isPart(r) && onStudyPage(r) {
					letPartsFollow(w, after)
					w.WriteHeader(http.StatusOK)
					return nil
				}
				if isPart(r) {
					return GoTo(w, r, trialURL(snap.ID, trial.Number)+"?done=undone")
				}
				return GoTo(w, r, "/studies/"+snap.ID+"?done=undone#next")
			},
		}
	})
}

func (v visit) reasonLine(t *ledger.Trial) string {
	if t.Reason == "" {
		return ""
	}
	words := v.stateWords(t)
	if t.Cause == ledger.BySettings && !t.Excluded {
		words = "failed because of its settings"
	}
	return capitalised(words) + ": " + t.Reason
}

// metricFacts are a trial's readings beside what was predicted for them.
func (v visit) metricFacts(t *ledger.Trial) []templates.MetricFact {
	d := v.snap.Definition
	var facts []templates.MetricFact
	for _, metric := range tableMetrics(d) {
		m, there := t.Metrics[metric]
		if !there {
			continue
		}
		unit := unitOf(d, metric)
		fact := templates.MetricFact{Name: metric, Value: v.measured(metric, m), By: m.By, At: stamp(m.ToldAt, v.now), Predicted: "–", Limit: "–", Headroom: "–"}
		if m.Known {
			fact.By = ""
		}
		if m.Corrected && m.Original != nil {
			fact.Original = number(*m.Original)
		}
		fact.Predicted = v.foretold(t, metric, unit)
		if limit := limitsText(d, metric); limit != "" {
			fact.Limit = limit
		}
		if m.Headroom != nil {
			fact.Headroom, fact.Broken = quantity(*m.Headroom, unit), *m.Headroom < 0
		}
		facts = append(facts, fact)
	}
	return facts
}

// foretold is the reading that a trial's decision expected of a metric, where the model had learnt the metric by then.
func (v visit) foretold(t *ledger.Trial, metric, unit string) string {
	chosen := *t
	chosen.SettingsChanged = false
	expected := v.snap.Foretold(&chosen, metric)
	switch {
	case expected == nil:
		return "–"
	case t.SettingsChanged:
		return uncertain(expected.Mean, expected.SD, unit) + " at the settings chosen"
	}
	return uncertain(expected.Mean, expected.SD, unit)
}

// foreseen tells whether a trial's decision knew anything of a metric: a reading, and in which units the model works. Its numbers are the prior's
// alone where it did not.
func (v visit) foreseen(t *ledger.Trial, metric string) bool {
	read := slices.ContainsFunc(v.snap.Trials, func(other *ledger.Trial) bool {
		m, there := other.Metrics[metric]
		return there && m.ToldSeq <= t.Decision.Seen
	})
	return read && (!v.snap.Compiled().Config.Standardize || slices.ContainsFunc(v.snap.Fits, func(fit ledger.FittedData) bool {
		_, in := fit.Metrics[metric]
		return in && fit.From <= t.Number
	}))
}

func limitsText(d design.Definition, metric string) string {
	text := ""
	for _, c := range d.Constraints {
		if c.Metric == metric {
			if text != "" {
				text += ", "
			}
			text += limitText(c)
		}
	}
	return text
}

// decisionFacts are the numbers behind a decision.
func (v visit) decisionFacts(t *ledger.Trial) []templates.Fact {
	d, decision := v.snap.Definition, t.Decision
	if decision == nil {
		return nil
	}
	blind := slices.DeleteFunc(modelled(d), func(metric string) bool { return v.foreseen(t, metric) })
	facts := []templates.Fact{
		{Name: "Algorithm", Value: decision.Algorithm},
		{Name: "Decided from", Value: fmt.Sprintf("ledger entry %d", decision.Seen), Meaning: "the last one it saw"},
	}
	for _, metric := range modelled(d) {
		if slices.Contains(blind, metric) {
			facts = append(facts, templates.Fact{Name: "Predicted " + metric, Value: "nothing", Meaning: "no reading that the model could learn from yet"})
		} else if mean, there := decision.Mean[metric]; there {
			facts = append(facts, templates.Fact{Name: "Predicted " + metric, Value: uncertain(mean, decision.SD[metric], unitOf(d, metric)), Meaning: "posterior mean ± standard deviation at this point, without the noise of a reading"})
		}
		if beta, there := decision.Beta[metric]; there {
			facts = append(facts, templates.Fact{Name: "Width for " + metric + " (β)", Value: rough(beta), Meaning: "how many standard deviations of doubt it allowed for"})
		}
	}
	facts = append(facts, estimateFacts(d, decision, blind)...)
	if chance := decision.FeasibilityProbability; len(d.Constraints) > 0 && len(blind) == 0 && chance != nil {
		facts = append(facts, templates.Fact{Name: "Chance to stay within every limit", Value: percent(*chance)})
	}
	if w := decision.Works; w != nil {
		facts = append(facts, templates.Fact{Name: "Chance that it works", Value: percent(w.Chance), Meaning: fmt.Sprintf("%d of %d trials before it had failed because of their settings", w.Failed, w.Of)})
	}
	if decision.ExpectedImprovement != nil && !slices.Contains(blind, d.Objective.Metric) {
		facts = append(facts, templates.Fact{Name: "Expected improvement", Value: design.WithUnit(rough(*decision.ExpectedImprovement), unitOf(d, d.Objective.Metric), thin),
			Meaning: fmt.Sprintf("on average over trial %d, the best so far as the model sees it; a worse result counts as no improvement", decision.Incumbent)})
	}
	if decision.Acquisition != nil {
		facts = append(facts, templates.Fact{Name: "Score (acquisition)", Value: rough(*decision.Acquisition), Meaning: "what was maximised, modelled units"})
	}
	if decision.RunnerUp != nil {
		facts = append(facts, templates.Fact{Name: "Runner-up", Value: settingsLine(d, decision.RunnerUp.Parameters), Meaning: "score " + rough(decision.RunnerUp.Acquisition)})
	}
	return append(facts, templates.Fact{Name: "Random seed", Value: strconv.FormatUint(decision.RandomSeed, 10)}, templates.Fact{Name: "Engine", Value: decision.Engine, Meaning: "version of the optimizer"})
}

// estimateFacts are the estimates that a decision used, but of metrics that it was blind to.
func estimateFacts(d design.Definition, decision *ledger.Decision, blind []string) []templates.Fact {
	var facts []templates.Fact
	if x, there := decision.Estimates[d.Objective.Metric]; there && !slices.Contains(blind, d.Objective.Metric) {
		facts = append(facts, templates.Fact{Name: "Optimistic " + d.Objective.Metric, Value: rough(x), Meaning: "estimate used, modelled units"})
	}
	for _, c := range d.Constraints {
		if x, there := decision.LimitEstimate(d, c); there && !slices.Contains(blind, c.Metric) {
			facts = append(facts, templates.Fact{Name: "Estimate for " + c.Name, Value: rough(x), Meaning: "modelled units; 0 or less stays within the limit"})
		}
		if x, there := decision.Multipliers[c.Name]; there {
			facts = append(facts, templates.Fact{Name: "Multiplier of " + c.Name, Value: rough(x), Meaning: "the price of breaking the limit"})
		}
	}
	return facts
}

func modelTable(d design.Definition, decision *ledger.Decision) templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Metric"}, {Name: "Kernel"}, {Name: "Lengthscales"}, {Name: "Variance", Number: true}, {Name: "λ", Number: true}, {Name: "Centre", Number: true}, {Name: "Scale", Number: true}}}
	if decision == nil {
		return table
	}
	for _, metric := range modelled(d) {
		m, there := decision.Model[metric]
		if !there {
			continue
		}
		lengthscales := ""
		for i, l := range m.Lengthscales {
			if i > 0 {
				lengthscales += ", "
			}
			lengthscales += rough(l)
		}
		kernel := m.Kernel
		if m.Interaction > 0 {
			kernel += ", interaction " + rough(m.Interaction)
		}
		table.Rows = append(table.Rows, []string{metric, kernel, lengthscales, rough(m.Variance), rough(m.Lambda), rough(m.Centre), rough(m.Scale)})
	}
	return table
}
