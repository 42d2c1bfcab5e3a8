package pages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// Verify verifies the study. With scripts the page shows how far it is; without them it is answered when it is done.
func (s *Site) Verify(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		return submission{
			do: func(study.Command) error {
				if isPart(r) {
					return s.Studies.VerifyBehind(snap)
				}
				_, err := s.Studies.Verify(r.Context(), snap)
				return err
			},
			done: func() error {
				if !isPart(r) {
					return GoTo(w, r, "/studies/"+snap.ID+"/board#verified")
				}
				return s.showVerified(w, r, snap)
			},
		}
	})
}

// Verifying says how far a verification is, or how it ended.
func (s *Site) Verifying(w http.ResponseWriter, r *http.Request) error {
	seen, err := request.Seen(r)
	if err != nil {
		return err
	}
	snap, err := s.Studies.Since(r.Context(), request.StudyID(r), seen)
	if err != nil {
		return err
	}
	return s.showVerified(w, r, snap)
}

// verification is how verifying a study ended last, and how it goes on.
type verification struct {
	outcome study.Verification
	version int64
	hash    string // of the ledger's last event then
	at      time.Time
	known   bool   // there is an outcome
	going   int64  // the version that is being verified now, 0 for none
	walked  int64  // the event to which that has come
	trouble string // why the last attempt came to no outcome
}

// verificationOf reads how a study's verification stands.
func (s *Site) verificationOf(ctx context.Context, id string) (verification, error) {
	now, last, err := s.Studies.Verifying(ctx, id)
	v := verification{going: now.Going, walked: min(now.Walked, now.Going)}
	if last != nil {
		v.outcome, v.version, v.hash, v.at, v.known = last.Verification, last.Version, last.Hash, last.At, true
	}
	switch {
	case now.Failed == nil:
	case errors.Is(now.Failed, context.DeadlineExceeded):
		v.trouble = "It took too long and was paused; press again, and it goes on from where it is."
	default:
		v.trouble = "It could not be finished: " + now.Failed.Error() + ". Press again, and it goes on from where it is."
	}
	return v, err
}

// showVerified answers with how the study's verification stands.
func (s *Site) showVerified(w http.ResponseWriter, r *http.Request, now *ledger.Snapshot) error {
	last, err := s.verificationOf(r.Context(), now.ID)
	if err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.VerifiedLine(visiting(r, now).verified(last, now)))
}

// verified puts the last verification into words; now is the study as it is.
func (v visit) verified(last verification, now *ledger.Snapshot) templates.Verified {
	shown := templates.Verified{Study: v.head, Known: last.known, Trouble: last.trouble, Head: now.Hash, Events: now.Version}
	if last.going > 0 {
		shown.Going, shown.Walked = last.going, last.walked
	}
	if !last.known {
		return shown
	}
	shown.OK, shown.At, shown.Hash = last.outcome.OK, stamp(last.at, v.now), last.hash
	shown.Text = fmt.Sprintf("up to ledger entry %d: %s replayed.", last.version, count(last.outcome.Checked, "decision", "decisions"))
	if gone := goneWords(last.outcome); gone != "" {
		shown.Text, shown.Partly = shown.Text+" "+capitalised(gone)+".", true
	}
	if since := now.Version - last.version; since > 0 {
		shown.Since = count(int(since), "entry has", "entries have") + " been added since."
	}
	if !last.outcome.LedgerIntact {
		shown.Different = append(shown.Different, "The ledger’s hashes do not follow from each other: an entry was changed, or one is missing.")
	}
	for _, d := range last.outcome.Different {
		stored, replayed := plainly(d.Stored, number), plainly(d.Replayed, number)
		if stored == replayed { // to the digits that people read
			stored, replayed = plainly(d.Stored, allDigits), plainly(d.Replayed, allDigits)
		}
		shown.Different = append(shown.Different, fmt.Sprintf("Trial %d, %s: the ledger has %s, the replay gives %s.", d.Number, d.Field, stored, replayed))
	}
	return shown
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
	return count(n, "decision was", "decisions were") + " made by rules that this program no longer has (" + engines + listed(outcome.GoneEngines) + "), and cannot be replayed"
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
