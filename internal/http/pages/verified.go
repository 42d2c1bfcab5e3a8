package pages

import (
	"context"
	"errors"
	"net/http"

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

// verificationOf reads how a study's verification stands.
func (s *Site) verificationOf(ctx context.Context, id string) (view.Verification, error) {
	now, last, err := s.Studies.Verifying(ctx, id)
	v := view.Verification{Going: now.Going, Walked: min(now.Walked, now.Going)}
	if last != nil {
		v.Outcome, v.Version, v.Hash, v.At, v.Known = last.Verification, last.Version, last.Hash, last.At, true
	}
	switch {
	case now.Failed == nil:
	case errors.Is(now.Failed, context.DeadlineExceeded):
		v.Trouble = "It took too long and was paused; press again, and it goes on from where it is."
	default:
		v.Trouble = "It could not be finished: " + now.Failed.Error() + ". Press again, and it goes on from where it is."
	}
	return v, err
}

// showVerified answers with how the study's verification stands.
func (s *Site) showVerified(w http.ResponseWriter, r *http.Request, now *ledger.Snapshot) error {
	v := visiting(r, now)
	if err := s.loadVerification(r.Context(), &v, now); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.VerifiedLine(v.Verified()))
}
