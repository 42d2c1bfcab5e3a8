package study

import (
	"context"
	"slices"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/cores"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// HistoryRow is one round of a study.
type HistoryRow struct {
	Number          int                             `json:"number"`
	Origin          ledger.Origin                   `json:"origin"`
	Status          ledger.Status                   `json:"status"`
	Excluded        bool                            `json:"excluded"`
	Feasible        *bool                           `json:"feasible"`
	Parameters      design.Settings                 `json:"parameters"`
	Values          map[string]float64              `json:"values"`
	Beta            map[string]float64              `json:"beta"`
	Multipliers     map[string]float64              `json:"multipliers"`
	Horizon         int                             `json:"horizon,omitempty"` // T of the algorithm's constants, absent where it is the number of trials planned
	Ahead           map[string]*optimizer.Predicted `json:"ahead"`             // one-step-ahead, with noise; null for a metric never read
	InformationGain map[string]float64              `json:"information_gain"`
	Violation       map[string]ViolationOut         `json:"violation"`        // running
	Regret          *RegretOut                      `json:"regret,omitempty"` // likewise; absent where the algorithm draws no bound on it
}

// HistoryOf tells, round by round, what was chosen, read and believed.
func (s *Models) HistoryOf(ctx context.Context, snap *ledger.Snapshot) ([]HistoryRow, error) {
	state, err := s.state(ctx, snap)
	if err != nil {
		return nil, err
	}
	var trace []optimizer.RoundTrace
	var running [][]optimizer.Violation
	var regret []float64
	err = s.Derived.Compute(ctx, snap.ID, func(ctx context.Context) (err error) {
		if trace, err = state.Trace(ctx); err != nil {
			return err
		}
		if running, err = state.ViolationTrace(ctx); err != nil {
			return err
		}
		regret, err = state.RegretBounds(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	readout, err := s.StateOf(ctx, snap)
	if err != nil {
		return nil, err
	}
	bounds := boundsOf(snap, readout) // as they stand now: what breaks a proof breaks it for every row
	rows := make([]HistoryRow, len(snap.Trials))
	return rows, cores.Stretches(len(rows), func(from, to int) error {
		for i := from; i < to; i++ {
			rows[i] = historyRow(snap, i, trace[i], bounds.unread)
			rows[i].Violation = bounds.violations(snap, running[i])
			if regret != nil {
				rows[i].Regret = bounds.regret(regret[i])
			}
		}
		return nil
	})
}

func historyRow(snap *ledger.Snapshot, i int, trace optimizer.RoundTrace, unread []string) HistoryRow {
	t, c := snap.Trials[i], snap.Compiled()
	row := HistoryRow{
		Number: t.Number, Origin: t.Origin, Status: t.Status, Excluded: t.Excluded, Feasible: t.Feasible, Parameters: t.Parameters,
		Values: map[string]float64{}, Ahead: map[string]*optimizer.Predicted{}, Beta: keyed(c.MetricNames, trace.Beta),
		Multipliers: keyed(c.ConstraintNames, trace.Multipliers), InformationGain: keyed(c.MetricNames, trace.InformationGain), Horizon: trace.Horizon,
	}
	for name, m := range t.Metrics {
		row.Values[name] = m.Value
	}
	for k, p := range trace.Ahead {
		switch name := c.MetricNames[k]; {
		case slices.Contains(unread, name):
			row.Ahead[name] = nil
		case design.Finite(p.Mean) && design.Finite(p.SD):
			row.Ahead[name] = &p
		}
	}
	return row
}
