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
	ready, v.since, err = s.Studies.Derived.Behind(patient, v.snap, fmt.Sprintf("report?entries=%d", now.Version), func(ctx context.Context) error {
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
		Entry: v.snap.Version, Entries: now.Version, Hash: v.snap.Hash, Made: exact(v.now),
	}
	last, err := s.verificationOf(ctx, now.ID)
	if err != nil {
		return report, err
	}
	report.Verification = v.verificationLines(last)
	past, err := s.readPast(ctx, v)
	if err != nil {
		return report, err
	}
	report.Moment, report.Event = exact(past.last.At), past.lastWords
	report.Parameters, report.Facts = parameterTable(d), studyFacts(d)
	report.Limits = v.limitTable(past)
	report.Amends, report.Ledger, report.LedgerNote = past.amendTable(), past.ledgerTable(), past.ledgerNote()
	if report.Verdict, err = s.reportVerdict(ctx, v); err != nil {
		return report, err
	}
	if len(v.snap.Trials) == 0 {
		return report, nil
	}
	state, err := s.Studies.StateOf(ctx, v.snap)
	modelless := withoutModel(err) != ""
	if err != nil && !modelless {
		return report, err
	}
	kept := v.reportedTrials(state.Recommendation)
	report.Trials, report.TrialsNote = v.trialTable(kept)
	if len(kept) < len(v.snap.Trials) {
		report.TrialsNote = strings.TrimSpace(fmt.Sprintf("%d of %d trials: the newest, and of the others those recommended, best, corrected or taken out. The export as CSV has all of them. ", len(kept), len(v.snap.Trials)) + report.TrialsNote)
	}
	if past.limitsChanged() {
		report.TrialsNote = strings.TrimSpace(report.TrialsNote + " The results are by the limits as they are now.")
	}
	if modelless {
		return report, nil
	}
	if !v.modelStands() {
		state.Recommendation = nil
	}
	report.Theorem, report.NoteKey, report.Trust = v.theorem(state), noteKey, v.trustLines(state)
	report.Figures, report.FiguresNote, err = s.reportFigures(ctx, v, state, past)
	return report, err
}

// verificationLines say when the study was verified last, and how far.
func (v visit) verificationLines(last verification) []string {
	if !last.known {
		return []string{"not verified yet. Export the study with its ledger and verify it with: headroom verify FILE"}
	}
	outcome := "does not verify"
	gone := goneWords(last.outcome)
	switch {
	case last.outcome.OK && gone != "":
		outcome = "verified in part"
	case last.outcome.OK:
		outcome = "verified"
	}
	line := fmt.Sprintf("%s %s up to ledger entry %d: %s replayed, hash %s", outcome, exact(last.at), last.version, count(last.outcome.Checked, "decision", "decisions"), last.hash)
	if gone != "" {
		line += "; " + gone
	}
	if last.version < v.snap.Version {
		line += fmt.Sprintf("; the %s after that not yet", count(int(v.snap.Version-last.version), "entry", "entries"))
	}
	return append([]string{line + "."}, v.verified(last, v.snap).Different...)
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
