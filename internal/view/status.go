package view

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Status is the strip on top.
func (v Facts) Status() templates.Status {
	d := v.Snap.Definition
	summary := v.Snap.Summary()
	strip := templates.Status{Study: v.Head, Version: v.Snap.Version, Still: v.At > 0 || v.Paper, Trial: fmt.Sprintf("trial %d of %d", summary.Trials, d.Algorithm.Horizon)}
	if summary.Trials == 0 {
		strip.Trial = fmt.Sprintf("no trials yet, %d planned", d.Algorithm.Horizon)
	}
	if summary.Waiting > 0 {
		strip.Waiting = strconv.Itoa(summary.Waiting) + " waiting"
		strip.Oldest = v.stamp(*summary.OldestWaiting)
	}
	if v.Head.Operates && !strip.Still {
		strip.Found = Findings(v.Head, study.Health(v.Snap))
	}
	strip.Doubtful, strip.MoreDoubtful = v.inDoubt()
	if feasible, known := v.Snap.Feasibility(); known > 0 && limited(v.Snap.Definition) {
		strip.Feasible = strconv.Itoa(feasible) + " of " + strconv.Itoa(known) + " within every limit"
	}
	switch {
	case summary.Trials == 0 || v.Working:
	case v.Modelless != "":
		strip.Notes = append(study.Notes(v.Snap), v.Modelless)
	default:
		strip.Notes = v.Readout.Notes
		if v.fitComes() {
			strip.Fitting = "model is " + words.Either(len(v.Snap.Fits) == 0, "fitted", "refitted") + " with the next ask"
		}
	}
	return strip
}

// Findings are what is found in a study, each with the way to what helps.
func Findings(head templates.StudyHead, found []study.Finding) []templates.Finding {
	var shown []templates.Finding
	for _, f := range found {
		shown = append(shown, templates.Finding{Says: f.Says, Offer: head.URL("/reconfigure?log=" + url.QueryEscape(f.Parameter))})
	}
	return shown
}

// inDoubt are the trials with something that nobody has confirmed yet, the first of them; more says
// how many others there are.
func (v Facts) inDoubt() (shown []templates.Doubtful, more string) {
	n := 0
	for _, t := range v.Snap.Trials {
		if len(t.Doubts) == 0 || t.Excluded {
			continue
		}
		if n++; n <= mostInDoubt {
			shown = append(shown, v.Of(t).inDoubt())
		}
	}
	if n > mostInDoubt {
		more = words.Count(n-mostInDoubt, "more trial is", "more trials are") + " in doubt; their pages say why."
	}
	return shown, more
}

// mostInDoubt is how many trials in doubt stand at the top of the page.
const mostInDoubt = 3

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
		line.Feasible = fmt.Sprintf("feasible %d of %d", one.Feasible, one.Known)
		line.FeasibleMark = string(words.Either(one.Feasible == 0, chart.Violated, chart.Feasible))
	}
	return line
}

// SimulatedAtOnce is how many trials a press of the button lets the simulated lab run: a twentieth
// of those planned, 5 to 25.
func SimulatedAtOnce(d design.Definition) int { return min(max(5, d.Algorithm.Horizon/20), 25) }

// Lab is the panel of a study's simulated lab; it is empty where a real one measures.
func (v Facts) Lab() templates.Lab {
	d := v.Snap.Definition
	panel := templates.Lab{Study: v.Head, Problem: d.SimulatedLab, Going: v.Run.Going, AtOnce: SimulatedAtOnce(d)}
	lab, err := design.FindSimulatedLab(d.SimulatedLab)
	if err != nil {
		return panel
	}
	panel.Summary = lab.Summary()
	for _, metric := range tableMetrics(d) {
		if sd := lab.StdDev()[metric]; sd > 0 {
			panel.Noise = append(panel.Noise, metric+" ± "+words.With(words.Brief(sd), UnitOf(d, metric)))
		}
	}
	wanted := words.Count(int(v.Run.Wanted), "trial", "trials")
	switch {
	case v.Run.Wanted == 0:
	case v.Run.Going:
		panel.Text = fmt.Sprintf("It is at work: %d of %s read.", v.Run.Done, wanted)
	case v.Run.Failed != nil:
		panel.Text = fmt.Sprintf("It ended after %d of %s: %s", v.Run.Done, wanted, v.Run.Failed)
	case v.Run.Stopped:
		panel.Text = fmt.Sprintf("It was stopped after %d of %s.", v.Run.Done, wanted)
	default:
		panel.Text = fmt.Sprintf("It has run %s.", wanted)
	}
	return panel
}

// ModelPart is the part of a page that says how the work on the model stands, and asks again until
// it is there.
const ModelPart = "model"

// Work says how the work on the model stands; of a study that is not long, nothing is said.
func (v Facts) Work() templates.Work {
	if !v.Long() {
		return templates.Work{}
	}
	work := templates.Work{Part: v.laterPart(ModelPart), Follows: v.Parts, Going: v.Working, Whole: withQuery(v.URL, v.atMoment(url.Values{"whole": {"yes"}}))}
	if v.Working {
		work.Words = "The model of " + words.Count(len(v.Snap.Trials), "trial", "trials") + " is being worked out" + words.ForSoLong(v.Now.Sub(v.Since)) + ". What it says will appear here by itself."
	}
	return work
}
