package study

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Summary is one line of the list of studies. It stands on the study's row in the store, so that lists read neither trials nor ledgers.
type Summary struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	State         State      `json:"state"`
	Version       int64      `json:"version"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	Trials        int        `json:"trials"`
	Waiting       int        `json:"waiting"` // suggested or partial
	OldestWaiting *time.Time `json:"oldest_waiting,omitempty"`
	Feasible      int        `json:"feasible"`          // trials within every limit
	Known         int        `json:"feasibility_known"` // trials of which it is known whether they are
	Best          *BestTrial `json:"best"`              // null while none is known to be within every limit
	Algorithm     string     `json:"algorithm"`
}

// BestTrial is the best included trial known to be within every limit.
type BestTrial struct {
	Number int     `json:"number"`
	Metric string  `json:"metric"` // the objective's
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
}

// Summary is the study's line in a list.
func (snap *Snapshot) Summary() Summary {
	s := Summary{ID: snap.ID, Name: snap.Definition.Name, State: snap.State, Version: snap.Version,
		CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt, Trials: len(snap.Trials), Algorithm: snap.Definition.Algorithm.Name}
	for i := range snap.Trials {
		if t := &snap.Trials[i]; t.Waiting() {
			s.Waiting++
			if s.OldestWaiting == nil {
				created := t.CreatedAt
				s.OldestWaiting = &created
			}
		}
	}
	s.Feasible, s.Known = snap.Feasibility()
	if t := snap.Best(); t != nil {
		objective := snap.Definition.Objective
		s.Best = &BestTrial{Number: t.Number, Metric: objective.Metric, Value: t.Metrics[objective.Metric].Value, Unit: objective.Unit}
	}
	return s
}

// Summarise folds a whole ledger to the study's line in a list.
func Summarise(id string, ledger []Event) (Summary, error) {
	snap, err := fold(id, nil, ledger, nil)
	if err != nil {
		return Summary{}, err
	}
	return snap.Summary(), nil
}

// Listing says which studies to list. They come newest change first.
type Listing struct {
	Only   []string // these studies alone, when not nil
	States []State  // in one of these states, when not nil
	After  *Mark    // only those behind this place
	Limit  int      // at most so many; 0 = all
}

// Mark is a place in the list of studies: right behind one that had this id and this last change. A study that changes moves to the front of
// the list and disturbs no place behind it.
type Mark struct {
	UpdatedAt time.Time
	ID        string
}

// String is the mark as it stands in a URL: microseconds since 1970, a dot, the id.
func (m Mark) String() string { return strconv.FormatInt(m.UpdatedAt.UnixMicro(), 10) + "." + m.ID }

// ParseMark reads what String wrote.
func ParseMark(text string) (Mark, error) {
	at, id, dotted := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !dotted || id == "" || micros < 0 || micros > latestMark {
		return Mark{}, fmt.Errorf("%q is not the next of a page of studies", text)
	}
	return Mark{UpdatedAt: time.UnixMicro(micros).UTC(), ID: id}, nil
}

// latestMark is the end of the year 9999, in microseconds since 1970.
const latestMark = 253402300799999999

// Summaries lists a page of studies, and the mark behind which the next page goes on, nil at the end.
func (s *Service) Summaries(ctx context.Context, list Listing) (page []Summary, next *Mark, err error) {
	limit := list.Limit
	if limit > 0 {
		list.Limit++ // one more, to know whether there is a next page
	}
	page, err = s.store.Summaries(ctx, list)
	if err != nil || limit == 0 || len(page) <= limit {
		return page, nil, err
	}
	last := page[limit-1]
	return page[:limit], &Mark{last.UpdatedAt, last.ID}, nil
}
