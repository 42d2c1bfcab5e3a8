// Package view makes the view models of a study's pages: every sentence, number and chart that
// package templates draws. It is pure: all of it follows from Facts, which the caller has loaded,
// and the package knows no requests, no database and no clock.
package view

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"headroom/internal/account"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Facts is everything that a page of a study is made from: what was asked for, the study, and the
// numbers derived from it, as far as the page needs them.
type Facts struct {
	Asked
	Snap   *ledger.Snapshot // at the moment shown
	Latest *ledger.Snapshot // now
	Who    account.Identity // the viewer
	Key    string           // the idempotency key of the viewer's forms, each of which is sent to an address of its own

	// Working tells that the model has been in computation since Since, and that the page is shown
	// without it.
	Working bool
	Since   time.Time

	// Modelless says why there is no model, "" where there is one.
	Modelless string
	Readout   study.Readout
	History   []study.HistoryRow // a row for each trial
	Gain      *optimizer.Gain    // nil where no settings are within the limits
	Gained    bool               // Gain was computed
	Slices    []study.Slice      // through the point of the Outlook
	Map       study.Map          // over its two parameters
	Prices    []study.Price      // of moving a limit, where that can be predicted
	Choices   []study.Choice     // of other algorithms

	Entries []ledger.Event // of the ledger's list or a trial's history, oldest first
	Earlier int            // how many entries are before them
	Show    string         // which trials are listed, a word of TrialFilters
	Below   int            // below which number, 0 from the newest on
	Board   BoardFacts
	Run     study.Progress // of the simulated lab's last run, zero where there was none
}

// BoardFacts is what a board or a report needs beyond the rest of Facts.
type BoardFacts struct {
	Last         ledger.Event // of the moment shown
	Amended      []Amendment  // corrections, exclusions, inclusions and changes, newest first
	Unseen       int          // how many earlier ones there are
	Verification Verification
}

// Amendment is what was amended together, and its last event.
type Amendment struct {
	Revisions []ledger.Revision
	Last      ledger.Event
}

// Verification is the state of verifying a study.
type Verification struct {
	study.Progress                 // of the run under way, and the error of the one before
	Paused         bool            // it took too long
	Last           *study.Verified // nil before the first outcome
}

// recommended returns the model's recommendation, nil while ModelStands is false.
func (v Facts) recommended() *study.Recommendation {
	if !v.ModelStands() {
		return nil
	}
	return v.Readout.Recommendation
}

// lab returns the simulated laboratory that answers the study, nil where a real one does or where
// this program has none of that name.
func (v Facts) lab() design.SimulatedLab {
	name := v.Snap.Definition.SimulatedLab
	if name == "" {
		return nil
	}
	lab, _ := design.FindSimulatedLab(name)
	return lab
}

// ModelStands tells whether every modelled metric has a reading and a known scale. Without a scale,
// a model that standardises its readings can show nothing but its prior.
func (v Facts) ModelStands() bool {
	return len(unread(v.Snap)) == 0 && !slices.ContainsFunc(Modelled(v.Snap.Definition), func(metric string) bool { return !v.hasScale(metric) })
}

// hasScale tells whether the model knows a metric's scale now.
func (v Facts) hasScale(metric string) bool { return v.hadScale(metric, len(v.Snap.Trials)+1) }

// hadScale tells whether the model knew a metric's scale when trial number was chosen, which may be
// the next trial: from a recorded fit, or from the one that is due with the next decision.
func (v Facts) hadScale(metric string, number int) bool {
	due := number > len(v.Snap.Trials) && v.Readout.Metrics[metric].Scaled
	return due || !v.Snap.Compiled().Config.Standardize || slices.ContainsFunc(v.Snap.Fits, func(fit ledger.FittedData) bool {
		_, in := fit.Metrics[metric]
		return in && fit.From <= number
	})
}

// metricsShown lists the modelled metrics that have a reading and a scale, the objective first.
func (v Facts) metricsShown() []string {
	return slices.DeleteFunc(Modelled(v.Snap.Definition), func(metric string) bool { return !v.Snap.HasReading(metric) || !v.hasScale(metric) })
}

// withUnitThen adds to a value the unit that its metric or parameter had at event seq, if today's
// unit, which stands beside the value, is another.
func (v Facts) withUnitThen(text, name string, seq int64) string {
	if unit := v.Snap.InUnitsOf(seq).Unit(name); unit != v.Snap.Definition.Unit(name) {
		return words.With(text, unit)
	}
	return text
}

