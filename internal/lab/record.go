package lab

import (
	"slices"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Trial is one trial played.
type Trial struct {
	Settings design.Settings `json:"settings"`
	Read     Values          `json:"read"`
	Told     Values          `json:"told,omitempty"` // standard deviations told with it
	Truth    Values          `json:"truth"`
	Feasible bool            `json:"feasible"`         // in truth
	Failed   ledger.Cause    `json:"failed,omitempty"` // "" where it did not
	Late     []string        `json:"late,omitempty"`   // metrics told with the next results
	Unread   []string        `json:"unread,omitempty"` // metrics never told
	Known    bool            `json:"known"`            // the setting, or one that is nearly the same, had been tried or asked for before
	Reason   string          `json:"reason,omitempty"`
	Seconds  float64         `json:"seconds"` // its share of the request
}

// found tells of a trial whose settings could be used.
func (t Trial) found() bool { return t.Feasible && t.Failed == "" }

// outside tells of a trial that ran outside a limit: nothing is measured in one that fails.
func (t Trial) outside() bool { return !t.Feasible && t.Failed == "" }

// repeats tells of a trial at settings that had been tried or asked for.
func (t Trial) repeats() bool { return t.Known }

func (t Trial) fails() bool { return t.Failed != "" }

// toldAtOnce are the metrics that are neither late nor lost.
func (t Trial) toldAtOnce(metrics []string) []string {
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return slices.Contains(t.Late, m) || slices.Contains(t.Unread, m) })
}

// Record is a game played.
type Record struct {
	Seed  uint64  `json:"seed"`
	Start []Trial `json:"start"`
	Asks  []Trial `json:"asks"`
	Looks []Look  `json:"looks"` // at what the product says, the last at the end
	// Shown is the calibration that the product shows at the end, by metric.
	Shown map[string]study.Calibration `json:"shown"`
}

// trials are all trials by number, from 1.
func (r *Record) trials() []Trial { return slices.Concat(r.Start, r.Asks) }

// end is the last look.
func (r *Record) end() Look { return r.Looks[len(r.Looks)-1] }

// lookAt are the numbers of trials after which somebody looks at the study, before the end.
var lookAt = []int{12, 24, 40}

// Look is what the product says when a study has so many trials, those that are waiting among them.
type Look struct {
	Trials int `json:"trials"`
	// Recommended is the trial recommended: the start's come first, counted from 1; 0 for none.
	Recommended int `json:"recommended"`
	// Best is the interval said to hold the best value within the limits; nil where nothing was
	// said.
	Best *study.BestRange `json:"best,omitempty"`
	// Enough tells that it was said that little is left to gain, no more than Little, in the
	// objective's unit.
	Enough bool    `json:"enough,omitempty"`
	Little float64 `json:"little,omitempty"`
}

// outcome is what came of a trial: readings, some of them perhaps later than others, or that it
// failed.
type outcome struct {
	study.NumberedTelling
	Failed ledger.Cause `json:"failed,omitempty"`
}

// reads is the outcome of a trial that was read.
func reads(number int, metrics map[string]ledger.Reading) outcome {
	return outcome{NumberedTelling: study.NumberedTelling{Number: number, Telling: ledger.Telling{Metrics: metrics}}}
}

// readingsIn are all readings of outcomes, by metric.
func readingsIn(told []outcome) Values {
	all := Values{}
	for _, o := range told {
		for name, reading := range o.Metrics {
			all[name] = reading.Value
		}
	}
	return all
}
