package study

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Listing says which studies to list. They come newest change first.
type Listing struct {
	Only   []string       // these studies alone, when not nil
	States []ledger.State // in one of these states, when not nil
	After  *Mark          // only those behind this place
	Limit  int            // at most so many; 0 = all
}

// Mark is a place in the list of studies: right behind one that had this id and this last change. A
// study that changes moves to the front of the list and disturbs no place behind it.
type Mark struct {
	UpdatedAt time.Time
	ID        string
}

// String is the mark as one word: microseconds since 1970, a dot, the id.
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

// Summaries lists a page of studies, and the mark behind which the next page goes on, nil at the
// end.
func (s *Service) Summaries(ctx context.Context, list Listing) (page []ledger.Summary, next *Mark, err error) {
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

// Finding is something about a study that keeps it from doing as well as it could, and what would
// help.
type Finding struct {
	Kind      string `json:"kind"` // "scale": a number is on a linear scale that belongs on a log one; "doubt": what was told of a trial looks like a slip
	Parameter string `json:"parameter,omitempty"`
	Metric    string `json:"metric,omitempty"`
	Trial     int    `json:"trial,omitempty"`
	Says      string `json:"says"`
	Remedy    string `json:"remedy,omitempty"`
}

// InDoubt lists what is doubted of the trials that count, and nobody has confirmed.
func InDoubt(snap *ledger.Snapshot) []Finding {
	found := []Finding{}
	for _, t := range snap.Trials {
		for _, d := range t.Doubts {
			if !t.Excluded {
				found = append(found, Finding{Kind: "doubt", Parameter: d.Parameter, Metric: d.Metric, Trial: t.Number, Says: fmt.Sprintf("Trial %d: %s", t.Number, d.Why),
					Remedy: "correct it, exclude the trial, or confirm that it is right; until then it is not counted as the best reading"})
			}
		}
	}
	return found
}

// Health lists what is found in a study. rows are settings of a table that is about to be imported.
func Health(snap *ledger.Snapshot, rows ...design.Settings) []Finding {
	for i := range snap.Trials {
		if snap.Trials[i].Origin == ledger.Imported {
			rows = append(rows, snap.Trials[i].Parameters)
		}
	}
	d, found := snap.Definition, []Finding{}
	for _, p := range d.Parameters {
		if p.Scale != design.ScaleLinear {
			continue
		}
		why := d.WhyLog(p, d.LevelsOf(p.Name))
		if why == "" && len(d.Candidates) == 0 {
			why = d.WhyLog(p, design.Levels(rows, p.Name))
		}
		if why == "" {
			continue
		}
		found = append(found, Finding{
			Kind: "scale", Parameter: p.Name,
			Says:   fmt.Sprintf("%s is on a linear scale, but %s: on a log scale the model learns from fewer trials.", p.Name, why),
			Remedy: `reconfigure the parameter with "scale": "log"; every trial stays, and the next decision sees them all on the new scale`,
		})
	}
	return found
}
