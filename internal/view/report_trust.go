package view

import (
	"fmt"
	"strconv"

	"headroom/internal/figure"
	"headroom/internal/study"
)

// trustLines say how far the model's bands can be trusted, and whether the process has drifted.
func (v Facts) trustLines() []string {
	shown := v.trust()
	lines := append([]string{shown.Summary}, shown.Calibrations...)
	for _, d := range shown.Drifts {
		lines = append(lines, "Drift: "+d.Text)
	}
	return lines
}

// driftSketches are each metric's readings against their predictions, with the sums that tell a drift.
func (v Facts) driftSketches() []Figure {
	var list []Figure
	for _, metric := range v.metricsShown() {
		residuals := v.Readout.Calibration[metric].Residuals
		if len(residuals) < fewPredictions {
			continue
		}
		d := drifting{study.DriftOf(residuals), metric}
		up, down := figure.Curve{Step: true}, figure.Curve{Step: true, Style: figure.Dashed}
		var marks points
		for i, number := range d.Numbers {
			x := float64(number)
			up.X, up.Y = append(up.X, x), append(up.Y, d.Up[i])
			down.X, down.Y = append(down.X, x), append(down.Y, -d.Down[i])
			marks.add(figure.Ring, x, d.Residuals[i])
		}
		ends := []float64{0.5, float64(len(v.Snap.Trials)) + 0.5}
		chart := figure.Chart{X: v.overTrials(), Y: figure.Axis{Name: "standard deviations"}, Height: 2, Curves: []figure.Curve{thinCurve(up), thinCurve(down)},
			Threshold: &figure.Threshold{X: ends, Y: []float64{study.CUSUMLimit, study.CUSUMLimit}, Label: strconv.Itoa(study.CUSUMLimit), Above: true}}
		var outside int
		chart.Y.Low, chart.Y.High, outside = figure.Robust(d.Residuals, append(append([]float64{study.CUSUMLimit + 1, -study.CUSUMLimit - 1}, up.Y...), down.Y...)...)
		caption := fmt.Sprintf("Rings: a reading minus what was predicted for it, in standard deviations of a reading. Lines: its sum on one side (CUSUM), up and (dashed) down; beyond %d or −%d the process has probably drifted: "+
			"one that stands gets there by chance about once in %d readings. %s", study.CUSUMLimit, study.CUSUMLimit, study.CUSUMFalseAlarm, d.inWords())
		list = append(list, v.overTrialsSketch("Has "+metric+" drifted?", caption, chart, &marks, outside))
	}
	return list
}
