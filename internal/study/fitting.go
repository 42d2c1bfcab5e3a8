package study

import (
	"context"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
)

// fit makes the fit that is due at snap, however long that takes: which decision it serves first
// follows from the ledger alone, not from how busy the machine is. An ask, and whoever looks at
// what would be expected, share it. Where none can be made it returns nil, and the model stays as
// it was.
func (s *Models) fit(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*ledger.FittedData, error) {
	return derived.Lasting(ctx, s.Derived, snap, fitOf, func(ctx context.Context) (*ledger.FittedData, error) {
		fit, err := compute(ctx, s.Derived, snap.ID, state.FitNow)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		made := fittedData(snap, fit)
		if err == nil {
			err = checkFit(snap, *made)
		}
		if err != nil {
			s.log.Warn("no fit could be made", "study", snap.ID, "version", snap.Version, "error", err)
			return nil, nil
		}
		return made, nil
	})
}

// fittedData keys a fit by metric.
func fittedData(snap *ledger.Snapshot, fit optimizer.Fit) *ledger.FittedData {
	c := snap.Compiled()
	data := &ledger.FittedData{From: fit.From, Seen: snap.Version, Engine: optimizer.Engine, Metrics: map[string]ledger.FittedMetric{}}
	for k, m := range fit.Metrics {
		if !m.Set {
			continue
		}
		data.Metrics[c.MetricNames[k]] = ledger.FittedMetric{
			Kernel: c.Config.Metrics[k].Kernel.Name, Inputs: c.Def.Model.Inputs, Outputs: c.Def.Model.Outputs,
			Centre: m.Centre, Scale: m.Scale, Lengthscales: m.Lengthscales, Lambda: m.Lambda, Variance: m.Variance, Interaction: m.Interaction,
			Warp: ledger.WarpOf(m.Warp), Told: m.Told, Inflation: m.Inflation, Freedom: m.Freedom, Count: m.Count,
			NoiseBySetting: ledger.NoisesOf(m.Settings), WrongReadings: ledger.NoisesOf(m.Wrong),
		}
	}
	return data
}
