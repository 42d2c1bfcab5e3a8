package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

type trialList struct {
	Trials []ledger.Trial `json:"trials"`
}

type trialPage struct {
	Trials []ledger.Trial `json:"trials"`
	Next   *int           `json:"next"` // ask for ?after=next to go on; null at the end
}

type preview struct {
	Impact study.Impact `json:"impact"`
}

var dryRun = queryParameter{"dry_run", "Store nothing, answer the impact", false}

// ofTrials are the operations of the loop.
func (a *API) ofTrials() operations {
	return operations{
		"listTrials": a.listTrials(),
		"correct":    a.correct(),
		"ask": changing(a, severalTrials, Operation{
			Summary: "Ask for suggestions, each a round of its own", BodyOptional: true, Status: 201, Answer: trialList{},
		}, func(r *http.Request, cmd study.Command, ask study.Ask) (*ledger.Snapshot, []int, error) {
			start := time.Now()
			defer func() { a.Asks.Observe(time.Since(start).Seconds()) }()
			return a.Studies.Ask(r.Context(), cmd, request.StudyID(r), ask)
		}),
		"addTrial": changing(a, madeTrial, Operation{
			Summary: "Add a trial of your own choice", Status: 201, Answer: ledger.Trial{},
		}, func(r *http.Request, cmd study.Command, own study.OwnTrial) (*ledger.Snapshot, []int, error) {
			return one(a.Studies.AddTrial(r.Context(), cmd, request.StudyID(r), own))
		}),
		"replicate": changing(a, madeTrial, Operation{
			Summary: "Ask for the same settings again on purpose", BodyOptional: true, Status: 201, Answer: ledger.Trial{},
		}, func(r *http.Request, cmd study.Command, _ struct{}) (*ledger.Snapshot, []int, error) {
			number, err := request.TrialNumber(r)
			if err != nil {
				return nil, nil, err
			}
			return one(a.Studies.Replicate(r.Context(), cmd, request.StudyID(r), number))
		}),
		"tell": changingTrial(a, Operation{Summary: "Report results of a trial", Light: true}, a.Studies.Tell),
		"undo": changingTrial(a, Operation{Summary: "Take back your own last telling of a trial, within a minute", BodyOptional: true},
			func(ctx context.Context, cmd study.Command, id string, number int, _ struct{}) (*ledger.Snapshot, error) {
				return a.Studies.Undo(ctx, cmd, id, number)
			}),
		"tellMany": changing(a, severalTrials, Operation{
			Summary: "Report results of several trials, all or none", Answer: trialList{}, Light: true,
		}, func(r *http.Request, cmd study.Command, told bulkTellRequest) (*ledger.Snapshot, []int, error) {
			numbers := make([]int, len(told.Trials))
			for i, t := range told.Trials {
				numbers[i] = t.Number
			}
			after, err := a.Studies.TellMany(r.Context(), cmd, request.StudyID(r), told.Trials)
			return after, numbers, err
		}),
		"fail": changingTrial(a, Operation{Summary: "Close a trial that failed, because of its settings or by chance; failing it again with the other cause corrects that"},
			func(ctx context.Context, cmd study.Command, id string, number int, why failRequest) (*ledger.Snapshot, error) {
				cause := ledger.BySettings
				if why.Cause != nil {
					cause = *why.Cause
				}
				return a.Studies.Fail(ctx, cmd, id, number, cause, why.Reason)
			}),
		"abandon": a.closing(ledger.Abandoned, "Close a trial that will not be run"),
		"exclude": a.closing(ledger.Excluded, "Leave a trial out of the model"),
		"include": a.closing(ledger.Included, "Take an excluded trial back in"),
		"confirm": changingTrial(a, Operation{Summary: "Say that what is doubted of a trial is right", BodyOptional: true},
			func(ctx context.Context, cmd study.Command, id string, number int, _ struct{}) (*ledger.Snapshot, error) {
				return a.Studies.Confirm(ctx, cmd, id, number)
			}),
		"readTrial": Operation{
			StaysOpen: true, Summary: "Read a trial", Answer: ledger.Trial{},
			Query: []queryParameter{{"wait", "Answer when the trial is complete, or after so many seconds (at most 60)", 0}, atParameter},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				number, err := request.TrialNumber(r)
				if err != nil {
					return err
				}
				wait, err := request.Asked(r, func(q *request.Query) time.Duration { return time.Duration(q.Whole("wait", 0, 60, 0)) * time.Second })
				if err != nil {
					return err
				}
				if wait > 0 {
					if err := a.awaitTrial(r, number, wait); err != nil {
						return err
					}
					if err := a.StillWelcome(r); err != nil {
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
			},
		},
	}
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
		trials[i] = *snap.Trials[number-1]
	}
	return trials
}

func changedTrial(after *ledger.Snapshot, numbers []int) reply {
	return reply{body: after.Trials[numbers[0]-1]}
}

