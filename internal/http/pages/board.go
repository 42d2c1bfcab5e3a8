package pages

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// BoardPage is the reviewer's board: the study without entry, as it was after any event of its ledger.
func (s *Site) BoardPage(w http.ResponseWriter, r *http.Request) error {
	now, err := s.studyNow(r)
	if err != nil {
		return err
	}
	at, err := request.At(r)
	if err != nil {
		return err
	}
	snap, err := s.Studies.Snapshot(r.Context(), now.ID, at)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	v.head.Operates, v.parts, v.url, v.at = false, false, v.head.URL("/board"), at
	page := templates.BoardPage{Page: newPage(r, v.head.Name), Study: v.head, Description: markdown(snap.Definition.Description), At: snap.Version, Last: now.Version}
	page.Charts = true
	events, err := s.Studies.Events(r.Context(), snap.ID, snap.Version-1, 1)
	if err != nil {
		return err
	}
	entry, err := v.entryOf(events[0])
	if err != nil {
		return err
	}
	page.Moment, page.Event = stamp(events[0].At, v.now), entry.By+" "+entry.Text+"."
	if page.Status, err = s.status(r.Context(), v); err != nil {
		return err
	}
	page.Status.Still = true
	if page.Verdict, err = s.verdict(r.Context(), v); err != nil {
		return err
	}
	whole, err := s.whole(r.Context(), v)
	if err != nil {
		return err
	}
	page.Whole = *whole
	page.Verified = s.verifications.read(v)
	return show(w, r, http.StatusOK, templates.BoardView(page))
}

// Verify verifies the study and says how that went.
func (s *Site) Verify(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		return submission{
			do: func(study.Command) error {
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
				return show(w, r, http.StatusOK, templates.VerifiedLine(s.verifications.read(visiting(r, snap))))
			},
		}
	})
}

// verification is the outcome of verifying a study at one version.
type verification struct {
	outcome study.Verification
	version int64
	at      time.Time
}

// verificationBook remembers the last verification of each study while this server runs: it can be repeated at any time.
type verificationBook struct {
	mutex sync.Mutex
	last  map[string]verification
}

// mostVerifications bounds the memory of the book.
const mostVerifications = 10_000

func (b *verificationBook) keep(snap *ledger.Snapshot, outcome study.Verification) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.last == nil || len(b.last) >= mostVerifications {
		b.last = map[string]verification{}
	}
	b.last[snap.ID] = verification{outcome, snap.Version, time.Now()}
}

// read puts the last verification into words.
func (b *verificationBook) read(v visit) templates.Verified {
	b.mutex.Lock()
	last, known := b.last[v.snap.ID]
	b.mutex.Unlock()
	shown := templates.Verified{Study: v.head, Known: known}
	if !known {
		return shown
	}
	shown.OK, shown.At = last.outcome.OK, stamp(last.at, v.now)
	shown.Text = fmt.Sprintf("up to ledger entry %d: %s replayed.", last.version, count(last.outcome.Checked, "decision", "decisions"))
	if !last.outcome.LedgerIntact {
		shown.Different = append(shown.Different, "The ledger’s hashes do not follow from each other: an entry was changed, or one is missing.")
	}
	for _, d := range last.outcome.Different {
		shown.Different = append(shown.Different, fmt.Sprintf("Trial %d, %s: the ledger has %v, the replay gives %v.", d.Number, d.Field, d.Stored, d.Replayed))
	}
	return shown
}
