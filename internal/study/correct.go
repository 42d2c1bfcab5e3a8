package study

import (
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
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	if !sensibleMetrics(base, c.Metrics) || !base.Compiled().Names(c.Parameters) || len(checkReason(c.Reason)) > 0 { // see sensible
		_, err := ruleCorrect(base, c)
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) {
		ruled, err := ruleCorrect(now, c)
		if err != nil {
			return ruled, err
		}
		return ruled.confirmedBy(cmd, func() []Doubt { return DoubtCorrection(now, now.Trial(c.Number), c) })
	})
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
		faults.Add("metrics", nil, "what is to be corrected? Give metrics or parameters")
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
	return ruling{drafts: []ledger.Draft{{Kind: ledger.Corrected, Data: data}}, numbers: []int{c.Number}}, refused
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
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) {
		if err := mayConfirm(now, number); err != nil {
			return ruling{}, err
		}
		if len(now.Trial(number).Doubts) == 0 {
			return ruling{}, conflict("Nothing about trial %d is in doubt.", number)
		}
		return ruling{drafts: []ledger.Draft{{Kind: ledger.Confirmed, Data: ledger.ConfirmedData{Number: number}}}, numbers: []int{number}}, nil
	})
	return after, err
}

func mayConfirm(snap *ledger.Snapshot, number int) error {
	if err := mayTell(snap); err != nil {
		return err
	}
	if snap.Trial(number) == nil {
		return notFound("%s", noSuchTrial(snap, number))
	}
	return nil
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
	base, err := s.recent(ctx, id)
	if err != nil {
		return nil, err
	}
	after, _, err := s.write(ctx, cmd, base, func(now *ledger.Snapshot) (ruling, error) { return ruleClose(now, kind, data) })
	return after, err
}

func ruleClose(snap *ledger.Snapshot, kind ledger.Kind, data ledger.ClosedData) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	trial := snap.Trial(data.Number)
	if trial == nil {
		return ruling{}, notFound("%s", noSuchTrial(snap, data.Number))
	}
	if err := checkClosing(kind, data).Err(); err != nil {
		return ruling{}, err
	}
	if err := mayClose(trial, kind, data.Cause); err != nil {
		return ruling{}, err
	}
	return ruling{drafts: []ledger.Draft{{Kind: kind, Data: data}}, numbers: []int{data.Number}}, nil
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