func severalTrials(after *ledger.Snapshot, numbers []int) reply {
	return reply{body: trialList{trialsOf(after, numbers)}}
}

func madeTrial(after *ledger.Snapshot, numbers []int) reply {
	made := after.Trials[numbers[0]-1]
	return reply{fmt.Sprintf("/api/v1/studies/%s/trials/%d", after.ID, made.Number), made}
}

// one is a change that concerns one trial.
func one(after *ledger.Snapshot, number int, err error) (*ledger.Snapshot, []int, error) {
	return after, []int{number}, err
}

// changingTrial is an operation that changes the trial in the path.
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
		return one(after, number, err)
	})
}

// correct corrects a trial, or says what that would change.
func (a *API) correct() Operation {
	correcting := changingTrial(a, Operation{
		Summary: "Correct what was told; with dry_run, say what that would change", Answer: oneOf{ledger.Trial{}, preview{}}, Query: []queryParameter{dryRun},
	}, func(ctx context.Context, cmd study.Command, id string, number int, given study.Correction) (*ledger.Snapshot, error) {
		given.Number = number
		return a.Studies.Correct(ctx, cmd, id, given)
	})
	return previewing(correcting, func(r *http.Request, given study.Correction) (impact study.Impact, err error) {
		if given.Number, err = request.TrialNumber(r); err != nil {
			return impact, err
		}
		return a.Studies.PreviewCorrection(r.Context(), request.StudyID(r), given)
	})
}

// previewing is a change that is not made with dry_run: what foresee says that it would change is
// answered instead.
func previewing[Q any](changing Operation, foresee func(r *http.Request, given Q) (study.Impact, error)) Operation {
	change := changing.Handle
	changing.Handle = func(w http.ResponseWriter, r *http.Request) error {
		only, err := request.Asked(r, func(q *request.Query) bool { return q.Yes("dry_run") })
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
		return writeJSON(w, http.StatusOK, preview{impact})
	}
	return changing
}

// closing ends a trial, or sets it aside, for a reason.
func (a *API) closing(kind ledger.Kind, summary string) Operation {
	return changingTrial(a, Operation{Summary: summary}, func(ctx context.Context, cmd study.Command, id string, number int, why reasonRequest) (*ledger.Snapshot, error) {
		return a.Studies.Close(ctx, cmd, id, kind, number, why.Reason)
	})
}

// listTrials is the operation that lists trials by number and state.
func (a *API) listTrials() Operation {
	type trialsAsked struct {
		pageAsked
		statuses []ledger.Status
	}
	return reading(a, Operation{
		Summary: "List trials by number",
		Query:   []queryParameter{{"after", "Only trials with a higher number", 0}, limitParameter, {"status", "Only trials of these states, comma-separated", ""}},
	}, func(q *request.Query) trialsAsked {
		return trialsAsked{pageIn(q), request.Among(q, "status", ledger.StatusSuggested, ledger.StatusPartial, ledger.StatusCompleted, ledger.StatusFailed, ledger.StatusAbandoned)}
	}, func(_ context.Context, snap *ledger.Snapshot, asked trialsAsked) (trialPage, error) {
		return pageOf(snap.Trials, int(asked.after), int(asked.limit), asked.statuses), nil
	})
}

// pageOf takes the first limit trials with a number above after and one of the statuses (none:
// any).
func pageOf(trials []*ledger.Trial, after, limit int, statuses []ledger.Status) trialPage {
	page := trialPage{Trials: []ledger.Trial{}}
	for _, t := range trials[min(after, len(trials)):] {
		if len(statuses) > 0 && !slices.Contains(statuses, t.Status) {
			continue
		}
		if len(page.Trials) == limit {
			page.Next = new(page.Trials[limit-1].Number)
			break
		}
		page.Trials = append(page.Trials, *t)
	}
	return page
}

// awaitTrial returns when nothing more is expected of the trial, when the time is up, or when the
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

// reply is what a write answers, worked out from the study after it.
type reply struct {
	location string
	body     any
}

// renders makes an answer of the study afterwards and the trials concerned.
type renders = func(after *ledger.Snapshot, numbers []int) reply

// changing is the operation that reads a Q, changes a study by it and answers with what render
// makes of the study afterwards.
func changing[Q any](a *API, render renders, operation Operation,
	do func(r *http.Request, cmd study.Command, given Q) (*ledger.Snapshot, []int, error),
) Operation {
	var none Q
	operation.Body, operation.Writes = none, true
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		var given Q
		body, err := readJSON(r, &given)
		if err != nil {
			return err
		}
		return a.write(w, r, body, operation, render, func(cmd study.Command) (*ledger.Snapshot, []int, error) { return do(r, cmd, given) })
	}
	return operation
}

