package api

import (
	"encoding/json"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// What enters and leaves the API where it differs from the domain's own types.

// reading is a number, or a number with its standard deviation.
type reading ledger.Reading

type readingObject struct {
	Value  float64  `json:"value"`
	StdDev *float64 `json:"stddev,omitempty"`
}

// UnmarshalJSON reads 71.2 or {"value": 71.2, "stddev": 0.4}.
func (m *reading) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		return json.Unmarshal(text, (*readingObject)(m))
	}
	return json.Unmarshal(text, &m.Value)
}

func readings(in map[string]reading) map[string]ledger.Reading {
	if in == nil {
		return nil
	}
	out := make(map[string]ledger.Reading, len(in))
	for metric, r := range in {
		out[metric] = ledger.Reading(r)
	}
	return out
}

type trialRequest struct {
	Parameters       design.Settings      `json:"parameters"`
	Metrics          map[string]reading   `json:"metrics,omitempty"`
	Note             string               `json:"note,omitempty"`
	Context          map[string]float64   `json:"context,omitempty"`
	ConstraintValues map[string][]float64 `json:"constraint_values,omitempty"`
}

func (q trialRequest) domain() study.OwnTrial {
	return study.OwnTrial{Parameters: q.Parameters, Metrics: readings(q.Metrics), Note: q.Note, Context: q.Context, ConstraintValues: q.ConstraintValues}
}

type tellRequest struct {
	Metrics    map[string]reading `json:"metrics"`
	Parameters design.Settings    `json:"parameters,omitempty"`
	ObservedAt *time.Time         `json:"observed_at,omitempty"`
	Note       string             `json:"note,omitempty"`
}

func (q tellRequest) domain(number int, location string) study.Telling {
	return study.Telling{Number: number, Metrics: readings(q.Metrics), Parameters: q.Parameters, ObservedAt: q.ObservedAt, Note: q.Note, Location: location}
}

type bulkTelling struct {
	Number int `json:"number"`
	tellRequest
}

type bulkTellRequest struct {
	Trials []bulkTelling `json:"trials"`
}

type correctionRequest struct {
	Metrics    map[string]*reading `json:"metrics,omitempty"`
	Parameters design.Settings     `json:"parameters,omitempty"`
	Reason     string              `json:"reason"`
}

func (q correctionRequest) domain(number int) study.Correction {
	c := study.Correction{Number: number, Parameters: q.Parameters, Reason: q.Reason}
	if q.Metrics != nil {
		c.Metrics = make(map[string]*ledger.Reading, len(q.Metrics))
	}
	for metric, r := range q.Metrics {
		c.Metrics[metric] = (*ledger.Reading)(r)
	}
	return c
}

type reasonRequest struct {
	Reason string `json:"reason"`
}

type pointsRequest struct {
	Points []design.Settings `json:"points"`
}

type compareRequest struct {
	Algorithms []design.Algorithm `json:"algorithms"`
}
