package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"

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
	sensible := func(base *ledger.Snapshot) bool {
		return hasAll(base, c.Metrics, c.Parameters) && len(checkReason(c.Reason)) == 0
	}
	return s.change(ctx, cmd, id, sensible, func(now *ledger.Snapshot) (ruling, error) {
		ruled, err := ruleCorrect(now, c)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtCorrection(now, now.Trial(c.Number), c) })
	})
}

func ruleCorrect(snap *ledger.Snapshot, c Correction) (ruling, error) {
	trial, err := mayTellOf(snap, c.Number)
	if err != nil {
		return ruling{}, err
	}
	data := ledger.CorrectedData{Number: c.Number, Reason: c.Reason}
	faults := checkReason(c.Reason)
	if len(c.Metrics) == 0 && c.Parameters == nil {
		faults.Add("metrics", nil, "what is to be corrected? Give metrics or parameters")
	}
	var refused error
	for _, name := range sortedKeys(c.Metrics) {
		if faults.Full() {
			break
		}
		value, wrong, err := correctedValue(snap, trial, name, c.Metrics[name])
		faults = append(faults, wrong...)
		refused = cmp.Or(refused, err)
		if data.Metrics == nil {
			data.Metrics = map[string]ledger.CorrectedValue{}
		}
		data.Metrics[name] = value
	}
	if c.Parameters != nil {
		used, wrong := settingsUsed(snap, trial, c.Parameters)
		faults = append(faults, wrong...)
		if len(wrong) == 0 && maps.Equal(used.settings, trial.Parameters) {
			faults.Add("parameters", nil, "these are the settings already kept")
		}
		data.Parameters = &ledger.CorrectedSettings{Before: trial.Parameters, After: used.settings}
		data.Candidate, data.KnownValues = used.candidate, used.known
	}
	if err := faults.Err(); err != nil {
		return ruling{}, err
	}
	return ruleOf(ledger.Corrected, c.Number, data), refused
}

func correctedValue(snap *ledger.Snapshot, trial *ledger.Trial, name string, after *ledger.Reading) (ledger.CorrectedValue, design.Faults, error) {
	faults := checkMetricName(snap, name)
	if after != nil {
		faults = append(faults, checkReading(name, *after)...)
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
		return ledger.CorrectedValue{}, design.Faults{{Field: "metrics." + name, Message: design.FormatNumber(m.Value) + " is the value already kept", Value: after.Value}}, nil
	}
	return ledger.CorrectedValue{Before: &ledger.Reading{Value: m.Value, StdDev: m.StdDev}, After: after}, nil, nil
}

// Confirm says that what is doubted of a trial is right. It stays said.
func (s *Service) Confirm(ctx context.Context, cmd Command, id string, number int) (*ledger.Snapshot, error) {
	return s.change(ctx, cmd, id, always, func(now *ledger.Snapshot) (ruling, error) {
		trial, err := mayTellOf(now, number)
		if err == nil && len(trial.Doubts) == 0 {
			err = conflict("Nothing about trial %d is in doubt.", number)
		}
		return ruleOf(ledger.Confirmed, number, ledger.ConfirmedData{Number: number}), err
	})
}

// Close ends or sets aside a trial: kind is Failed (because of its settings), Abandoned, Excluded
// or Included.
func (s *Service) Close(ctx context.Context, cmd Command, id string, kind ledger.Kind, number int, reason string) (*ledger.Snapshot, error) {
	data := ledger.ClosedData{Number: number, Reason: reason}
	if kind == ledger.Failed {
		data.Cause = ledger.BySettings
	}
	return s.close(ctx, cmd, id, kind, data)
}

// Fail ends a trial that failed. Failing it again with another cause corrects the first.
func (s *Service) Fail(ctx context.Context, cmd Command, id string, number int, cause ledger.Cause, reason string) (*ledger.Snapshot, error) {
	return s.close(ctx, cmd, id, ledger.Failed, ledger.ClosedData{Number: number, Reason: reason, Cause: cause})
}

func (s *Service) close(ctx context.Context, cmd Command, id string, kind ledger.Kind, data ledger.ClosedData) (*ledger.Snapshot, error) {
	if err := checkClosing(kind, data).Err(); err != nil {
		return nil, err
	}
	return s.change(ctx, cmd, id, always, func(now *ledger.Snapshot) (ruling, error) { return ruleClose(now, kind, data) })
}

func ruleClose(snap *ledger.Snapshot, kind ledger.Kind, data ledger.ClosedData) (ruling, error) {
	trial, err := mayTellOf(snap, data.Number)
	if err != nil {
		return ruling{}, err
	}
	if err := checkClosing(kind, data).Err(); err != nil {
		return ruling{}, err
	}
	return ruleOf(kind, data.Number, data), mayClose(trial, kind, data.Cause)
}

// checkClosing finds what is wrong with what is said of a closing.
func checkClosing(kind ledger.Kind, data ledger.ClosedData) design.Faults {
	faults := checkReason(data.Reason)
	switch {
	case kind == ledger.Failed && !data.Cause.Known():
		faults.Add("cause", data.Cause, "was it the settings or chance? Give settings or chance")
	case kind != ledger.Failed && data.Cause != "":
		faults.Add("cause", data.Cause, "only what failed has a cause")
	}
	return faults
}

func mayClose(trial *ledger.Trial, kind ledger.Kind, cause ledger.Cause) error {
	switch kind {
	case ledger.Failed, ledger.Abandoned:
		if trial.Status == ledger.StatusCompleted {
			return conflict("Trial %d is completed. To leave its results out, exclude it.", trial.Number)
		}
		if !trial.Waiting() && trial.Status == ledger.Status(kind) && trial.Cause == cause {
			return conflict("Trial %d is %s already.", trial.Number, ended(trial))
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

// ended says how a trial ended that waits no more.
func ended(trial *ledger.Trial) string {
	switch trial.Cause {
	case ledger.BySettings:
		return "failed because of its settings"
	case ledger.ByChance:
		return "failed by chance"
	}
	return string(trial.Status)
}

// DoubtCorrection judges what a correction puts in place of what was told.
func DoubtCorrection(snap *ledger.Snapshot, trial *ledger.Trial, c Correction) []Doubt {
	readings := map[string]ledger.Reading{}
	for name, after := range c.Metrics {
		if after != nil {
			readings[name] = *after
		}
	}
	return DoubtTelling(snap, trial, ledger.Telling{Metrics: readings, Parameters: c.Parameters})
}
