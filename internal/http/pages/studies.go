package pages

import (
	"fmt"
	"net/http"
	"strconv"

	"headroom/internal/http/request"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
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
	titles := algorithmTitles()
	for _, one := range list {
		line := templates.StudyLine{ID: one.ID, Name: one.Name, State: string(one.State), Trials: words.Count(one.Trials, "trial", "trials"), Algorithm: titles[one.Algorithm], Updated: view.Stamp(one.UpdatedAt, page.Now)}
		if one.Waiting > 0 {
			line.Waiting = strconv.Itoa(one.Waiting) + " waiting"
			line.Oldest = optionalStamp(one.OldestWaiting, page.Now)
		}
		line.Simulated = one.SimulatedLab != ""
		if one.Best != nil {
			line.Best = fmt.Sprintf("best reading of %s %s at trial %d", one.Best.Metric, words.Quantity(one.Best.Value, one.Best.Unit), one.Best.Number)
		}
		for _, limit := range one.Limits {
			line.Limits = append(line.Limits, limitWords(limit))
		}
		if one.Known > 0 && len(one.Limits) > 0 {
			line.Feasible, line.FeasibleMark = fmt.Sprintf("feasible %d of %d", one.Feasible, one.Known), string(chart.Feasible)
			if one.Feasible == 0 {
				line.FeasibleMark = string(chart.Violated)
			}
		}
		page.Lines = append(page.Lines, line)
	}
	if page.Viewer.Creates {
		page.Start = start(r)
	}
	return show(w, r, http.StatusOK, templates.StudiesView(page))
}

// limitWords is a limit in a line of the list.
func limitWords(limit ledger.Limit) string {
	sign := "≤"
	if limit.Op == ">=" {
		sign = "≥"
	}
	return limit.Metric + " " + sign + " " + words.Quantity(limit.Threshold, limit.Unit)
}

func algorithmTitles() map[string]string {
	titles := map[string]string{}
	for _, a := range optimizer.Algorithms() {
		titles[a.Name] = a.Title
	}
	return titles
}