// write is the way every change of a study takes: it makes the command, lets do carry it out, and
// answers with what render makes of the study afterwards and the trials concerned. A request that
// was carried out before ends here, whatever the study has become since.
func (a *API) write(w http.ResponseWriter, r *http.Request, body []byte, operation Operation, render renders,
	do func(study.Command) (after *ledger.Snapshot, numbers []int, err error),
) error {
	cmd, err := a.command(r, body)
	if err == nil && !operation.Light {
		err = a.Database.Before(r.Context(), cmd.Key)
	}
	var after *ledger.Snapshot
	var numbers []int
	if err == nil {
		after, numbers, err = do(cmd)
	}
	return a.answer(w, r, cmp.Or(operation.Status, http.StatusOK), render, after, numbers, err)
}

// answer answers a change: what was carried out before under the same key, with the same answer,
// since the study as it was then says it.
func (a *API) answer(w http.ResponseWriter, r *http.Request, status int, render renders, after *ledger.Snapshot, numbers []int, err error) error {
	if first, ok := errors.AsType[*study.AlreadyDone](err); ok {
		numbers = first.Done.Trials
		after, err = a.Studies.Snapshot(r.Context(), first.Done.Study, first.Done.Version)
	}
	if err != nil {
		return err
	}
	out := render(after, numbers)
	if out.location != "" {
		w.Header().Set("Location", out.location)
	}
	w.Header().Set("ETag", etag(after.Version))
	return writeJSON(w, status, out.body)
}

// command builds how a write enters: who, against which version, and under which idempotency key.
func (a *API) command(r *http.Request, body []byte) (study.Command, error) {
	who, _ := request.Caller(r)
	version, err := ifMatch(r)
	if err != nil {
		return study.Command{}, err
	}
	key, err := readKey(r, body)
	if err != nil {
		return study.Command{}, err
	}
	return study.Command{By: who.By(), Author: who.Caller(), IfMatch: version, Key: key}, nil
}

// readKey reads Idempotency-Key, under which what is sent counts once; nil when there is none.
func readKey(r *http.Request, sent []byte) (*study.IdempotencyKey, error) {
	text, err := idempotencyKey(r.Header)
	if err != nil || text == "" {
		return nil, err
	}
	return request.Key(r, text, sent), nil
}

// idempotencyKey returns the key, "" when the header is absent.
func idempotencyKey(h http.Header) (string, error) {
	values, given := h["Idempotency-Key"]
	if !given {
		return "", nil
	}
	visible := func(r rune) bool { return '!' <= r && r <= '~' }
	if len(values) != 1 || values[0] == "" || len(values[0]) > 255 || strings.ContainsFunc(values[0], func(r rune) bool { return !visible(r) }) {
		return "", problem.Malformed("header", "Idempotency-Key", "Idempotency-Key must be one key of 1 to 255 visible ASCII characters.")
	}
	return values[0], nil
}

// ifMatch returns the version that a write insists on, 0 for any.
func ifMatch(r *http.Request) (int64, error) {
	header := strings.TrimSpace(strings.Join(r.Header["If-Match"], ","))
	if header == "" || header == "*" {
		return 0, nil
	}
	tag, opened := strings.CutPrefix(header, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	if !opened || !closed || strings.Contains(tag, `"`) {
		return 0, problem.Malformed("header", "If-Match", `If-Match must be one strong ETag of this study, such as "17".`)
	}
	version, err := strconv.ParseInt(tag, 10, 64)
	if err != nil || version < 1 {
		return 0, study.ErrStale
	}
	return version, nil
}

// ownJSON is what writes itself as encoding/json would, only faster.
type ownJSON interface {
	AppendJSON(text []byte) ([]byte, error)
}

// writeJSON answers with value. It is rendered whole before a byte is sent, so that a failure can
// still be told.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := []byte(nil), error(nil)
	if own, ok := value.(ownJSON); ok {
		body, err = own.AppendJSON(nil)
	} else {
		body, err = json.Marshal(value)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// etag is the strong entity tag of a study's version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// unchanged sets the ETag of what is about to be read and, when the caller has it already, answers
// 304.
func unchanged(w http.ResponseWriter, r *http.Request, version int64) bool {
	tag := etag(version)
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	for _, have := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		if have = strings.TrimPrefix(strings.TrimSpace(have), "W/"); have == tag || have == "*" {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// What enters the API where it differs from the domain's own types.

type bulkTellRequest struct {
	Trials []study.NumberedTelling `json:"trials"`
}

type reasonRequest struct {
	Reason string `json:"reason"`
}

type failRequest struct {
	Reason string        `json:"reason"`
	Cause  *ledger.Cause `json:"cause"` // absent: the settings
}

type pointsRequest struct {
	Points []design.Settings `json:"points"`
}

type compareRequest struct {
	Algorithms []design.Algorithm `json:"algorithms"`
}
