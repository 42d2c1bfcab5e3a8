package api

import (
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

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
