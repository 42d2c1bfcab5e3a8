package ledger

import "time"

// Summary is one line of the list of studies. It stands on the study's row in the store, so that
// lists read neither trials nor ledgers.
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
	Limits        []Limit    `json:"limits"`
	SimulatedLab  string     `json:"simulated_lab,omitempty"` // the simulator's problem that answers, "" where a laboratory does
}

// Limit is a constraint in a line of the list.
type Limit struct {
	Name      string  `json:"name"`
	Metric    string  `json:"metric"`
	Op        string  `json:"op"`
	Threshold float64 `json:"threshold"`
	Unit      string  `json:"unit,omitempty"`
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
		CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt, Trials: len(snap.Trials), Algorithm: snap.Definition.Algorithm.Name,
		Limits: []Limit{}, SimulatedLab: snap.Definition.SimulatedLab}
	for _, c := range snap.Definition.Constraints {
		s.Limits = append(s.Limits, Limit{c.Name, c.Metric, c.Op, c.Threshold, c.Unit})
	}
	s.Feasible, s.Known = snap.Feasibility()
	for _, t := range snap.Trials {
		if !t.Waiting() {
			continue
		}
		if s.Waiting++; s.Waiting == 1 {
			s.OldestWaiting = &t.CreatedAt
		}
	}
	if t := snap.Best(); t != nil {
		objective := snap.Definition.Objective
		s.Best = &BestTrial{Number: t.Number, Metric: objective.Metric, Value: t.Metrics[objective.Metric].Value, Unit: objective.Unit}
	}
	return s
}
