package pages

import (
	"net/http"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// studiesOnPage is how many studies a page of the list shows.
const studiesOnPage = 100

// StudiesPage lists the studies that the caller may see.
func (s *Site) StudiesPage(w http.ResponseWriter, r *http.Request) error {
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	wanted := study.Listing{Only: request.Studies(r), After: q.Mark("after"), Limit: studiesOnPage}
	if err := q.Err(); err != nil {
		return err
	}
	page := templates.StudiesPage{Page: newPage(r, "Studies"), Archived: r.URL.Query().Get("archived") == "yes", Later: wanted.After != nil}
	page.Width = "medium"
	if !page.Archived {
		wanted.States = []ledger.State{ledger.Open, ledger.Paused, ledger.Finished}
		hidden, _, err := s.Studies.Summaries(r.Context(), study.Listing{Only: wanted.Only, States: []ledger.State{ledger.Archived}, Limit: 1})
		if err != nil {
			return err
		}
		page.Hides = len(hidden) > 0
	}
	list, next, err := s.Studies.Summaries(r.Context(), wanted)
	if err != nil {
		return err
	}
	if next != nil {
		page.Next = next.String()
	}
	for _, one := range list {
		page.Lines = append(page.Lines, view.Line(one, page.Now))
	}
	if page.Viewer.Creates {
		page.Start = start(r)
	}
	return show(w, r, http.StatusOK, templates.StudiesView(page))
}
