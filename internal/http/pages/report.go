package pages

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// reportPolicy lets the browser show a report and fetch nothing for it.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Report is the study in one file, as it is or as it was after an event.
func (s *Site) Report(w http.ResponseWriter, r *http.Request, current view.Facts) error {
	now := current.Snap
	v, err := s.atMoment(r, now)
	if err != nil {
		return err
	}
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
	name := mime.FormatMediaType("inline", map[string]string{"filename": fmt.Sprintf("%s, entry %d.html", fileName(v.Head.Name), v.Snap.Version)})
	w.Header().Set("Content-Disposition", name)
	w.Header().Set("Content-Security-Policy", reportPolicy)
	return s.Studies.Derived.Draw(r.Context(), v.Snap.ID, func() error { return show(w, r, http.StatusOK, templates.ReportView(report)) })
}

// reportBehind tells whether a report can be made from what is at hand, having given that a moment.
// A long study's is worked out behind a browser's request, which shows how it goes meanwhile;
// programs wait, and end the work when they leave.
func (s *Site) reportBehind(r *http.Request, v *view.Facts, now *ledger.Snapshot) (ready bool, err error) {
	if !v.Long() || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return true, nil
	}
	patient, cancel := context.WithTimeout(r.Context(), s.ModelPatience)
	defer cancel()
	of := *v
	ready, v.Since, err = s.Studies.Derived.Behind(patient, v.Snap, fmt.Sprintf("report?entries=%d", now.Version), func(ctx context.Context) error {
		_, err := s.report(ctx, of, now)
		return err
	})
	return ready, err
}

// showReportToCome says that a report is being made; the browser looks again by itself.
func (s *Site) showReportToCome(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	w.Header().Set("Refresh", "2")
	return show(w, r, http.StatusAccepted, templates.ReportToCome(newPage(r, "Report of "+v.Head.Name, ""), v.Head,
		fmt.Sprintf("The report is being made from %s%s. It will open here by itself.", words.Count(len(v.Snap.Trials), "trial", "trials"), words.ForSoLong(v.Now.Sub(v.Since)))))
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

// report makes the report: all is loaded, then worded.
func (s *Site) report(ctx context.Context, v view.Facts, now *ledger.Snapshot) (templates.Report, error) {
	v.Whole, v.Paper, v.Query, v.Head.Operates = true, true, nil, false // nothing can be fetched later, or chosen
	if err := errors.Join(s.load(ctx, &v, readout|gain|history|picture|entries), s.loadBoard(ctx, &v, now)); err != nil {
		return templates.Report{}, err
	}
	return v.Report()
}
