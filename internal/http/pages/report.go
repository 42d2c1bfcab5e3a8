package pages

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// Bounds on a report, so that it stays a file that people can open and print.
const (
	mostReportTrials = 1000 // lines of the table of trials
	mostReportLedger = 1500 // lines of the ledger
	mostReportAmends = 500  // corrections, exclusions and changes
	mostReportSlices = 24   // charts of the model
	reportStretches  = 250  // stretches of which a chart over trials keeps the lowest and the highest
)

// reportPolicy lets the browser show a report and fetch nothing for it.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Report is the study in one file, as it is or as it was after an event.
func (s *Site) Report(w http.ResponseWriter, r *http.Request) error {
	at, err := request.At(r)
	if err != nil {
		return err
	}
	now, err := s.studyNow(r)
	if err != nil {
		return err
	}
	snap := now
	if at > 0 {
		if snap, err = s.Studies.Snapshot(r.Context(), now.ID, at); err != nil {
			return err
		}
	}
	v := visiting(r, snap)
	if ready, err := s.reportBehind(r, &v, now); err != nil {
		return err
	} else if !ready {
		return s.showReportToCome(w, r, v)
	}
	report, err := s.report(r.Context(), v, now)
	if err != nil {
		return err
	}
	who, _ := request.Caller(r)
	report.For = who.Name
	name := mime.FormatMediaType("inline", map[string]string{"filename": fmt.Sprintf("%s, entry %d.html", fileName(v.head.Name), snap.Version)})
	w.Header().Set("Content-Disposition", name)
	w.Header().Set("Content-Security-Policy", reportPolicy)
	return show(w, r, http.StatusOK, templates.ReportView(report))
}

// reportBehind tells whether a report can be made from what is at hand, having given that a moment. A long study's is worked out behind a browser's
// request, which shows how it goes meanwhile; programs wait, and end the work when they leave.
func (s *Site) reportBehind(r *http.Request, v *visit, now *ledger.Snapshot) (ready bool, err error) {
	if len(v.snap.Trials) < longStudy || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return true, nil
	}
	patient, cancel := context.WithTimeout(r.Context(), s.ModelPatience)
	defer cancel()
	of := *v
	ready, v.since, err = s.Studies.Behind(patient, v.snap, fmt.Sprintf("report?entries=%d", now.Version), func(ctx context.Context) error {
		_, err := s.report(ctx, of, now)
		return err
	})
	return ready, err
}

// showReportToCome says that a report is being made; the browser looks again by itself.
func (s *Site) showReportToCome(w http.ResponseWriter, r *http.Request, v visit) error {
	w.Header().Set("Refresh", "2")
	return show(w, r, http.StatusAccepted, templates.ReportToCome(newPage(r, "Report of "+v.head.Name), v.head,
		fmt.Sprintf("The report is being made from %s%s. It will open here by itself.", count(len(v.snap.Trials), "trial", "trials"), sinceWords(v.now.Sub(v.since)))))
}

// fileName is a name without what file systems do not take.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, name)
}

// exact is a moment as documents write it.
func exact(at time.Time) string { return at.UTC().Format("2 January 2006, 15:04:05 UTC") }

func (s *Site) report(ctx context.Context, v visit, now *ledger.Snapshot) (templates.Report, error) {
	d := v.snap.Definition
	report := templates.Report{
		Name: d.Name, Description: markdown(d.Description), State: string(v.snap.State), Notes: study.Notes(v.snap),
		Entry: v.snap.Version, Entries: now.Version, Hash: v.snap.Hash, Made: exact(v.now), Verification: s.verificationLines(v),
	}
	past, err := s.readPast(ctx, v)
	if err != nil {
		return report, err
	}
	report.Moment, report.Event = exact(past.last.At), past.lastWords
	report.Parameters, report.Facts = parameterTable(d), studyFacts(d)
	report.Limits = v.limitTable(past)
	report.Amends, report.Ledger, report.LedgerNote = past.amendTable(), past.ledgerTable(), past.ledgerNote()
	if len(v.snap.Trials) == 0 {
		report.Verdict = templates.ReportVerdict{Heading: "No trials yet", Words: []string{"The study is defined, and nothing has been tried."}}
		report.Trials = v.trialTable(nil)
		return report, nil
	}
	state, err := s.Studies.StateOf(ctx, v.snap)
	sentence := withoutModel(err)
	if err != nil && sentence == "" {
		return report, err
	}
	kept := v.reportedTrials(state.Recommendation)
	report.Trials = v.trialTable(kept)
	if len(kept) < len(v.snap.Trials) {
		report.TrialsNote = fmt.Sprintf("%d of %d trials: the newest, and of the others those recommended, best, corrected or taken out. The export as CSV has all of them.", len(kept), len(v.snap.Trials))
	}
	if sentence != "" {
		report.Verdict = templates.ReportVerdict{Heading: "No model", Words: []string{sentence}}
		return report, nil
	}
	if report.Verdict, err = s.reportVerdict(ctx, v, state); err != nil {
		return report, err
	}
	report.Theorem, report.NoteKey, report.Trust = v.theorem(state), noteKey, v.trustLines(state)
	report.Figures, report.FiguresNote, err = s.reportFigures(ctx, v, state, past)
	return report, err
}