// predictableLimits names, in words, the limits for which the model gives a chance to stay within
// them. It is "" while a metric has no reading, and where every limit depends on what a trial
// brings.
func (v Facts) predictableLimits() string {
	limits := v.Snap.Definition.Constraints
	switch {
	case len(limits) == 0 || !v.ModelStands() || !v.Snap.Definition.Foreseeable() && !slices.ContainsFunc(limits, func(c design.Constraint) bool { return !c.Given() }):
		return ""
	case !v.Snap.Definition.Foreseeable():
		return "every limit that is learned"
	}
	return "every limit"
}

// hadPrediction tells whether a trial's decision predicted a metric from readings: it had seen a
// reading of it and knew its scale. Otherwise its numbers are those of the prior alone.
func (v Facts) hadPrediction(t *ledger.Trial, metric string) bool {
	return t.Decision != nil && v.hadScale(metric, t.Number) && slices.ContainsFunc(v.Snap.Trials, func(other *ledger.Trial) bool {
		m, there := other.Metrics[metric]
		return there && m.ToldSeq <= t.Decision.Seen
	})
}

// whyNoModel says why a study whose metrics have readings has no model.
func (v Facts) whyNoModel() string {
	return words.Either(v.Snap.State.Over(), "the study ended before the model had begun", "the model begins when the first few trials have shown how large the values are")
}

// LongStudy is the number of trials from which a page no longer waits for the model, which then
// takes seconds or minutes.
const LongStudy = 2000

// Long tells whether the study is so long that its page does not wait for the model.
func (v Facts) Long() bool { return len(v.Snap.Trials) >= LongStudy }

// Fetches tells whether the page fetches some of its sections after it has loaded.
func (v Facts) Fetches() bool { return !v.Whole && (v.Parts || v.Long()) }

// CacheSuffix ends the cache key of a section, so that one drawn without the model is told from one
// with it.
func (v Facts) CacheSuffix() string { return words.Either(v.Working, " without the model", "") }

// BoardAddress is the board's address with v.Query for one section, and for the others the query
// shown of the page that they are on.
func (v Facts) BoardAddress(name string, shown url.Values) string {
	query := url.Values{}
	for section, kept := range BoardSections {
		maps.Copy(query, kept(words.Either(section == name, v.Query, shown), v.Snap))
	}
	return withQuery(v.URL, v.atMoment(query))
}

// Later lists the sections that the page fetches when they are scrolled to, each with its part of
// the query.
func (v Facts) Later() []templates.Later {
	return []templates.Later{
		{Name: "progress", Title: "How well are we doing?"},
		{Name: "beliefs", Title: "What the model believes", Query: BeliefsQuery(v.Query, v.Snap)},
		{Name: "trials", Title: "Trials", Query: TrialsQuery(v.Query, v.Snap)},
		{Name: "ledger", Title: "Ledger", Query: LedgerQuery(v.Query, v.Snap)},
	}
}

// Asked is what a page was asked to show, and where it stands.
type Asked struct {
	Head  templates.StudyHead // with what the viewer may do
	Now   time.Time
	URL   string     // of the page, for links that stay on it
	Query url.Values // which rows and charts to show
	At    int64      // the version that is shown and that links keep, 0 for the present
	Parts bool       // the page fetches its parts one by one
	Whole bool       // everything is wanted in one page, however long it takes
	Paper bool       // a file: nothing in it can be pressed, chosen or followed
}

// atMoment adds the version shown to a query, unless it is the present one.
func (v Asked) atMoment(query url.Values) url.Values {
	if v.At > 0 {
		query.Set("at", strconv.FormatInt(v.At, 10))
	}
	return query
}

// partURL is the address from which the page fetches one of its sections.
func (v Asked) partURL(part string, query url.Values) string {
	return withQuery(v.Head.URL(words.Either(v.Parts, "/parts/", "/board/")+part), query)
}

func withQuery(path string, query url.Values) string {
	return words.Either(len(query) == 0, path, path+"?"+query.Encode())
}

// laterPart is partURL at the version shown.
func (v Asked) laterPart(name string) string { return v.partURL(name, v.atMoment(url.Values{})) }

// link leads to this page with a query, and to the part of it that the query concerns.
func (v Asked) link(part string, query url.Values) templates.Filter {
	query = v.atMoment(query)
	return templates.Filter{URL: withQuery(v.URL, query) + "#" + part, Part: v.partURL(part, query)}
}

