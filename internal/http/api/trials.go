package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"headroom/internal/http/request"
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

// Ask is POST …/ask.
func (a *API) Ask() Operation {
	return Operation{Handle: a.ask, Summary: "Ask for suggestions, each a round of its own", Tag: "The loop", Body: study.Ask{}, BodyOptional: true, Status: 201, Answer: trialList{}, Writes: true}
}

func (a *API) ask(w http.ResponseWriter, r *http.Request) error {
	var ask study.Ask
	body, err := readJSON(r, &ask)
	if err != nil {
		return err
	}
	render := func(after *ledger.Snapshot, numbers []int) reply {
		return reply{status: http.StatusCreated, body: trialList{trialsOf(after, numbers)}}
	}
	start := time.Now()
	defer func() { a.Asks.Observe(time.Since(start).Seconds()) }()
	return a.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		return a.Studies.Ask(r.Context(), cmd, request.StudyID(r), ask)
	})
}

// AddTrial is POST …/trials.
func (a *API) AddTrial() Operation {
	return Operation{Handle: a.addTrial, Summary: "Add a trial of your own choice", Tag: "The loop", Body: trialRequest{}, Status: 201, Answer: ledger.Trial{}, Writes: true}
}

func (a *API) addTrial(w http.ResponseWriter, r *http.Request) error {
	var own trialRequest
	body, err := readJSON(r, &own)
	if err != nil {
		return err
	}
	return a.write(w, r, body, madeTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, number, err := a.Studies.AddTrial(r.Context(), cmd, request.StudyID(r), own.domain())
		return after, []int{number}, err
	})
}

// Replicate is POST …/trials/{number}/replicates.
func (a *API) Replicate() Operation {
	return Operation{Handle: a.replicate, Summary: "Ask for the same settings again on purpose", Tag: "The loop", Body: struct{}{}, BodyOptional: true, Status: 201, Answer: ledger.Trial{}, Writes: true}
}

func (a *API) replicate(w http.ResponseWriter, r *http.Request) error {
	number, err := request.TrialNumber(r)
	if err != nil {
		return err
	}
	body, err := readJSON(r, &struct{}{})
	if err != nil {
		return err
	}
	return a.write(w, r, body, madeTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, made, err := a.Studies.Replicate(r.Context(), cmd, request.StudyID(r), number)
		return after, []int{made}, err
	})
}

// Tell is POST …/trials/{number}/tell.
func (a *API) Tell() Operation {
	return Operation{Handle: a.tell, Summary: "Report results of a trial", Tag: "The loop", Body: tellRequest{}, Status: 200, Answer: ledger.Trial{}, Writes: true}
}

func (a *API) tell(w http.ResponseWriter, r *http.Request) error {
	number, err := request.TrialNumber(r)
	if err != nil {
		return err
	}
	var told tellRequest
	body, err := readJSON(r, &told)
	if err != nil {
		return err
	}
	return a.write(w, r, body, changedTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := a.Studies.Tell(r.Context(), cmd, request.StudyID(r), []study.Telling{told.domain(number, "body")})
		return after, []int{number}, err
	})
}

// TellMany is POST …/tell.
func (a *API) TellMany() Operation {
	return Operation{Handle: a.tellMany, Summary: "Report results of several trials, all or none", Tag: "The loop", Body: bulkTellRequest{}, Status: 200, Answer: trialList{}, Writes: true}
}

func (a *API) tellMany(w http.ResponseWriter, r *http.Request) error {
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
	return a.write(w, r, body, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := a.Studies.Tell(r.Context(), cmd, request.StudyID(r), tellings)
		return after, numbers, err
	})
}

// Correct is POST …/trials/{number}/corrections.
func (a *API) Correct() Operation {
	return Operation{Handle: a.correct, Summary: "Correct what was told; with dry_run, say what that would change", Tag: "The loop", Body: correctionRequest{}, Status: 200,
		Answer: oneOf{ledger.Trial{}, correctionPreview{}}, Writes: true, Query: []queryParameter{{"dry_run", "Store nothing, answer the impact", false}}}
}

