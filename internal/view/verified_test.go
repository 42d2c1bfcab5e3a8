package view

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestWordsOfVerification: what holds, what differs and what can no longer be replayed are three answers.
func TestWordsOfVerification(t *testing.T) {
	t.Parallel()
	snap := &ledger.Snapshot{ID: "k3v9x2m7qd4t", Version: 30, Hash: "9f86"}
	stored, replayed := 71.2, 71.20000081
	for name, c := range map[string]struct {
		outcome    study.Verification
		ok, partly bool
		text       string
		different  []string
	}{
		"holds": {outcome: study.Verification{OK: true, LedgerIntact: true, Checked: 12, Rules: study.RulesPresent}, ok: true, text: "up to ledger entry 30: 12 decisions replayed."},
		"gone": {outcome: study.Verification{OK: true, LedgerIntact: true, Checked: 1, Unchecked: 12, Rules: study.RulesGone, GoneEngines: []string{"1", "4"}}, ok: true, partly: true,
			text: "1 decision replayed. 12 decisions were made by rules that this program no longer has (engines 1 and 4), and cannot be replayed."},
		"differs": {outcome: study.Verification{LedgerIntact: true, Checked: 12, Rules: study.RulesPresent, Different: []study.Difference{
			{Number: 3, Field: "mean.yield", Stored: 61.5, Replayed: 62.0}, {Number: 4, Field: "acquisition", Stored: &stored, Replayed: &replayed}, {Number: 5, Field: "acquisition", Stored: (*float64)(nil), Replayed: &stored},
			{Number: 6, Field: "model.yield.lengthscales", Stored: []float64{0.5, 2}, Replayed: []float64{0.25, 2}},
			{Number: 7, Field: "parameters", Stored: design.Settings{"temperature": design.NumberValue(33), "catalyst": design.TextValue("B")}}}},
			text: "12 decisions replayed.", different: []string{
				"Trial 3, mean.yield: the ledger has 61.5, the replay gives 62.", "Trial 4, acquisition: the ledger has 71.2, the replay gives 71.20000081.", "Trial 5, acquisition: the ledger has nothing, the replay gives 71.2.",
				"Trial 6, model.yield.lengthscales: the ledger has 0.5, 2, the replay gives 0.25, 2.", "Trial 7, parameters: the ledger has catalyst B, temperature 33, the replay gives nothing."}},
	} {
		text, err := json.Marshal(c.outcome) // as the database keeps it
		if err != nil {
			t.Fatal(err)
		}
		var kept study.Verification
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		v := Facts{Snap: snap, Now: now, Board: BoardFacts{Entries: snap.Version, Hash: snap.Hash, Verification: Verification{Known: true, Outcome: kept, Version: snap.Version, Hash: snap.Hash, At: now}}}
		shown := v.Verified()
		if shown.OK != c.ok || shown.Partly != c.partly || !strings.Contains(shown.Text, c.text) || !slices.Equal(shown.Different, c.different) {
			t.Errorf("%s: %+v", name, shown)
		}
		words := map[string]string{"holds": "verified 2", "gone": "verified in part ", "differs": "does not verify "}[name]
		if lines := (reporting{Facts: v}).verificationLines(); !strings.HasPrefix(lines[0], words) {
			t.Errorf("%s: %q", name, lines)
		}
	}
}
