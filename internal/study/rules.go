package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// mayChoose refuses new trials unless the study is open.
func mayChoose(snap *ledger.Snapshot) error {
	if snap.State == ledger.Open {
		return nil
	}
	return conflict("The study is %s; new trials are possible only while it is open. Set its state to open first.", snap.State)
}

// Limits on what people write and what instruments read.
const (
	maximalNote   = 10000 // characters
	maximalReason = 1000
	// mostTellings is how many trials one request can tell of: as many as a table has rows.
	mostTellings = maxRows
)

func mayTell(snap *ledger.Snapshot) error {
	if snap.State == ledger.Archived {
		return conflict("The study is archived; nothing can be told or corrected. Set its state to open, paused or finished first.")
	}
	return nil
}

// mayTellOf is the trial of that number, of which something may be told.
func mayTellOf(snap *ledger.Snapshot, number int) (*ledger.Trial, error) {
	if err := mayTell(snap); err != nil {
		return nil, err
	}
	return trialOf(snap, number)
}

func trialOf(snap *ledger.Snapshot, number int) (*ledger.Trial, error) {
	trial := snap.Trial(number)
	if trial == nil {
		return nil, notFound("%s", noSuchTrial(snap, number))
	}
	return trial, nil
}

// hasAll tells whether the study has such metrics and parameters, which keep their names.
func hasAll[V any](snap *ledger.Snapshot, metrics map[string]V, parameters design.Settings) bool {
	for name := range metrics {
		if _, there := snap.Compiled().Metric(name); !there {
			return false
		}
	}
	return snap.Compiled().Names(parameters)
}

// mustBeTold refuses a metric whose value comes with the decision.
func mustBeTold(snap *ledger.Snapshot, name string) error {
	if m, _ := snap.Compiled().Metric(name); m.Known {
		return conflict("%s is worked out from the settings when a trial is chosen; it cannot be told.", name)
	}
	return nil
}

// checkMetricName returns a fault for a name that is no metric of the study.
func checkMetricName(snap *ledger.Snapshot, name string) design.Faults {
	if _, there := snap.Compiled().Metric(name); there {
		return nil
	}
	return design.Faults{{Field: "metrics." + design.Shorten(name), Message: design.UnknownName("metric", name, snap.Definition.MetricNames())}}
}

// checkReading refuses what is not a finite number of reasonable size.
func checkReading(metric string, r ledger.Reading) (faults design.Faults) {
	at := "metrics." + design.Shorten(metric)
	if !design.Computable(r.Value) {
		faults.Add(at, nil, "a finite number of at most 1e100 in size is needed")
	}
	if r.StdDev != nil && !(*r.StdDev > 0 && *r.StdDev <= design.Largest) {
		faults.Add(at+".stddev", nil, "a standard deviation above 0 is needed; leave it out when it is not known")
	}
	return faults
}

func checkNote(note string) (faults design.Faults) {
	if n := utf8.RuneCountInString(note); n > maximalNote {
		faults.Add("note", nil, "at most %d characters are kept, these are %d", maximalNote, n)
	}
	if wrong := design.CheckText(note); wrong != "" {
		faults.Add("note", nil, "%s", wrong)
	}
	return faults
}

func checkReason(reason string) (faults design.Faults) {
	n := utf8.RuneCountInString(reason)
	switch {
	case strings.TrimSpace(reason) == "":
		faults.Add("reason", nil, "a reason is needed; the ledger keeps it")
	case n > maximalReason:
		faults.Add("reason", nil, "at most %d characters are kept, these are %d", maximalReason, n)
	case design.CheckText(reason) != "":
		faults.Add("reason", nil, "%s", design.CheckText(reason))
	}
	return faults
}

func noSuchTrial(snap *ledger.Snapshot, number int) string {
	return fmt.Sprintf("There is no trial %d; the study has %d.", number, len(snap.Trials))
}

// usedSettings are settings placed in the space, with what follows from them.
type usedSettings struct {
	settings  design.Settings
	candidate *int
	known     map[string]float64
}

// settingsUsed places the settings that were used in a trial instead of those chosen.
func settingsUsed(snap *ledger.Snapshot, trial *ledger.Trial, settings design.Settings) (usedSettings, design.Faults) {
	placed, place, faults := snap.Compiled().PlaceUsed(settings, "parameters")
	if len(faults) > 0 {
		return usedSettings{}, faults
	}
	known, faults := snap.Compiled().KnownAt(placed, place, trial.Brought())
	return usedSettings{placed, candidateOf(place), known}, faults
}

// sortedKeys makes what people are told independent of the order of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func candidateOf(place optimizer.Place) *int {
	if place.Arm < 0 {
		return nil
	}
	return new(place.Arm)
}