func (a *API) correct(w http.ResponseWriter, r *http.Request) error {
	number, err := request.TrialNumber(r)
	if err != nil {
		return err
	}
	var given correctionRequest
	body, err := readJSON(r, &given)
	if err != nil {
		return err
	}
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	preview := q.Yes("dry_run")
	if err := q.Err(); err != nil {
		return err
	}
	correction := given.domain(number)
	if preview {
		impact, err := a.Studies.PreviewCorrection(r.Context(), request.StudyID(r), correction)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, correctionPreview{impact})
	}
	return a.write(w, r, body, changedTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := a.Studies.Correct(r.Context(), cmd, request.StudyID(r), correction)
		return after, []int{number}, err
	})
}

// Fail is POST …/trials/{number}/fail.
func (a *API) Fail() Operation { return a.closing(ledger.Failed, "Close a trial that failed") }

// Abandon is POST …/trials/{number}/abandon.
func (a *API) Abandon() Operation {
	return a.closing(ledger.Abandoned, "Close a trial that will not be run")
}

// Exclude is POST …/trials/{number}/exclude.
func (a *API) Exclude() Operation {
	return a.closing(ledger.Excluded, "Leave a trial out of the model")
}

// Include is POST …/trials/{number}/include.
func (a *API) Include() Operation {
	return a.closing(ledger.Included, "Take an excluded trial back in")
}

// closing ends a trial, or sets it aside, for a reason.
func (a *API) closing(kind ledger.Kind, summary string) Operation {
	return Operation{
		Summary: summary, Tag: "The loop", Body: reasonRequest{}, Status: 200, Answer: ledger.Trial{}, Writes: true,
		Handle: func(w http.ResponseWriter, r *http.Request) error { return a.close(w, r, kind) },
	}
}

func (a *API) close(w http.ResponseWriter, r *http.Request, kind ledger.Kind) error {
	number, err := request.TrialNumber(r)
	if err != nil {
		return err
	}
	var why reasonRequest
	body, err := readJSON(r, &why)
	if err != nil {
		return err
	}
	return a.write(w, r, body, changedTrial, func(cmd study.Command) (*ledger.Snapshot, []int, error) {
		after, err := a.Studies.Close(r.Context(), cmd, request.StudyID(r), kind, number, why.Reason)
		return after, []int{number}, err
	})
}

// maxPage is the longest page of a list, and the usual one.
const maxPage = 1000

// ListTrials is GET …/trials.
func (a *API) ListTrials() Operation {
	return Operation{Handle: a.listTrials, Summary: "List trials by number", Tag: "The loop", Status: 200, Answer: trialPage{}, Query: []queryParameter{
		{"after", "Only trials with a higher number", 0}, {"limit", fmt.Sprintf("At most so many; default and limit %d", maxPage), 0},
		{"status", "Only trials of these states, comma-separated", ""}, atParameter}}
}

func (a *API) listTrials(w http.ResponseWriter, r *http.Request) error {
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	after := int(q.Whole("after", 0, request.MaxSeq, 0))
	limit := int(q.Whole("limit", 1, maxPage, maxPage))
	statuses := request.Among(q, "status", ledger.StatusSuggested, ledger.StatusPartial, ledger.StatusCompleted, ledger.StatusFailed, ledger.StatusAbandoned)
	if err := q.Err(); err != nil {
		return err
	}
	return a.read(w, r, func(snap *ledger.Snapshot) (any, error) {
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

// ReadTrial is GET …/trial.
func (a *API) ReadTrial() Operation {
	return Operation{Handle: a.readTrial, StaysOpen: true, Summary: "Read a trial", Tag: "The loop", Status: 200, Answer: ledger.Trial{}, Query: []queryParameter{
		{"wait", "Answer when the trial is complete, or after so many seconds (at most 60)", 0}, atParameter}}
}

func (a *API) readTrial(w http.ResponseWriter, r *http.Request) error {
	number, err := request.TrialNumber(r)
	if err != nil {
		return err
	}
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return err
	}
	wait := time.Duration(q.Whole("wait", 0, 60, 0)) * time.Second
	if err := q.Err(); err != nil {
		return err
	}
	if wait > 0 {
		if err := a.awaitTrial(r, number, wait); err != nil {
			return err
		}
	}
	snap, err := a.snapshot(r)
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
func (a *API) awaitTrial(r *http.Request, number int, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	changes, unsubscribe := a.Database.Subscribe(request.StudyID(r))
	defer unsubscribe()
	for {
		snap, err := a.snapshot(r)
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
		case <-a.Stopping:
			return nil
		}
	}
}
