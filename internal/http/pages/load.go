package pages

import (
	"context"
	"errors"
	"slices"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
)

// needs say what a page or a section needs beside the study itself.
type needs uint

const (
	entries   needs = 1 << iota // of the ledger
	labRun                      // how far the simulated lab is
	listed                      // which trials are asked for
	readout                     // what the model says now
	history                     // what it said at each trial
	quickGain                   // how much is left to gain, unless the page fetches that later
	gain                        // the same, however long it takes
	picture                     // what it believes of each metric
)

// load gets the facts that are needed. Of a study without trials, and while the model is not waited
// for, it has none to get of the model.
func (s *Site) load(ctx context.Context, v *view.Facts, needed needs) error {
	if needed&labRun != 0 {
		v.Run = s.Studies.Simulated(v.Snap.ID)
	}
	if needed&listed != 0 {
		if err := loadListed(v); err != nil {
			return err
		}
	}
	if needed&entries != 0 {
		if err := loadEntries(ctx, s.Studies, v); err != nil {
			return err
		}
	}
	if needed < readout || len(v.Snap.Trials) == 0 || v.Working {
		return nil
	}
	var err error
	if v.Readout, err = s.Studies.StateOf(ctx, v.Snap); err == nil && needed&history != 0 {
		v.History, err = s.Studies.HistoryOf(ctx, v.Snap)
	}
	if errors.Is(err, study.ErrConflict) {
		v.Modelless = err.Error()
		return nil
	}
	if err == nil && (needed&gain != 0 || needed&quickGain != 0 && (!v.Fetches() || len(v.Snap.Trials) <= view.GainAtOnce)) {
		err = loadGain(ctx, s.Studies, v)
	}
	if err == nil && needed&picture != 0 {
		err = loadPicture(ctx, s.Studies, v)
	}
	return err
}

// loadListed reads from the query which trials are asked for.
func loadListed(v *view.Facts) error {
	q := request.QueryOf(view.TrialsQuery(v.Query, v.Snap))
	v.Show, _ = q.One("show")
	v.Below = int(q.Whole("below", 0, int64(len(v.Snap.Trials)), 0))
	if err := q.Err(); err != nil {
		return err
	}
	if !slices.Contains(view.TrialFilters(), v.Show) {
		return problem.InQuery(design.NewInvalid("show", "must be one of the filters above the table", v.Show))
	}
	return nil
}

// eventsAtOnce is how many entries are read at a time.
const eventsAtOnce = 500

// loadEntries gets a page of the ledger, the one that ends before the entry that the query names.
func loadEntries(ctx context.Context, studies *study.Service, v *view.Facts) (err error) {
	q := request.QueryOf(view.LedgerQuery(v.Query, v.Snap))
	before := q.Whole("before", 1, v.Snap.Version, v.Snap.Version+1)
	if err := q.Err(); err != nil {
		return err
	}
	v.Earlier = max(0, int(before)-1-v.LedgerShown(before))
	for after := int64(v.Earlier); err == nil && after < before-1; after = int64(v.Earlier + len(v.Entries)) {
		var read []ledger.Event
		read, err = studies.Events(ctx, v.Snap.ID, after, int(min(eventsAtOnce, before-1-after)))
		if len(read) == 0 {
			break
		}
		v.Entries = append(v.Entries, read...)
	}
	return err
}

// loadEntriesOf gets the newest entries of the ledger about a trial.
func (s *Site) loadEntriesOf(ctx context.Context, v *view.Facts, t *ledger.Trial) (err error) {
	v.Entries, v.Earlier, err = s.Studies.EventsOf(ctx, v.Snap, t.Number, view.LedgerLines)
	return err
}

func loadGain(ctx context.Context, studies *study.Service, v *view.Facts) (err error) {
	if view.ModelStands(v.Snap) && view.Foreseeable(v.Snap) {
		v.Gain, err = studies.GainOf(ctx, v.Snap)
		v.Gained = true
	}
	return err
}

// loadPicture gets slices through the point that is looked at, the map of the two parameters that
// matter most or are asked for, and what goes with them.
func loadPicture(ctx context.Context, studies *study.Service, v *view.Facts) (err error) {
	if v.NothingBelieved() != "" {
		return nil
	}
	if v.Slices, err = studies.Slices(ctx, v.Snap, v.Outlook().Point, view.SliceSamples); err != nil || len(v.Slices) == 0 {
		return err
	}
	o := v.Outlook()
	if o.X != "" {
		if v.Map, err = studies.Map(ctx, v.Snap, o.X, o.Y, o.Point, o.MapSamples()); err != nil {
			return err
		}
	}
	if view.ModelStands(v.Snap) && view.Foreseeable(v.Snap) {
		for _, c := range v.Snap.Definition.Constraints {
			price, err := studies.PriceOf(ctx, v.Snap, c.Name)
			if err != nil {
				return err
			}
			if view.Priced(price) {
				v.Prices = append(v.Prices, price)
			}
		}
	}
	if o.Others {
		return loadChoices(ctx, studies, v)
	}
	return nil
}

// loadChoices asks other algorithms, but those that the study does not suit.
func loadChoices(ctx context.Context, studies *study.Service, v *view.Facts) error {
	for _, name := range view.OtherAlgorithms(v.Snap.Definition) {
		found, err := studies.Compare(ctx, v.Snap, []design.Algorithm{{Name: name}})
		if _, ok := errors.AsType[*design.Invalid](err); ok {
			continue
		}
		if err != nil {
			return err
		}
		v.Choices = append(v.Choices, found...)
	}
	return nil
}

// loadBoard gets what a board has beside the sections of a study's page; now is the study as it is
// now.
func (s *Site) loadBoard(ctx context.Context, v *view.Facts, now *ledger.Snapshot) error {
	if err := s.loadVerification(ctx, v, now); err != nil {
		return err
	}
	last, err := s.Studies.Events(ctx, v.Snap.ID, v.Snap.Version-1, 1)
	if err != nil {
		return err
	}
	v.Board.Last = last[0]
	for i := len(v.Snap.Revisions) - 1; i >= 0; i-- {
		revision := v.Snap.Revisions[i]
		if !view.Amends(revision) {
			continue
		}
		if len(v.Board.Amended) == v.MostAmends() {
			v.Board.Unseen++
			continue
		}
		event, err := s.Studies.Events(ctx, v.Snap.ID, revision.Seq-1, 1)
		if err != nil {
			return err
		}
		v.Board.Amended = append(v.Board.Amended, event...)
	}
	return nil
}

// loadVerification gets how a verification of the study stands, and the ledger as it is now.
func (s *Site) loadVerification(ctx context.Context, v *view.Facts, now *ledger.Snapshot) error {
	under, last, err := s.Studies.Verifying(ctx, now.ID)
	v.Board.Entries, v.Board.Hash = now.Version, now.Hash
	v.Board.Verification = view.Verification{Progress: under, Paused: errors.Is(under.Failed, context.DeadlineExceeded), Last: last}
	return err
}
