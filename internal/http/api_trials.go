package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

type trialList struct {
	Trials []ledger.Trial `json:"trials"`
}

type trialPage struct {
	Trials []ledger.Trial `json:"trials"`
	Next   *int           `json:"next"` // ask for ?after=next to go on; null at the end
}

type correctionPreview struct {
	Impact study.Impact `json:"impact"`
}

func (s *Server) trialRoutes() []route {
	const trial = "/api/v1/studies/{id}/trials/{number}"
	routes := []route{
		{Method: "POST", Pattern: "/api/v1/studies/{id}/ask", Access: StudyOperator, Handler: s.ask, Doc: &operation{
			Summary: "Ask for suggestions, each a round of its own", Tag: "The loop", Body: study.Ask{}, BodyOptional: true, Status: 201, Answer: trialList{}, Writes: true}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/trials", Access: StudyOperator, Handler: s.addTrial, Doc: &operation{
			Summary: "Add a trial of your own choice", Tag: "The loop", Body: trialRequest{}, Status: 201, Answer: ledger.Trial{}, Writes: true}},
		{Method: "GET", Pattern: "/api/v1/studies/{id}/trials", Access: StudyViewer, Handler: s.listTrials, Doc: &operation{
			Summary: "List trials by number", Tag: "The loop", Status: 200, Answer: trialPage{}, Query: []queryParameter{
				{"after", "Only trials with a higher number", 0}, {"limit", fmt.Sprintf("At most so many; default and limit %d", maxPage), 0},
				{"status", "Only trials of these states, comma-separated", ""}, atParameter}}},
		{Method: "GET", Pattern: trial, Access: StudyViewer, Handler: s.readTrial, Stream: true, Doc: &operation{
			Summary: "Read a trial", Tag: "The loop", Status: 200, Answer: ledger.Trial{}, Query: []queryParameter{
				{"wait", "Answer when the trial is complete, or after so many seconds (at most 60)", 0}, atParameter}}},
		{Method: "POST", Pattern: trial + "/tell", Access: StudyOperator, Handler: s.tell, Doc: &operation{
			Summary: "Report results of a trial", Tag: "The loop", Body: tellRequest{}, Status: 200, Answer: ledger.Trial{}, Writes: true}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/tell", Access: StudyOperator, Handler: s.tellMany, Doc: &operation{
			Summary: "Report results of several trials, all or none", Tag: "The loop", Body: bulkTellRequest{}, Status: 200, Answer: trialList{}, Writes: true}},
		{Method: "POST", Pattern: trial + "/corrections", Access: StudyOperator, DryRun: true, Handler: s.correct, Doc: &operation{
			Summary: "Correct what was told; with dry_run, say what that would change", Tag: "The loop", Body: correctionRequest{}, Status: 200,
			Answer: oneOf{ledger.Trial{}, correctionPreview{}}, Writes: true, Query: []queryParameter{{"dry_run", "Store nothing, answer the impact", false}}}},
		{Method: "POST", Pattern: trial + "/replicates", Access: StudyOperator, Handler: s.replicate, Doc: &operation{
			Summary: "Ask for the same settings again on purpose", Tag: "The loop", Body: struct{}{}, BodyOptional: true, Status: 201, Answer: ledger.Trial{}, Writes: true}},
	}
	for _, closing := range []struct {
		path    string
		kind    ledger.Kind
		summary string
	}{
		{"/fail", ledger.Failed, "Close a trial that failed"},
		{"/abandon", ledger.Abandoned, "Close a trial that will not be run"},
		{"/exclude", ledger.Excluded, "Leave a trial out of the model"},
		{"/include", ledger.Included, "Take an excluded trial back in"},
	} {
		routes = append(routes, route{Method: "POST", Pattern: trial + closing.path, Access: StudyOperator, Handler: s.close(closing.kind), Doc: &operation{
			Summary: closing.summary, Tag: "The loop", Body: reasonRequest{}, Status: 200, Answer: ledger.Trial{}, Writes: true}})
	}
	return routes
}

