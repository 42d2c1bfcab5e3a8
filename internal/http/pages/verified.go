package pages

import (
	"net/http"

	"headroom/internal/http/request"
	"headroom/internal/study"
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

// showVerified answers with how the study's verification stands.
func (s *Site) showVerified(w http.ResponseWriter, r *http.Request, now *ledger.Snapshot) error {
	v := visiting(r, now)
	if err := s.loadVerification(r.Context(), &v, now); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.VerifiedLine(v.Verified()))
}
