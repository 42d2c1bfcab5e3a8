package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// NumberedTelling is a telling among several.
type NumberedTelling struct {
	Number int `json:"number"`
	ledger.Telling
}

// Tell reports results of one trial.
func (s *Service) Tell(ctx context.Context, cmd Command, id string, number int, told ledger.Telling) (*ledger.Snapshot, error) {
	return s.tell(ctx, cmd, id, []NumberedTelling{{number, told}}, func(now *ledger.Snapshot) (ruling, error) {
		ruled, err := ruleTell(now, number, told)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtTelling(now, now.Trial(number), told) })
	})
}

// TellMany reports results of several trials: all of them are stored, or none.
func (s *Service) TellMany(ctx context.Context, cmd Command, id string, told []NumberedTelling) (*ledger.Snapshot, error) {
	return s.tell(ctx, cmd, id, told, func(now *ledger.Snapshot) (ruling, error) { return ruleTellMany(now, told) })
}

func (s *Service) tell(ctx context.Context, cmd Command, id string, told []NumberedTelling, rule func(now *ledger.Snapshot) (ruling, error)) (*ledger.Snapshot, error) {
	sensible := func(base *ledger.Snapshot) bool {
		return len(told) <= mostTellings && !slices.ContainsFunc(told, func(t NumberedTelling) bool {
			return !hasAll(base, t.Metrics, t.Parameters) || len(checkNote(t.Note)) > 0
		})
	}
	return s.change(ctx, cmd, id, sensible, rule)
}

func ruleTell(snap *ledger.Snapshot, number int, told ledger.Telling) (ruling, error) {
	trial, err := mayTellOf(snap, number)
	if err != nil {
		return ruling{}, err
	}
	data, faults, refused := checkTelling(snap, trial, told, nil)
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruleOf(ledger.Told, number, data), refused
}

// ruleTellMany accepts results of trials, each in turn, or none of them.
func ruleTellMany(snap *ledger.Snapshot, told []NumberedTelling) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	switch n := len(told); {
	case n == 0:
		return ruling{}, design.NewInvalid("trials", "at least one trial is needed", nil)
	case n > mostTellings:
		return ruling{}, design.NewInvalid("trials", fmt.Sprintf("results of %d trials are told; at most %d are possible in one request", n, mostTellings), n)
	}
	var ruled ruling
	var faults design.Faults
	var refused error
	before := map[int]map[string]bool{} // metrics told earlier in the same request
	for i, telling := range told {
		if faults.Full() {
			break
		}
		at := fmt.Sprintf("trials[%d]", i)
		trial := snap.Trial(telling.Number)
		if trial == nil {
			faults.Add(at+".number", telling.Number, "%s", noSuchTrial(snap, telling.Number))
			continue
		}
		data, wrong, err := checkTelling(snap, trial, telling.Telling, before[trial.Number])
		faults = append(faults, wrong.Within(at)...)
		if before[trial.Number] == nil {
			before[trial.Number] = map[string]bool{}
		}
		for name := range telling.Metrics {
			before[trial.Number][name] = true
		}
		refused = cmp.Or(refused, err)
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: data})
		if !slices.Contains(ruled.numbers, trial.Number) {
			ruled.numbers = append(ruled.numbers, trial.Number)
		}
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruled, refused
}

// checkTelling returns the event's data, what is wrong with the telling itself, and what stands
// against it as the study is. before names the metrics of the trial that the same request has told
// already.
func checkTelling(snap *ledger.Snapshot, trial *ledger.Trial, t ledger.Telling, before map[string]bool) (ledger.ToldData, design.Faults, error) {
	if t.ObservedAt != nil {
		t.ObservedAt = new(t.ObservedAt.UTC())
	}
	data := ledger.ToldData{Number: trial.Number, Telling: t}
	faults := checkNote(t.Note)
	if len(t.Metrics) == 0 && t.Parameters == nil && t.Note == "" {
		faults.Add("metrics", nil, "at least one metric is needed")
	}
	var refused error
	for _, name := range sortedKeys(t.Metrics) {
		if faults.Full() {
			break
		}
		wrong, err := checkMetric(snap, trial, name, t.Metrics[name], before[name])
		faults = append(faults, wrong...)
		refused = cmp.Or(refused, err)
	}
	if t.Parameters != nil {
		used, wrong := settingsUsed(snap, trial, t.Parameters)
		faults = append(faults, wrong...)
		data.Parameters, data.Candidate, data.KnownValues = used.settings, used.candidate, used.known
	}
	return data, faults, refused
}

func checkMetric(snap *ledger.Snapshot, trial *ledger.Trial, name string, reading ledger.Reading, again bool) (design.Faults, error) {
	faults := checkMetricName(snap, name)
	faults = append(faults, checkReading(name, reading)...)
	if len(faults) > 0 {
		return faults, nil
	}
	if err := mustBeTold(snap, name); err != nil {
		return nil, err
	}
	if _, told := trial.Metrics[name]; told || again {
		return nil, conflict("%s of trial %d has been told already. To change it, use the corrections of the trial.", name, trial.Number)
	}
	return nil, nil
}