// verificationLines say when the study was verified last, and how far.
func (s *Site) verificationLines(v visit) []string {
	last := s.verifications.of(v.snap.ID)
	if !last.known {
		return []string{"not verified on this server since it started. Export the study with its ledger and verify it with: headroom verify FILE"}
	}
	outcome := "does not verify"
	if last.outcome.OK {
		outcome = "verified"
	}
	line := fmt.Sprintf("%s %s up to ledger entry %d: %s replayed, hash %s", outcome, exact(last.at), last.version, count(last.outcome.Checked, "decision", "decisions"), last.hash)
	if last.version < v.snap.Version {
		line += fmt.Sprintf("; the %s after that not yet", count(int(v.snap.Version-last.version), "entry", "entries"))
	}
	return append([]string{line + "."}, s.verified(v, v.snap).Different...)
}

// reportVerdict is the recommendation with what is expected there.
func (s *Site) reportVerdict(ctx context.Context, v visit, state study.Readout) (templates.ReportVerdict, error) {
	d, r := v.snap.Definition, state.Recommendation
	if r == nil {
		verdict := templates.ReportVerdict{Heading: "Nothing is recommended yet"}
		if feasible, known := v.snap.Feasibility(); known > 0 && feasible == 0 && len(d.Constraints) > 0 {
			verdict.Words = append(verdict.Words, fmt.Sprintf("None of the %s whose limits are known stayed within all of them.", count(known, "trial", "trials")))
		}
		verdict.Words = append(verdict.Words, "No trial’s settings have a 90"+thin+"% chance to stay within every limit, as far as the model knows.")
		return verdict, nil
	}
	verdict := templates.ReportVerdict{Heading: "Recommended: the settings of trial " + strconv.Itoa(r.Number), Settings: settingsOf(d, r.Parameters)}
	verdict.Expected.Head = []templates.Column{{Name: "Metric"}, {Name: "Expected", Number: true}, {Name: "Model’s 95 % band, without the noise of a reading", Number: true}, {Name: "Limit"}, {Name: "Expected distance to the limit", Number: true}}
	posterior, err := s.Studies.PosteriorAt(ctx, v.snap, []design.Settings{r.Parameters})
	if err != nil && ctx.Err() != nil {
		return verdict, err
	}
	for _, metric := range modelled(d) {
		if !v.snap.HasReading(metric) || !v.scaled(metric) {
			verdict.Words = append(verdict.Words, capitalised(metric)+": no reading or no fitted model yet, so nothing is expected of it.")
			continue
		}
		unit := unitOf(d, metric)
		mean, sd := r.Mean[metric], r.SD[metric]
		low, high := mean-1.96*sd, mean+1.96*sd // settings beyond the bounds have no viewpoint
		if band, there := posterior.Metrics[metric]; there && err == nil {
			low, high = band.Lower95[0], band.Upper95[0]
		}
		one := func(x float64) string { text, _ := design.FormatValue(x, sd); return design.Typeset(text) }
		row := []string{metric, design.WithUnit(one(mean), unit, thin), one(low) + " to " + design.WithUnit(one(high), unit, thin), "", ""}
		for _, c := range d.Constraints {
			if c.Metric == metric {
				row[3] = strings.TrimPrefix(row[3]+"; "+limitText(c), "; ")
				row[4] = strings.TrimPrefix(row[4]+"; "+design.WithUnit(one(-c.Excess(mean)), unit, thin), "; ")
			}
		}
		verdict.Expected.Rows = append(verdict.Expected.Rows, row)
	}
	if len(d.Constraints) > 0 {
		verdict.Words = append(verdict.Words, "Chance to stay within every limit, as far as the model knows: "+percent(r.FeasibilityProbability)+".")
	}
	if best := v.snap.Best(); best != nil {
		verdict.Words = append(verdict.Words, fmt.Sprintf("Best single reading within the limits, which may owe something to luck: %s at trial %d.",
			quantity(best.Metrics[d.Objective.Metric].Value, d.Objective.Unit), best.Number))
	}
	return verdict, nil
}

// parameterTable lists what can be set.
func parameterTable(d design.Definition) templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Parameter"}, {Name: "Kind"}, {Name: "From", Number: true}, {Name: "To", Number: true}, {Name: "Unit"}, {Name: "Choices, steps"}}}
	for _, p := range d.Parameters {
		more := strings.Join(p.Choices, ", ")
		switch {
		case p.Type == design.Remainder && p.Total != nil:
			more = "what is left of " + number(*p.Total)
		case p.Step != nil:
			more = "in steps of " + number(*p.Step)
		case p.Scale == "log":
			more = "logarithmic"
		}
		table.Rows = append(table.Rows, []string{p.Name, string(p.Type), optionalNumber(p.Low), optionalNumber(p.High), p.Unit, more})
	}
	return table
}

func optionalNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return number(*x)
}

// studyFacts are how the study decides.
func studyFacts(d design.Definition) []templates.Fact {
	wanted := "as high as possible"
	if d.Objective.Direction == "minimize" {
		wanted = "as low as possible"
	}
	algorithm := describedAlgorithm(d.Algorithm.Name)
	facts := []templates.Fact{
		{Name: "Objective", Value: axisName(d.Objective.Metric, d.Objective.Unit) + ", " + wanted},
		{Name: "Algorithm", Value: algorithm.Title + " (" + algorithm.Name + ")", Meaning: algorithm.Source},
		{Name: "Trials planned", Value: strconv.Itoa(d.Algorithm.Horizon)},
		{Name: "Model", Value: "kernel " + jsonText(d.Model.Kernel) + ", hyperparameters " + strings.ReplaceAll(d.Model.Fit, "_", " ")},
		{Name: "Seed", Value: strconv.FormatUint(d.Seed, 10)},
	}
	for _, rule := range d.InputConstraints {
		facts = append(facts, templates.Fact{Name: "Rule for the settings", Value: rule})
	}
	return facts
}
