package study

import (
	"context"
	"fmt"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

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
	Kind      string `json:"kind"` // "scale": a number is on a linear scale that belongs on a log one; "doubt": what was told of a trial looks like a slip; "drift": a metric comes out otherwise than it did
	Parameter string `json:"parameter,omitempty"`
	Metric    string `json:"metric,omitempty"`
	Trial     int    `json:"trial,omitempty"`
	Since     int    `json:"since,omitempty"` // the trial from which about it drifts
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
					Remedy: "correct it, exclude the trial, or confirm that it is right; until then it is " + snap.DoubtMeans(t)})
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
		if p.Scale != design.ScaleLinear || notAboveZero(snap, p.Name) != nil {
			continue
		}
		why := d.WhyLog(p, design.Levels(d.Candidates, p.Name))
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

// notAboveZero is the first trial that was run with a parameter at 0 or below.
func notAboveZero(snap *ledger.Snapshot, parameter string) *ledger.Trial {
	i := slices.IndexFunc(snap.Trials, func(t *ledger.Trial) bool { return !(t.Parameters[parameter].Number > 0) })
	return snap.Trial(i + 1)
}
