package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"headroom/internal/http/request"
	"headroom/internal/lists"
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

type trialsQuery struct {
	pageQuery
	statuses []ledger.Status
}

type preview struct {
	Impact study.Impact `json:"impact"`
}

var dryRun = queryParameter{"dry_run", "Store nothing, and answer what would change", false}

var statusParameter = queryParameter{"status", "Only trials of these states, comma-separated", ""}

func readStatuses(q *request.Query) []ledger.Status {
	return request.ListOf(q, "status", ledger.Statuses...)
}

// withStatus returns the trials with one of the statuses; none stands for any.
func withStatus(trials []*ledger.Trial, statuses []ledger.Status) []*ledger.Trial {
	return lists.Pick(trials, func(t *ledger.Trial) (*ledger.Trial, bool) {
		return t, len(statuses) == 0 || slices.Contains(statuses, t.Status)
	})
}

func (a *API) trialOperations() operations {
	return operations{
		"listTrials": reading(a, Operation{
			Summary: "List trials by number",
			Query:   []queryParameter{{"after", "Only trials with a higher number", 0}, limitParameter, statusParameter},
		}, func(q *request.Query) trialsQuery {
			return trialsQuery{readPageQuery(q), readStatuses(q)}
		}, func(_ context.Context, snap *ledger.Snapshot, asked trialsQuery) (trialPage, error) {
			return pageOf(snap.Trials, int(asked.after), int(asked.limit), asked.statuses), nil
		}),
		"correct": withDryRun(changingTrial(a, Operation{
			Summary: "Correct what was told; with dry_run, say what that would change", Answer: oneOf{ledger.Trial{}, preview{}}, Query: []queryParameter{dryRun},
		}, func(ctx context.Context, cmd study.Command, id string, number int, given study.Correction) (*ledger.Snapshot, error) {
			given.Number = number
			return a.Studies.Correct(ctx, cmd, id, given)
		}), func(r *http.Request, given study.Correction) (impact study.Impact, err error) {
			if given.Number, err = request.TrialNumber(r); err != nil {
				return impact, err
			}
			who, _ := request.Caller(r)
			return a.Studies.PreviewCorrection(r.Context(), study.Command{By: who.By()}, request.StudyID(r), given)
		}),
		"ask": changing(a, severalTrials, Operation{
			Summary: "Ask for suggestions, each a round of its own; settings in held are kept, and the algorithm chooses the others", BodyOptional: true, Status: 201, Answer: trialList{},
		}, func(r *http.Request, cmd study.Command, ask study.Ask) (*ledger.Snapshot, []int, error) {
			start := time.Now()
			defer func() { a.Asks.Observe(time.Since(start).Seconds()) }()
			return a.Studies.Ask(r.Context(), cmd, request.StudyID(r), ask)
		}),
		"addTrial": changing(a, madeTrial, Operation{
			Summary: "Add a trial of your own choice", Status: 201, Answer: ledger.Trial{},
		}, func(r *http.Request, cmd study.Command, own study.OwnTrial) (*ledger.Snapshot, []int, error) {
			return a.Studies.AddTrial(r.Context(), cmd, request.StudyID(r), own)
		}),
		"replicate": changing(a, madeTrial, Operation{
			Summary: "Ask for the same settings again on purpose", BodyOptional: true, Status: 201, Answer: ledger.Trial{},
		}, func(r *http.Request, cmd study.Command, _ struct{}) (*ledger.Snapshot, []int, error) {
			number, err := request.TrialNumber(r)
			if err != nil {
				return nil, nil, err
			}
			return a.Studies.Replicate(r.Context(), cmd, request.StudyID(r), number)
		}),
		"tell": changingTrial(a, Operation{Summary: "Report results of a trial", Light: true}, a.Studies.Tell),
		"undo": changingTrial(a, Operation{Summary: "Take back your own last results of a trial, within a minute", BodyOptional: true},
			func(ctx context.Context, cmd study.Command, id string, number int, _ struct{}) (*ledger.Snapshot, error) {
				return a.Studies.Undo(ctx, cmd, id, number)
			}),
		"tellMany": changing(a, severalTrials, Operation{
			Summary: "Report results of several trials, all or none", Answer: trialList{}, Light: true,
		}, func(r *http.Request, cmd study.Command, told bulkTellRequest) (*ledger.Snapshot, []int, error) {
			numbers := lists.Map(told.Trials, func(t study.NumberedTelling) int { return t.Number })
			after, err := a.Studies.TellMany(r.Context(), cmd, request.StudyID(r), told.Trials)
			return after, numbers, err
		}),
		"undoMany": withDryRun(changing(a, severalTrials, Operation{
			Summary: "Take back all that one request wrote, such as a table, as far as it still stands: event is one of its events, such as the version that it was answered with. " +
				"Trials that began with it count as not run; with dry_run, say what that would change",
			Answer: oneOf{trialList{}, preview{}}, Query: []queryParameter{dryRun},
		}, func(r *http.Request, cmd study.Command, given study.Undoing) (*ledger.Snapshot, []int, error) {
			return a.Studies.UndoMany(r.Context(), cmd, request.StudyID(r), given)
		}), func(r *http.Request, given study.Undoing) (study.Impact, error) {
			who, _ := request.Caller(r)
			return a.Studies.PreviewUndoing(r.Context(), study.Command{By: who.By()}, request.StudyID(r), given)
		}),
		"fail": changingTrial(a, Operation{Summary: "Close a trial that failed, because of its settings or by chance; failing it again with the other cause corrects that"},
			func(ctx context.Context, cmd study.Command, id string, number int, why failRequest) (*ledger.Snapshot, error) {
				cause := ledger.BySettings
				if why.Cause != nil {
					cause = *why.Cause
				}
				return a.Studies.Close(ctx, cmd, id, ledger.Failed, ledger.ClosedData{Number: number, Reason: why.Reason, Cause: cause})
			}),
		"abandon": a.closing(ledger.Abandoned, "Close a trial that will not be run"),
		"exclude": a.closing(ledger.Excluded, "Leave a trial out of the model"),
		"include": a.closing(ledger.Included, "Take an excluded trial back in"),
		"confirm": changingTrial(a, Operation{Summary: "Confirm that the doubted values of a trial are right", BodyOptional: true},
			func(ctx context.Context, cmd study.Command, id string, number int, _ struct{}) (*ledger.Snapshot, error) {
				return a.Studies.Confirm(ctx, cmd, id, number)
			}),
		"readTrial": Operation{
			StaysOpen: true, Summary: "Read a trial", Answer: ledger.Trial{},
			Query: []queryParameter{{"wait", "Wait until the trial is complete, for at most this many seconds (60 or fewer); with at, there is no waiting", 0}, atParameter},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				number, err := request.TrialNumber(r)
				if err != nil {
					return err
				}
				wait, err := request.Parse(r, func(q *request.Query) time.Duration {
					wait := time.Duration(q.Int("wait", 0, 60, 0)) * time.Second
					if _, past := q.One("at"); past {
						return 0 // the past does not change
					}
					return wait
				})
				if err != nil {
					return err
				}
				if wait > 0 {
					if err := a.awaitTrial(r, number, wait); err != nil {
						return err
					}
					if err := a.StillAllowed(r); err != nil {
						return err
					}
				}
				snap, err := a.snapshot(r)
				if err != nil {
					return err
				}
				trial, err := study.TrialOf(snap, number)
				if err != nil {
					return err
				}
				if notModified(w, r, snap.Version) {
					return nil
				}
				return writeJSON(w, http.StatusOK, trial)
			},
		},
	}
}

