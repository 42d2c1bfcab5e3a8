package pages

import (
	"fmt"
	"net/http"

	"headroom/internal/view"
	"headroom/web/templates"
)

// PrintSheet is a trial on paper: what to set, the limits, blanks to write in, and the way back to its page.
func (s *Site) PrintSheet(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	page, err := visiting(r, snap).Sheet(trial, s.PublicURL.JoinPath(view.TrialURL(snap.ID, trial.Number)).String())
	if err != nil {
		return err
	}
	page.Page = newPage(r, fmt.Sprintf("Sheet of trial %d of %s", trial.Number, page.Study.Name))
	page.Width = "medium"
	return show(w, r, http.StatusOK, templates.SheetView(page))
}
