package lab

import (
	"bytes"
	"context"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// served is a study on the service.
type served struct {
	service *study.Service
	created *ledger.Snapshot
}

var by = study.Command{By: "rehearsal"}

// begin imports the rows and tells what was read in them: a table has no place for standard deviations.
func (s served) begin(ctx context.Context, rows []*ledger.Trial, results []outcome) error {
	if len(rows) == 0 {
		return nil
	}
	var table bytes.Buffer
	if err := study.WriteCSV(&table, s.created.Definition, rows, nil); err != nil {
		return err
	}
	if _, err := s.service.ImportCSV(ctx, by, s.created.ID, &table, study.ImportOptions{}); err != nil {
		return err
	}
	return s.learn(ctx, results)
}

func (s served) choose(ctx context.Context, count int) ([]*ledger.Trial, error) {
	snap, numbers, err := s.service.Ask(ctx, by, s.created.ID, study.Ask{Count: &count})
	var trials []*ledger.Trial
	for _, n := range numbers {
		trials = append(trials, snap.Trial(n))
	}
	return trials, err
}

func (s served) learn(ctx context.Context, told []outcome) error {
	var results []study.NumberedTelling
	for _, o := range told {
		if o.Failed == "" {
			results = append(results, o.NumberedTelling)
		} else if _, err := s.service.Fail(ctx, by, s.created.ID, o.Number, ledger.Cause(o.Failed), "failed by "+string(o.Failed)); err != nil {
			return err
		}
	}
	if len(results) == 0 {
		return nil
	}
	_, err := s.service.TellMany(ctx, by, s.created.ID, results)
	return err
}

// answered is a study whose own simulated lab answers each trial.
type answered struct{ served }

func (a answered) choose(ctx context.Context, _ int) ([]*ledger.Trial, error) {
	lab, err := design.FindSimulatedLab(a.created.Definition.SimulatedLab)
	if err != nil {
		return nil, err
	}
	number, err := a.service.SimulateOne(ctx, by, lab, a.created.ID, study.DemoSlips...)
	if err != nil {
		return nil, err
	}
	snap, err := a.service.Snapshot(ctx, a.created.ID, 0)
	if err != nil {
		return nil, err
	}
	return []*ledger.Trial{snap.Trial(number)}, nil
}

// judge adds what the product says: its recommendations, how its predictions held, and what it had predicted of every trial.
func (s served) judge(ctx context.Context, record *Record) error {
	snap, err := s.service.Snapshot(ctx, s.created.ID, 0)
	if err != nil {
		return err
	}
	state, err := s.service.StateOf(ctx, snap)
	if err != nil {
		return err
	}
	record.Shown = map[string]study.Calibration{}
	for metric, shown := range state.Calibration {
		shown.Residuals = nil // one by one they belong to the page
		record.Shown[metric] = shown
	}
	for _, at := range lookAt {
		if len(record.Start) <= at && at < len(snap.Trials) {
			if err := s.look(ctx, record, snap, at); err != nil {
				return err
			}
		}
	}
	last, err := s.lookAt(ctx, snap, len(snap.Trials))
	if err != nil {
		return err
	}
	record.Looks = append(record.Looks, last)
	rows, err := s.service.HistoryOf(ctx, snap)
	if err != nil {
		return err
	}
	for i := range record.Asks {
		number := len(record.Start) + i + 1
		record.Asks[i].Ahead = predictions(snap, rows[number-1])
	}
	return nil
}

// predictions are what was predicted of a trial before it was chosen; nil where there was no model yet.
func predictions(snap *ledger.Snapshot, row study.HistoryRow) map[string]study.Predicted {
	var ahead map[string]study.Predicted
	for name, predicted := range row.Ahead {
		if predicted == nil || !modelled(snap, name, row.Number) {
			continue
		}
		if ahead == nil {
			ahead = map[string]study.Predicted{}
		}
		ahead[name] = *predicted
	}
	return ahead
}

// modelled tells whether predictions of the metric were made in its own units when the trial was chosen: with standardised outputs, none are before
// the first scale.
func modelled(snap *ledger.Snapshot, metric string, number int) bool {
	if snap.Definition.Model.Outputs != "standardize" {
		return true
	}
	for _, f := range snap.Fits {
		if f.From <= number && f.Metrics[metric].Count > 0 {
			return true
		}
	}
	return false
}