// stamp is a moment as pages show it: how long ago, and on paper the date and time.
func (v Asked) stamp(at time.Time) templates.Stamp {
	stamp := Stamp(at, v.Now)
	if v.Paper {
		stamp.Ago = at.UTC().Format("2 Jan 2006 15:04:05 UTC")
	}
	return stamp
}

// clockStamp is a moment in a list: the time of day instead of how long ago.
func (v Asked) clockStamp(at time.Time) templates.Stamp {
	stamp := v.stamp(at)
	if !v.Paper {
		stamp.Ago = words.Clock(at, v.Now)
	}
	return stamp
}

// trialURL is the address of a trial's page, "" on paper.
func (v Asked) trialURL(n int) string {
	return words.Either(v.Paper, "", v.Head.TrialURL(n, ""))
}

// TypedQuery keeps the numbers of the trials in whose forms the viewer has typed something unsaved.
func TypedQuery(asked url.Values, _ *ledger.Snapshot) url.Values {
	return url.Values{"typed": asked["typed"]}
}

// TrialsQuery keeps which trials to list and below which number the list begins.
func TrialsQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	kept := keepPlace(asked, "below", int64(len(snap.Trials)))
	if show := asked.Get("show"); show != "" {
		kept.Set("show", show)
	}
	return kept
}

// LedgerQuery keeps the entry before which the list begins.
func LedgerQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	return keepPlace(asked, "before", snap.Version)
}

// keepPlace keeps the number from which a list goes down to 1, unless it is beyond last and so
// means the start of the list. Text that is no number is kept, and refused later.
func keepPlace(asked url.Values, name string, last int64) url.Values {
	kept, place := url.Values{}, asked.Get(name)
	if n, err := strconv.ParseInt(place, 10, 64); place != "" && (err != nil || n > 0 && n <= last) {
		kept.Set(name, place)
	}
	return kept
}

// BeliefsQuery keeps what chooses the charts of the model, where it differs from the default: the
// metric, the two axes of the map, the settings of the point that the slices pass through, and the
// number of the trial that the form showed before somebody changed them. The fields usual.x and
// usual.y are the axes that the form chose by itself: axes that equal them go on following the
// model.
func BeliefsQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	d, kept := snap.Definition, url.Values{}
	if metric := asked.Get("metric"); metric != d.Objective.Metric && slices.Contains(Modelled(d), metric) {
		kept.Set("metric", metric)
	}
	names := mapNames(d)
	x, y := asked.Get("x"), asked.Get("y")
	usual := x == asked.Get("usual.x") && y == asked.Get("usual.y")
	if !usual && x != y && slices.Contains(names, x) && slices.Contains(names, y) {
		kept.Set("x", x)
		kept.Set("y", y)
	}
	if asked.Get("others") == "yes" {
		kept.Set("others", "yes")
	}
	number, _ := strconv.Atoi(asked.Get("from"))
	shown := snap.Trial(number) // nil when there is none
	for i, p := range d.Parameters {
		field := pinField(i)
		if text := asked.Get(field); asked.Has(field) && p.Type != design.Remainder && (shown == nil || text != design.FormatSetting(p, shown.Parameters[p.Name])) {
			kept.Set(field, text)
			if shown != nil {
				kept.Set("from", strconv.Itoa(shown.Number))
			}
		}
	}
	return kept
}

// BoardSections has, for the sections of a board whose content can be chosen, the part of a query
// that each depends on.
var BoardSections = map[string]func(asked url.Values, snap *ledger.Snapshot) url.Values{"beliefs": BeliefsQuery, "trials": TrialsQuery, "ledger": LedgerQuery}

// BoardQuery is the part of a query that the board depends on.
func BoardQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	kept := url.Values{}
	for _, query := range BoardSections {
		maps.Copy(kept, query(asked, snap))
	}
	return kept
}

func pinField(i int) string { return fmt.Sprintf("pin.%d", i) }

// whole keeps the values of a decision's sentence with their units.
func (v Facts) whole(sentence string) string {
	d := v.Snap.Definition
	units := []string{"%", design.UnitApart("%"), d.Objective.Unit}
	for _, p := range d.Parameters {
		units = append(units, p.Unit)
	}
	for _, c := range d.Constraints {
		units = append(units, c.Unit)
	}
	return words.Whole(sentence, units)
}