// trialNumber reads the number in the path; what is no number is no trial.
func trialNumber(r *http.Request) (int, error) {
	number, err := strconv.Atoi(chi.URLParam(r, "number"))
	if err != nil || number < 1 || strconv.Itoa(number) != chi.URLParam(r, "number") {
		return 0, errNoSuchThing
	}
	return number, nil
}

// trialOf returns trial number of the snapshot.
func trialOf(snap *ledger.Snapshot, number int) (*ledger.Trial, error) {
	trial := snap.Trial(number)
	if trial == nil {
		return nil, fmt.Errorf("there is no trial %d, the last is %d: %w", number, len(snap.Trials), study.ErrNotFound)
	}
	return trial, nil
}

func trialsOf(snap *ledger.Snapshot, numbers []int) []ledger.Trial {
	trials := make([]ledger.Trial, len(numbers))
	for i, number := range numbers {
		trials[i] = snap.Trials[number-1]
	}
	return trials
}

func changedTrial(after *ledger.Snapshot, numbers []int) reply {
	return reply{status: http.StatusOK, body: after.Trials[numbers[0]-1]}
}

func madeTrial(after *ledger.Snapshot, numbers []int) reply {
	made := after.Trials[numbers[0]-1]
	return reply{http.StatusCreated, fmt.Sprintf("/api/v1/studies/%s/trials/%d", after.ID, made.Number), made}
}

func (s *Server) ask(w http.ResponseWriter, r *http.Request) error {
	var ask study.Ask
	body, err := readJSON(r, &ask)
	if err != nil {
		return err
	}
	render := func(after *ledger.Snapshot, numbers []int) reply {
		return reply{status: http.StatusCreated, body: trialList{trialsOf(after, numbers)}}
	}
	start := time.Now()
	defer func() { s.metrics.asks.Observe(time.Since(start).Seconds()) }()
	return s.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		return s.studies.Ask(r.Context(), cmd, chi.URLParam(r, "id"), ask)
	})
}

func (s *Server) addTrial(w http.ResponseWriter, r *http.Request) error {
	var own trialRequest
	body, err := readJSON(r, &own)
	if err != nil {
		return err
	}
	return s.write(w, r, body, madeTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, number, err := s.studies.AddTrial(r.Context(), cmd, chi.URLParam(r, "id"), own.domain())
		return after, []int{number}, err
	})
}

func (s *Server) replicate(w http.ResponseWriter, r *http.Request) error {
	number, err := trialNumber(r)
	if err != nil {
		return err
	}
	body, err := readJSON(r, &struct{}{})
	if err != nil {
		return err
	}
	return s.write(w, r, body, madeTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, made, err := s.studies.Replicate(r.Context(), cmd, chi.URLParam(r, "id"), number)
		return after, []int{made}, err
	})
}

func (s *Server) tell(w http.ResponseWriter, r *http.Request) error {
	number, err := trialNumber(r)
	if err != nil {
		return err
	}
	var told tellRequest
	body, err := readJSON(r, &told)
	if err != nil {
		return err
	}
	return s.write(w, r, body, changedTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.Tell(r.Context(), cmd, chi.URLParam(r, "id"), []study.Telling{told.domain(number, "body")})
		return after, []int{number}, err
	})
}

func (s *Server) tellMany(w http.ResponseWriter, r *http.Request) error {
	var told bulkTellRequest
	body, err := readJSON(r, &told)
	if err != nil {
		return err
	}
	tellings := make([]study.Telling, len(told.Trials))
	numbers := make([]int, len(told.Trials))
	for i, t := range told.Trials {
		numbers[i] = t.Number
		tellings[i] = t.domain(t.Number, fmt.Sprintf("body.trials[%d]", i))
	}
	render := func(after *ledger.Snapshot, numbers []int) reply {
		return reply{status: http.StatusOK, body: trialList{trialsOf(after, numbers)}}
	}
	return s.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.Tell(r.Context(), cmd, chi.URLParam(r, "id"), tellings)
		return after, numbers, err
	})
}

