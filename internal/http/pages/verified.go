package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
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
				return show(w, r, http.StatusOK, templates.VerifiedLine(s.verified(r, snap)))
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
	return show(w, r, http.StatusOK, templates.VerifiedLine(s.verified(r, snap)))
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

// verificationBook remembers the last verification of each study while this server runs: it can be repeated at any time.
type verificationBook struct {
	mutex sync.Mutex
	last  map[string]view.Verification
}

// mostVerifications bounds the memory of the book.
const mostVerifications = 10_000

// note changes what the book has of a study.
func (b *verificationBook) note(id string, change func(*view.Verification)) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.last == nil {
		b.last = map[string]view.Verification{}
	}
	for other, v := range b.last {
		if len(b.last) >= mostVerifications && v.Going == 0 {
			delete(b.last, other)
		}
	}
	now := b.last[id]
	change(&now)
	b.last[id] = now
}

func (b *verificationBook) keep(snap *ledger.Snapshot, outcome study.Verification) {
	b.note(snap.ID, func(v *view.Verification) {
		v.Outcome, v.Version, v.Hash, v.At, v.Known, v.Trouble = outcome, snap.Version, snap.Hash, time.Now(), true, ""
	})
}

// begin tells whether a verification may begin: none of the study is under way.
func (b *verificationBook) begin(snap *ledger.Snapshot) (may bool) {
	b.note(snap.ID, func(v *view.Verification) {
		if may = v.Going == 0; may {
			v.Going, v.Trouble = snap.Version, ""
		}
	})
	return may
}

func (b *verificationBook) end(snap *ledger.Snapshot, outcome study.Verification, err error) {
	if err == nil {
		b.keep(snap, outcome)
	}
	b.note(snap.ID, func(v *view.Verification) {
		v.Going = 0
		switch {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded):
			v.Trouble = "It took too long and was paused; press again, and it goes on from where it is."
		default:
			v.Trouble = "It could not be finished: " + err.Error() + ". Press again, and it goes on from where it is."
		}
	})
}

// of is what the book has of a study.
func (b *verificationBook) of(id string) view.Verification {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.last[id]
}

// verified is how the last verification of the study ended, in words.
func (s *Site) verified(r *http.Request, now *ledger.Snapshot) templates.Verified {
	v := visiting(r, now)
	s.loadVerification(&v, now)
	return v.Verified()
}
