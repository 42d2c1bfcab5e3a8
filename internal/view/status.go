package view

import (
	"net/url"
	"strconv"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Status is the strip on top.
func (v Facts) Status() templates.Status {
	d := v.Snap.Definition
	summary := v.Snap.Summary()
	strip := templates.Status{Study: v.Head, Version: v.Snap.Version, Still: v.At > 0, Trial: trialCount(summary.Trials, d.Algorithm.Horizon)}
	if summary.Waiting > 0 {
		strip.Waiting = strconv.Itoa(summary.Waiting) + " waiting"
		strip.Oldest = Stamp(*summary.OldestWaiting, v.Now)
	}
	if v.Head.Operates && !strip.Still {
		strip.Found = Findings(v.Head, study.Health(v.Snap))
	}
	strip.Doubtful, strip.MoreDoubtful = v.inDoubt()
	if feasible, known := v.Snap.Feasibility(); known > 0 && v.limited() {
		strip.Feasible = strconv.Itoa(feasible) + " of " + strconv.Itoa(known) + " within every limit"
	}
	switch {
	case summary.Trials == 0 || v.Working:
	case v.Modelless != "":
		strip.Notes = append(study.Notes(v.Snap), v.Modelless)
	default:
		strip.Refitting, strip.Notes = v.Readout.FitPending && v.Snap.State == ledger.Open, v.Readout.Notes
	}
	return strip
}

func trialCount(n, horizon int) string {
	if n == 0 {
		return "no trials yet, " + strconv.Itoa(horizon) + " planned"
	}
	return "trial " + strconv.Itoa(n) + " of " + strconv.Itoa(horizon)
}

// Findings are what is found in a study, each with the way to what helps.
func Findings(head templates.StudyHead, found []study.Finding) []templates.Finding {
	var shown []templates.Finding
	for _, f := range found {
		shown = append(shown, templates.Finding{Says: f.Says, Offer: head.URL("/reconfigure?log=" + url.QueryEscape(f.Parameter)), Label: "Make it logarithmic"})
	}
	return shown
}

// inDoubt are the trials with something that nobody has confirmed yet, the first of them; more says how many others there are.
func (v Facts) inDoubt() (shown []templates.Doubtful, more string) {
	n := 0
	for _, t := range v.Snap.Trials {
		if len(t.Doubts) == 0 || t.Excluded {
			continue
		}
		if n++; n <= mostInDoubt {
			shown = append(shown, v.of(t).inDoubt())
		}
	}
	if n > mostInDoubt {
		more = words.Count(n-mostInDoubt, "more trial is", "more trials are") + " in doubt; their pages say why."
	}
	return shown, more
}

// mostInDoubt is how many trials in doubt stand at the top of the page.
const mostInDoubt = 3