func (s *Server) correct(w http.ResponseWriter, r *http.Request) error {
	number, err := trialNumber(r)
	if err != nil {
		return err
	}
	var request correctionRequest
	body, err := readJSON(r, &request)
	if err != nil {
		return err
	}
	q, err := readQuery(r.URL)
	if err != nil {
		return err
	}
	preview := q.yes("dry_run")
	if err := q.err(); err != nil {
		return err
	}
	correction := request.domain(number)
	if preview {
		impact, err := s.studies.PreviewCorrection(r.Context(), chi.URLParam(r, "id"), correction)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, correctionPreview{impact})
	}
	return s.write(w, r, body, changedTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := s.studies.Correct(r.Context(), cmd, chi.URLParam(r, "id"), correction)
		return after, []int{number}, err
	})
}

// close handles failing, abandoning, excluding and including.
func (s *Server) close(kind ledger.Kind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		number, err := trialNumber(r)
		if err != nil {
			return err
		}
		var why reasonRequest
		body, err := readJSON(r, &why)
		if err != nil {
			return err
		}
		return s.write(w, r, body, changedTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
			after, err := s.studies.Close(r.Context(), cmd, chi.URLParam(r, "id"), kind, number, why.Reason)
			return after, []int{number}, err
		})
	}
}

// maxPage is the longest page of a list, and the usual one.
const maxPage = 1000

func (s *Server) listTrials(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r.URL)
	if err != nil {
		return err
	}
	after := int(q.whole("after", 0, maxSeq, 0))
	limit := int(q.whole("limit", 1, maxPage, maxPage))
	statuses := among(q, "status", ledger.StatusSuggested, ledger.StatusPartial, ledger.StatusCompleted, ledger.StatusFailed, ledger.StatusAbandoned)
	if err := q.err(); err != nil {
		return err
	}
	return s.read(w, r, func(snap *ledger.Snapshot) (any, error) {
		return pageOf(snap.Trials, after, limit, statuses), nil
	})
}

// pageOf takes the first limit trials with a number above after and one of the statuses (none: any).
func pageOf(trials []ledger.Trial, after, limit int, statuses []ledger.Status) trialPage {
	page := trialPage{Trials: []ledger.Trial{}}
	for _, t := range trials[min(after, len(trials)):] {
		if len(statuses) > 0 && !slices.Contains(statuses, t.Status) {
			continue
		}
		if len(page.Trials) == limit {
			last := page.Trials[limit-1].Number
			page.Next = &last
			break
		}
		page.Trials = append(page.Trials, t)
	}
	return page
}

func (s *Server) readTrial(w http.ResponseWriter, r *http.Request) error {
	number, err := trialNumber(r)
	if err != nil {
		return err
	}
	q, err := readQuery(r.URL)
	if err != nil {
		return err
	}
	wait := time.Duration(q.whole("wait", 0, 60, 0)) * time.Second
	if err := q.err(); err != nil {
		return err
	}
	if wait > 0 {
		if err := s.awaitTrial(r, number, wait); err != nil {
			return err
		}
	}
	snap, err := s.snapshot(r)
	if err != nil {
		return err
	}
	trial, err := trialOf(snap, number)
	if err != nil {
		return err
	}
	if unchanged(w, r, snap.Version) {
		return nil
	}
	return writeJSON(w, http.StatusOK, trial)
}

// awaitTrial returns when nothing more is expected of the trial, when the time is up, or when the server stops.
func (s *Server) awaitTrial(r *http.Request, number int, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	changes, unsubscribe := s.db.Subscribe(chi.URLParam(r, "id"))
	defer unsubscribe()
	for {
		snap, err := s.snapshot(r)
		if err != nil {
			return err
		}
		trial, err := trialOf(snap, number)
		if err != nil || !trial.Waiting() {
			return err
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return nil
		case <-s.stopping:
			return nil
		}
	}
}
