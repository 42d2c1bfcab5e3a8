package pages

import (
	"net/http"
	"strconv"

	"headroom/internal/http/request"
	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// StudiesPage lists the studies that the caller may see.
func (s *Site) StudiesPage(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Studies.Summaries(r.Context(), request.Studies(r))
	if err != nil {
		return err
	}
	page := templates.StudiesPage{Page: newPage(r, "Studies"), Archived: r.URL.Query().Get("archived") == "yes"}
	page.Width = "medium"
	titles := algorithmTitles()
	for _, one := range list {
		if one.State == ledger.Archived && !page.Archived {
			page.Hidden++
			continue
		}
		line := templates.StudyLine{ID: one.ID, Name: one.Name, State: string(one.State), Trials: count(one.Trials, "trial", "trials"), Algorithm: titles[one.Algorithm], Updated: stamp(one.UpdatedAt, page.Now)}
		if one.Waiting > 0 {
			line.Waiting = strconv.Itoa(one.Waiting) + " waiting"
			line.Oldest = optionalStamp(one.OldestWaiting, page.Now)
		}
		page.Lines = append(page.Lines, line)
	}
	return show(w, r, http.StatusOK, templates.StudiesView(page))
}

func algorithmTitles() map[string]string {
	titles := map[string]string{}
	for _, a := range optimizer.Algorithms() {
		titles[a.Name] = a.Title
	}
	return titles
}
