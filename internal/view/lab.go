package view

import (
	"fmt"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// LabRun is how far a study's simulated lab is with what it was last asked for.
type LabRun struct {
	study.Run
	Known bool
}

// Lab is the panel of a study's simulated lab; it is empty where a real one measures.
func (v Facts) Lab() templates.Lab {
	d := v.Snap.Definition
	panel := templates.Lab{Study: v.Head, Problem: d.SimulatedLab, Going: v.Run.Going}
	lab, err := design.FindSimulatedLab(d.SimulatedLab)
	if err != nil {
		return panel
	}
	panel.Summary = lab.Summary()
	for _, metric := range tableMetrics(d) {
		if sd := lab.StdDev()[metric]; sd > 0 {
			panel.Noise = append(panel.Noise, metric+" ± "+words.Quantity(sd, UnitOf(d, metric)))
		}
	}
	wanted := words.Count(v.Run.Wanted, "trial", "trials")
	switch {
	case !v.Run.Known:
	case v.Run.Going:
		panel.Text = fmt.Sprintf("It is at work: %d of %s read.", v.Run.Read, wanted)
	case v.Run.Trouble != "":
		panel.Text = fmt.Sprintf("It ended after %d of %s: %s", v.Run.Read, wanted, v.Run.Trouble)
	case v.Run.Stopped:
		panel.Text = fmt.Sprintf("It was stopped after %d of %s.", v.Run.Read, wanted)
	default:
		panel.Text = fmt.Sprintf("It has run %s.", wanted)
	}
	return panel
}
