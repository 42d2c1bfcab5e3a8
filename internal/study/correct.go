package study

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Correction changes what was told. A nil reading takes the value back.
type Correction struct {
	Number     int                        `json:"-"`
	Metrics    map[string]*ledger.Reading `json:"metrics,omitempty"`
	Parameters design.Settings            `json:"parameters,omitempty"`
	Reason     string                     `json:"reason"`
}

// Correct changes what was told of a trial. The ledger keeps both values and the reason.
func (s *Service) Correct(ctx context.Context, cmd Command, id string, c Correction) (*ledger.Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	if !sensibleMetrics(base, c.Metrics) || !base.Compiled().Names(c.Parameters) || len(checkReason(c.Reason)) > 0 { // see sensible
		_, err := ruleCorrect(base, c)
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) { return ruleCorrect(now, c) })
	return after, err
}

func ruleCorrect(snap *ledger.Snapshot, c Correction) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	trial := snap.Trial(c.Number)
	if trial == nil {
		return ruling{}, notFound("%s", noSuchTrial(snap, c.Number))
	}
	data := ledger.CorrectedData{Number: c.Number, Reason: c.Reason}
	faults := checkReason(c.Reason)
	if len(c.Metrics) == 0 && c.Parameters == nil {
		faults.Add("body.metrics", nil, "what is to be corrected? Give metrics or parameters")
	}
	var refused error
	for _, name := range sortedKeys(c.Metrics) {
		if faults.Full() {
			break
		}
		value, wrong, err := correctedValue(snap, trial, name, c.Metrics[name])
		faults = append(faults, wrong...)
		if refused == nil {
			refused = err
		}
		if data.Metrics == nil {
			data.Metrics = map[string]ledger.CorrectedValue{}
		}
		data.Metrics[name] = value
	}
	if c.Parameters != nil {
		used, wrong := settingsUsed(snap, trial, c.Parameters, "body")
		faults = append(faults, wrong...)
		if len(wrong) == 0 && maps.Equal(used.settings, trial.Parameters) {
			faults.Add("body.parameters", nil, "these are the settings already kept")
		}
		data.Parameters = &ledger.CorrectedSettings{Before: trial.Parameters, After: used.settings}
		data.Candidate, data.KnownValues = used.candidate, used.known
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruling{drafts: []ledger.Draft{{Kind: ledger.Corrected, Data: data}}, numbers: []int{c.Number}}, refused
}

func correctedValue(snap *ledger.Snapshot, trial *ledger.Trial, name string, after *ledger.Reading) (ledger.CorrectedValue, design.Faults, error) {
	faults := checkMetricName(snap, name, "body")
	if after != nil {
		faults = append(faults, checkReading(*after, "body.metrics."+design.Shorten(name))...)
	}
	if len(faults) > 0 {
		return ledger.CorrectedValue{}, faults, nil
	}
	if err := mustBeTold(snap, name); err != nil {
		return ledger.CorrectedValue{}, nil, err
	}
	m, told := trial.Metrics[name]
	if !told {
		return ledger.CorrectedValue{}, nil, conflict("%s of trial %d has not been told, so there is nothing to correct. Tell it instead.", name, trial.Number)
	}
	if after != nil && m.Reads(*after) {
		return ledger.CorrectedValue{}, design.Faults{{Location: "body.metrics." + name, Message: design.FormatNumber(m.Value) + " is the value already kept", Value: after.Value}}, nil
	}
	return ledger.CorrectedValue{Before: &ledger.Reading{Value: m.Value, StdDev: m.StdDev}, After: after}, nil, nil
}

// Close ends or sets aside a trial: kind is Failed, Abandoned, Excluded or Included.
func (s *Service) Close(ctx context.Context, cmd Command, id string, kind ledger.Kind, number int, reason string) (*ledger.Snapshot, error) {
	if err := checkReason(reason).Err(); err != nil {
		return nil, err
	}
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) { return ruleClose(now, kind, number, reason) })
	return after, err
}

func ruleClose(snap *ledger.Snapshot, kind ledger.Kind, number int, reason string) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	trial := snap.Trial(number)
	if trial == nil {
		return ruling{}, notFound("%s", noSuchTrial(snap, number))
	}
	if err := checkReason(reason).Err(); err != nil {
		return ruling{}, err
	}
	if err := mayClose(trial, kind); err != nil {
		return ruling{}, err
	}
	return ruling{drafts: []ledger.Draft{{Kind: kind, Data: ledger.ClosedData{Number: number, Reason: reason}}}, numbers: []int{number}}, nil
}

func mayClose(trial *ledger.Trial, kind ledger.Kind) error {
	switch kind {
	case ledger.Failed, ledger.Abandoned:
		if trial.Status == ledger.StatusCompleted {
			return conflict("Trial %d is completed. To leave its results out, exclude it.", trial.Number)
		}
		if !trial.Waiting() {
			return conflict("Trial %d is %s already.", trial.Number, trial.Status)
		}
	case ledger.Excluded:
		if trial.Excluded {
			return conflict("Trial %d is excluded already.", trial.Number)
		}
	case ledger.Included:
		if !trial.Excluded {
			return conflict("Trial %d is not excluded.", trial.Number)
		}
	default:
		return fmt.Errorf("study: a trial is not closed by a %s event", kind)
	}
	return nil
}

// sortedKeys makes what people are told independent of the order of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
