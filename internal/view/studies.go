package view

import (
	"fmt"
	"strconv"
	"time"

	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Line is a study in the list of studies.
func Line(one ledger.Summary, now time.Time) templates.StudyLine {
	line := templates.StudyLine{ID: one.ID, Name: one.Name, State: string(one.State), Trials: words.Count(one.Trials, "trial", "trials"), Algorithm: Algorithm(one.Algorithm).Title,
		Updated: Stamp(one.UpdatedAt, now), Oldest: OptionalStamp(one.OldestWaiting, now), Simulated: one.SimulatedLab != ""}
	if one.Waiting > 0 {
		line.Waiting = strconv.Itoa(one.Waiting) + " waiting"
	}
	if one.Best != nil {
		line.Best = fmt.Sprintf("best reading of %s %s at trial %d", one.Best.Metric, words.Quantity(one.Best.Value, one.Best.Unit), one.Best.Number)
	}
	for _, limit := range one.Limits {
		line.Limits = append(line.Limits, limit.Metric+" "+words.Sign(limit.Op)+" "+words.Quantity(limit.Threshold, limit.Unit))
	}
	if one.Known > 0 && len(one.Limits) > 0 {
		line.Feasible, line.FeasibleMark = fmt.Sprintf("feasible %d of %d", one.Feasible, one.Known), string(chart.Feasible)
		if one.Feasible == 0 {
			line.FeasibleMark = string(chart.Violated)
		}
	}
	return line
}
