package study

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Correction changes what was told. A nil reading takes the value back.
type Correction struct {
	Number     int                 `json:"number"`
	Metrics    map[string]*Reading `json:"metrics,omitempty"`
	Parameters Settings            `json:"parameters,omitempty"`
	Reason     string              `json:"reason"`
}

// Correct changes what was told of a trial. The ledger keeps both values and the reason.
func (s *Service) Correct(ctx context.Context, cmd Command, id string, c Correction) (*Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *Snapshot) (ruling, error) { return ruleCorrect(now, c) })
	return after, err
}

func ruleCorrect(snap *Snapshot, c Correction) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	trial := snap.Trial(c.Number)
	if trial == nil {
		return ruling{}, notFound("%s", noSuchTrial(snap, c.Number))
	}
	data := CorrectedData{Number: c.Number, Reason: c.Reason}
	faults := checkReason(c.Reason)
	if len(c.Metrics) == 0 && c.Parameters == nil {
		faults = append(faults, Fault{"body.metrics", "what is to be corrected? Give metrics or parameters", nil})
	}
	var refused error
	for _, name := range sortedKeys(c.Metrics) {
		value, wrong, err := correctedValue(snap, trial, name, c.Metrics[name])
		faults = append(faults, wrong...)
		if refused == nil {
			refused = err
		}
		if data.Metrics == nil {
			data.Metrics = map[string]CorrectedValue{}
		}
		data.Metrics[name] = value
	}
	if c.Parameters != nil {
		used, wrong := settingsUsed(snap, trial, c.Parameters, "body")
		faults = append(faults, wrong...)
		if len(wrong) == 0 && maps.Equal(used.settings, trial.Parameters) {
			faults = append(faults, Fault{"body.parameters", "these are the settings already kept", nil})
		}
		data.Parameters = &CorrectedSettings{Before: trial.Parameters, After: used.settings}
		data.Candidate, data.KnownValues = used.candidate, used.known
	}
	if err := invalid(faults); err != nil {
		return ruling{}, err
	}
	return ruling{[]draft{{Corrected, data}}, []int{c.Number}}, refused
}

func correctedValue(snap *Snapshot, trial *Trial, name string, after *Reading) (CorrectedValue, []Fault, error) {
	faults := checkMetricName(snap, name, "body")
	if after != nil {
		faults = append(faults, checkReading(*after, "body.metrics."+name)...)
	}
	if len(faults) > 0 {
		return CorrectedValue{}, faults, nil
	}
	if err := mustBeTold(snap, name); err != nil {
		return CorrectedValue{}, nil, err
	}
	m, told := trial.Metrics[name]
	if !told {
		return CorrectedValue{}, nil, conflict("%s of trial %d has not been told, so there is nothing to correct. Tell it instead.", name, trial.Number)
	}
	if after != nil && m.reads(*after) {
		return CorrectedValue{}, []Fault{{"body.metrics." + name, fmt.Sprintf("%s is the value already kept", FormatNumber(m.Value)), after.Value}}, nil
	}
	return CorrectedValue{Before: &Reading{m.Value, m.StdDev}, After: after}, nil, nil
}

// Close ends or sets aside a trial: kind is Failed, Abandoned, Excluded or Included.
func (s *Service) Close(ctx context.Context, cmd Command, id string, kind Kind, number int, reason string) (*Snapshot, error) {
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *Snapshot) (ruling, error) { return ruleClose(now, kind, number, reason) })
	return after, err
}

func ruleClose(snap *Snapshot, kind Kind, number int, reason string) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	trial := snap.Trial(number)
	if trial == nil {
		return ruling{}, notFound("%s", noSuchTrial(snap, number))
	}
	if err := invalid(checkReason(reason)); err != nil {
		return ruling{}, err
	}
	if err := mayClose(trial, kind); err != nil {
		return ruling{}, err
	}
	return ruling{[]draft{{kind, ClosedData{number, reason}}}, []int{number}}, nil
}

func mayClose(trial *Trial, kind Kind) error {
	switch kind {
	case Failed, Abandoned:
		if trial.Status == StatusCompleted {
			return conflict("Trial %d is completed. To leave its results out, exclude it.", trial.Number)
		}
		if !trial.Waiting() {
			return conflict("Trial %d is %s already.", trial.Number, trial.Status)
		}
	case Excluded:
		if trial.Excluded {
			return conflict("Trial %d is excluded already.", trial.Number)
		}
	case Included:
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