func changedTrial(after *ledger.Snapshot, numbers []int) reply {
	return reply{body: after.Trials[numbers[0]-1]}
}

func severalTrials(after *ledger.Snapshot, numbers []int) reply {
	return reply{body: trialList{lists.Map(numbers, func(number int) ledger.Trial { return *after.Trials[number-1] })}}
}

func madeTrial(after *ledger.Snapshot, numbers []int) reply {
	made := after.Trials[numbers[0]-1]
	return reply{fmt.Sprintf("/api/v1/studies/%s/trials/%d", after.ID, made.Number), made}
}

func changingTrial[Q any](a *API, operation Operation, do func(ctx context.Context, cmd study.Command, id string, number int, given Q) (*ledger.Snapshot, error)) Operation {
	if operation.Answer == nil {
		operation.Answer = ledger.Trial{}
	}
	return changing(a, changedTrial, operation, func(r *http.Request, cmd study.Command, given Q) (*ledger.Snapshot, []int, error) {
		number, err := request.TrialNumber(r)
		if err != nil {
			return nil, nil, err
		}
		after, err := do(r.Context(), cmd, request.StudyID(r), number, given)
		return after, []int{number}, err
	})
}

// withDryRun returns a change that, with dry_run, is not made: the answer is then what foresee says
// that it would change.
func withDryRun[Q any](changing Operation, foresee func(r *http.Request, given Q) (study.Impact, error)) Operation {
	change := changing.Handle
	changing.Handle = func(w http.ResponseWriter, r *http.Request) error {
		only, err := request.Parse(r, func(q *request.Query) bool { return q.Bool("dry_run") })
		if err != nil {
			return err
		}
		if !only {
			return change(w, r)
		}
		var given Q
		if _, err := readJSON(r, &given); err != nil {
			return err
		}
		impact, err := foresee(r, given)
		if err != nil {
			return err
		}
		w.Header().Set("ETag", etag(impact.Version))
		return writeJSON(w, http.StatusOK, preview{impact})
	}
	return changing
}

// closing returns the operation that ends a trial, or sets it aside, for a reason.
func (a *API) closing(kind ledger.Kind, summary string) Operation {
	return changingTrial(a, Operation{Summary: summary}, func(ctx context.Context, cmd study.Command, id string, number int, why reasonRequest) (*ledger.Snapshot, error) {
		return a.Studies.Close(ctx, cmd, id, kind, ledger.ClosedData{Number: number, Reason: why.Reason})
	})
}

// pageOf returns the first limit trials with a number above after and one of the statuses; none
// stands for any.
func pageOf(trials []*ledger.Trial, after, limit int, statuses []ledger.Status) trialPage {
	page := trialPage{Trials: []ledger.Trial{}}
	for _, t := range withStatus(trials[min(after, len(trials)):], statuses) {
		if len(page.Trials) == limit {
			page.Next = new(page.Trials[limit-1].Number)
			break
		}
		page.Trials = append(page.Trials, *t)
	}
	return page
}

// awaitTrial returns when the trial waits for no more results, when the time is up, or when the
// server stops.
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
		trial, err := study.TrialOf(snap, number)
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
