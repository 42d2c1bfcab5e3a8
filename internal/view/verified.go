package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Verification is what is known of verifying a study: the last outcome, and what is under way.
type Verification struct {
	Known   bool // there is an outcome
	Outcome study.Verification
	Version int64  // that it is of
	Hash    string // of the ledger's last event then
	At      time.Time
	Going   int64  // the version that is being verified now, 0 for none
	Walked  int64  // how far that is
	Trouble string // why the last attempt came to no outcome
}

// Verified puts the last verification into words.
func (v Facts) Verified() templates.Verified {
	last := v.Board.Verification
	shown := templates.Verified{Study: v.Head, Known: last.Known, Trouble: last.Trouble, Head: v.Board.Hash, Events: v.Board.Entries, Going: last.Going, Walked: last.Walked}
	if !last.Known {
		return shown
	}
	shown.OK, shown.At, shown.Hash = last.Outcome.OK, Stamp(last.At, v.Now), last.Hash
	shown.Text = fmt.Sprintf("up to ledger entry %d: %s replayed.", last.Version, words.Count(last.Outcome.Checked, "decision", "decisions"))
	if gone := goneWords(last.Outcome); gone != "" {
		shown.Text, shown.Partly = shown.Text+" "+design.Capitalised(gone)+".", true
	}
	if since := v.Board.Entries - last.Version; since > 0 {
		shown.Since = words.Count(int(since), "entry has", "entries have") + " been added since."
	}
	shown.Different = differences(last.Outcome)
	return shown
}

// verificationLines say when the study was verified last, and how far.
func (v reporting) verificationLines() []string {
	last := v.Board.Verification
	if !last.Known {
		return []string{"not verified yet. Export the study with its ledger and verify it with: headroom verify FILE"}
	}
	outcome := "does not verify"
	gone := goneWords(last.Outcome)
	switch {
	case last.Outcome.OK && gone != "":
		outcome = "verified in part"
	case last.Outcome.OK:
		outcome = "verified"
	}
	line := fmt.Sprintf("%s %s up to ledger entry %d: %s replayed, hash %s", outcome, words.Exact(last.At), last.Version, words.Count(last.Outcome.Checked, "decision", "decisions"), last.Hash)
	if gone != "" {
		line += "; " + gone
	}
	if last.Version < v.Snap.Version {
		line += fmt.Sprintf("; the %s after that not yet", words.Count(int(v.Snap.Version-last.Version), "entry", "entries"))
	}
	return append([]string{line + "."}, differences(last.Outcome)...)
}

// differences say what does not come out as the ledger has it.
func differences(outcome study.Verification) (list []string) {
	if !outcome.LedgerIntact {
		list = append(list, "The ledger’s hashes do not follow from each other: an entry was changed, or one is missing.")
	}
	for _, d := range outcome.Different {
		stored, replayed := plainly(d.Stored, words.Number), plainly(d.Replayed, words.Number)
		if stored == replayed { // to the digits that people read
			stored, replayed = plainly(d.Stored, allDigits), plainly(d.Replayed, allDigits)
		}
		list = append(list, fmt.Sprintf("Trial %d, %s: the ledger has %s, the replay gives %s.", d.Number, d.Field, stored, replayed))
	}
	return list
}

// goneWords say which decisions were not replayed; "" where all were.
func goneWords(outcome study.Verification) string {
	n := outcome.Unchecked
	if n == 0 {
		return ""
	}
	engines := "engine "
	if len(outcome.GoneEngines) > 1 {
		engines = "engines "
	}
	return words.Count(n, "decision was", "decisions were") + " made by rules that this program no longer has (" + engines + design.Listed(outcome.GoneEngines, "and") + "), and cannot be replayed"
}

func allDigits(x float64) string { return design.Typeset(design.NumberValue(x).String()) }

// plainly writes what a difference holds, which is JSON, its numbers as written does.
func plainly(value any, written func(float64) string) string {
	switch x := value.(type) {
	case nil:
		return "nothing"
	case float64:
		return written(x)
	case []any:
		texts := make([]string, len(x))
		for i, one := range x {
			texts[i] = plainly(one, written)
		}
		return strings.Join(texts, ", ")
	case map[string]any:
		texts := make([]string, 0, len(x))
		for _, name := range slices.Sorted(maps.Keys(x)) {
			texts = append(texts, name+" "+plainly(x[name], written))
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprint(value)
}
