package pages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
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
					return s.verifyBehind(snap)
				}
				outcome, err := s.Studies.Verify(r.Context(), snap)
				if err == nil {
					s.verifications.keep(snap, outcome)
				}
				return err
			},
			done: func() error {
				if !isPart(r) {
					return GoTo(w, r, "/studies/"+snap.ID+"/board#verified")
				}
				return show(w, r, http.StatusOK, templates.VerifiedLine(s.verified(visiting(r, snap), snap)))
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
	return show(w, r, http.StatusOK, templates.VerifiedLine(s.verified(visiting(r, snap), snap)))
}

// verifyBehind lets the verification go on while the page looks on; one of a study at a time.
func (s *Site) verifyBehind(snap *ledger.Snapshot) error {
	if !s.verifications.begin(snap) {
		return nil
	}
	started := s.Studies.VerifyBehind(snap, func(outcome study.Verification, err error) {
		s.verifications.end(snap, outcome, err)
	})
	if !started {
		s.verifications.end(snap, study.Verification{}, study.ErrUnavailable)
		return fmt.Errorf("the server is stopping: %w", study.ErrUnavailable)
	}
	return nil
}

// verification is the outcome of verifying a study at one version.
type verification struct {
	outcome study.Verification
	version int64
	hash    string // of the ledger's last event then
	at      time.Time
	known   bool   // there is an outcome
	going   int64  // the version that is being verified now, 0 for none
	trouble string // why the last attempt came to no outcome
}

// verificationBook remembers the last verification of each study while this server runs: it can be repeated at any time.
type verificationBook struct {
	mutex sync.Mutex
	last  map[string]verification
}

// mostVerifications bounds the memory of the book.
const mostVerifications = 10_000

// note changes what the book has of a study.
func (b *verificationBook) note(id string, change func(*verification)) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.last == nil {
		b.last = map[string]verification{}
	}
	for other, v := range b.last {
		if len(b.last) >= mostVerifications && v.going == 0 {
			delete(b.last, other)
		}
	}
	now := b.last[id]
	change(&now)
	b.last[id] = now
}

func (b *verificationBook) keep(snap *ledger.Snapshot, outcome study.Verification) {
	b.note(snap.ID, func(v *verification) {
		v.outcome, v.version, v.hash, v.at, v.known, v.trouble = outcome, snap.Version, snap.Hash, time.Now(), true, ""
	})
}

// begin tells whether a verification may begin: none of the study is under way.
func (b *verificationBook) begin(snap *ledger.Snapshot) (may bool) {
	b.note(snap.ID, func(v *verification) {
		if may = v.going == 0; may {
			v.going, v.trouble = snap.Version, ""
		}
	})
	return may
}

func (b *verificationBook) end(snap *ledger.Snapshot, outcome study.Verification, err error) {
	if err == nil {
		b.keep(snap, outcome)
	}
	b.note(snap.ID, func(v *verification) {
		v.going = 0
		switch {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded):
			v.trouble = "It took too long and was paused; press again, and it goes on from where it is."
		default:
			v.trouble = "It could not be finished: " + err.Error() + ". Press again, and it goes on from where it is."
		}
	})
}

// of is what the book has of a study.
func (b *verificationBook) of(id string) verification {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.last[id]
}

// verified puts the last verification into words; now is the study as it is.
func (s *Site) verified(v visit, now *ledger.Snapshot) templates.Verified {
	last := s.verifications.of(v.snap.ID)
	shown := templates.Verified{Study: v.head, Known: last.known, Trouble: last.trouble, Head: now.Hash, Events: now.Version}
	if last.going > 0 {
		shown.Going, shown.Walked = last.going, min(s.Studies.Verified(v.snap.ID), last.going)
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

// plainly writes what a difference holds, its numbers as written does.
func plainly(value any, written func(float64) string) string {
	switch x := value.(type) {
	case nil:
		return "nothing"
	case *float64:
		if x == nil {
			return "nothing"
		}
		return written(*x)
	case float64:
		return written(x)
	case []float64:
		texts := make([]string, len(x))
		for i, one := range x {
			texts[i] = written(one)
		}
		return strings.Join(texts, ", ")
	case design.Settings:
		texts := make([]string, 0, len(x))
		for _, name := range slices.Sorted(maps.Keys(x)) {
			texts = append(texts, name+" "+x[name].String())
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprint(value)
}
