package main

import (
	"headroom/internal/figure"
	"headroom/internal/lab"
)

// sharesFigure draws, for each problem where anything is feasible, the share of the best feasible value found after each ask: mean and standard error
// over the seeds.
func (r rehearsing) sharesFigure(all []contest) figure.Figure {
	f := figure.Figure{Title: "share of the best feasible value found"}
	for _, c := range all {
		if !c.Problem.Scale.Any {
			continue
		}
		panel := figure.Panel{X: "asks", Y: c.Name}
		for _, a := range r.algorithms {
			panel.Lines = append(panel.Lines, shareLine(a.label, c.Problem, c.records[a.label]))
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

func shareLine(label string, p *lab.Problem, records []*lab.Record) figure.Line {
	line := figure.Line{Name: label}
	if len(records) > 1 {
		line.Band = []float64{}
	}
	shares := make([][]float64, len(records))
	for i, record := range records {
		shares[i] = lab.Shares(p, record)
	}
	for t := range shares[0] {
		column := make([]float64, len(shares))
		for i := range shares {
			column[i] = shares[i][t]
		}
		e := lab.EstimateOf(column)
		line.X, line.Y = append(line.X, float64(t+1)), append(line.Y, e.Mean)
		if line.Band != nil {
			line.Band = append(line.Band, e.Error)
		}
	}
	return line
}
