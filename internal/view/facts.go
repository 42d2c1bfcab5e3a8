// Package view turns what is known of a study into what its pages say. It is pure: from facts that
// somebody else loaded it makes the models that package templates draws, every word, number and
// chart of them, and does nothing else. It knows no requests, no database and no clock.
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

// Facts are all that a page of a study is made from: what was asked for, the study, and the numbers
// that follow from it, as far as the page needs them.
type Facts struct {
	Asked
	Snap   *ledger.Snapshot // at the moment shown
	Latest *ledger.Snapshot // now
	Who    account.Identity // the viewer
	Key    string           // the idempotency key of the viewer's forms, each of which is sent to an address of its own

	// Working tells that the page does not wait for the model, which is still being worked out,
	// since when.
	Working bool
	Since   time.Time

	// Modelless says why there is no model, "" where there is one.
	Modelless string
	Readout   study.Readout
	History   []study.HistoryRow // a row for each trial
	Gain      *optimizer.Gain    // nil where no settings are within the limits
	Gained    bool               // Gain was worked out
	Slices    []study.Slice      // through the point of the Outlook
	Map       study.Map          // over its two parameters
	Prices    []study.Price      // of moving the limits of which that can be said beforehand
	Choices   []study.Choice     // of other algorithms

	Entries []ledger.Event // of the ledger's list or a trial's history, oldest first
	Earlier int            // how many entries are before them
	Show    string         // which trials are listed, a word of TrialFilters
	Below   int            // below which number, 0 from the newest on
	Board   BoardFacts
	Run     study.Progress // of the simulated lab with what it was last asked for, zero where that was nothing
}

// BoardFacts are what a board and a report are made from beside the rest.
type BoardFacts struct {
	Last         ledger.Event   // of the moment shown
	Amended      []ledger.Event // corrections, exclusions and inclusions, newest first
	Unseen       int            // how many of these were before
	Verification Verification
}

// Verification is what is known of verifying a study.
type Verification struct {
	study.Progress                 // of the one under way, and why the one before came to no outcome
	Paused         bool            // since it took too long
	Last           *study.Verified // nil before the first outcome
}

// recommended is what the model recommends, nil while it does not stand.
func (v Facts) recommended() *study.Recommendation {
	if !v.ModelStands() {
		return nil
	}
	return v.Readout.Recommendation
}

// lab is the simulated laboratory that answers, nil where a real one does or this program has none of
// that name.
func (v Facts) lab() design.SimulatedLab {
	name := v.Snap.Definition.SimulatedLab
	if name == "" {
		return nil
	}
	lab, _ := design.FindSimulatedLab(name)
	return lab
}

// ModelStands tells whether every metric has readings and a model in their units: before its first
// fit, a model that standardises has nothing but its prior to say.
func (v Facts) ModelStands() bool {
	return len(unread(v.Snap)) == 0 && !slices.ContainsFunc(Modelled(v.Snap.Definition), func(metric string) bool { return !v.scaled(metric) })
}

// scaled tells whether a metric's model knows how large its values are.
func (v Facts) scaled(metric string) bool { return v.scaledFor(metric, len(v.Snap.Trials)+1) }

// scaledFor tells whether it knew when trial number was chosen, be it the next one: by a fit that is
// recorded, or by the one that is due with that.
func (v Facts) scaledFor(metric string, number int) bool {
	due := number > len(v.Snap.Trials) && v.Readout.Metrics[metric].Scaled
	return due || !v.Snap.Compiled().Config.Standardize || slices.ContainsFunc(v.Snap.Fits, func(fit ledger.FittedData) bool {
		_, in := fit.Metrics[metric]
		return in && fit.From <= number
	})
}

// metricsShown are the modelled metrics with a reading, the objective first.
func (v Facts) metricsShown() []string {
	return slices.DeleteFunc(Modelled(v.Snap.Definition), func(metric string) bool { return !v.Snap.HasReading(metric) || !v.scaled(metric) })
}

// besideToday is a reading told in an event, or a setting, with its unit where today's, which stands beside
// it, is another.
func (v Facts) besideToday(text, name string, seq int64) string {
	if unit := v.Snap.InUnitsOf(seq).Unit(name); unit != v.Snap.Definition.Unit(name) {
		return words.With(text, unit)
	}
	return text
}

// foretoldLimits are those of which settings have a chance to stay within them, in words, "" where
// nothing is said of any: while a metric was never read, or where each needs what a trial brings.
func (v Facts) foretoldLimits() string {
	limits := v.Snap.Definition.Constraints
	switch {
	case len(limits) == 0 || !v.ModelStands() || !v.Snap.Definition.Foreseeable() && !slices.ContainsFunc(limits, func(c design.Constraint) bool { return !c.Given() }):
		return ""
	case !v.Snap.Definition.Foreseeable():
		return "every limit that is learned"
	}
	return "every limit"
}

// foreseen tells whether a trial has a decision that knew anything of a metric: a reading, and in
// which units the model works. Its numbers are the prior's alone where it did not.
func (v Facts) foreseen(t *ledger.Trial, metric string) bool {
	return t.Decision != nil && v.scaledFor(metric, t.Number) && slices.ContainsFunc(v.Snap.Trials, func(other *ledger.Trial) bool {
		m, there := other.Metrics[metric]
		return there && m.ToldSeq <= t.Decision.Seen
	})
}

// noModelYet says why a study whose metrics were read has no model.
func (v Facts) noModelYet() string {
	return words.Either(v.Snap.State.Over(), "the study ended before the model had begun", "the model begins when the first few trials have shown how large the values are")
}

// LongStudy is from how many trials on a page does not wait long for the model, which takes seconds
// or minutes to work out then.
const LongStudy = 2000

// Long tells whether the study is so long that its page does not wait for the model.
func (v Facts) Long() bool { return len(v.Snap.Trials) >= LongStudy }

// Fetches tells whether the page fetches some of its sections once it stands.
func (v Facts) Fetches() bool { return !v.Whole && (v.Parts || v.Long()) }

// Without tells the sections drawn without the model from the others.
func (v Facts) Without() string { return words.Either(v.Working, " without the model", "") }

// BoardAddress is that of the board with one section as it is asked for now, and the others as
// shown, the query of the page, has them.
func (v Facts) BoardAddress(name string, shown url.Values) string {
	query := url.Values{}
	for section, kept := range BoardSections {
		maps.Copy(query, kept(words.Either(section == name, v.Query, shown), v.Snap))
	}
	return withQuery(v.URL, v.atMoment(query))
}

// Later are the sections that the page fetches when they are seen, with what of its query each is
// to show.
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
	At    int64      // the moment that links keep to, 0 for now
	Parts bool       // the page fetches its parts one by one
	Whole bool       // everything is asked for at once, however long it takes
	Paper bool       // it is a file: nothing in it can be pressed, chosen or followed
}

// atMoment adds the moment that links keep to.
func (v Asked) atMoment(query url.Values) url.Values {
	if v.At > 0 {
		query.Set("at", strconv.FormatInt(v.At, 10))
	}
	return query
}

// partURL is where the page fetches one of its sections, to put it in place.
func (v Asked) partURL(part string, query url.Values) string {
	return withQuery(v.Head.URL(words.Either(v.Parts, "/parts/", "/board/")+part), query)
}

func withQuery(path string, query url.Values) string {
	return words.Either(len(query) == 0, path, path+"?"+query.Encode())
}

// laterPart is where the page fetches a section at the moment that it shows.
func (v Asked) laterPart(name string) string { return v.partURL(name, v.atMoment(url.Values{})) }

// link is an address of this page with a query, and of one of its parts.
func (v Asked) link(part string, query url.Values) templates.Filter {
	query = v.atMoment(query)
	return templates.Filter{URL: withQuery(v.URL, query) + "#" + part, Part: v.partURL(part, query)}
}

// stamp is a moment of a study, exact on paper, where no time passes.
func (v Asked) stamp(at time.Time) templates.Stamp {
	stamp := Stamp(at, v.Now)
	if v.Paper {
		stamp.Ago = at.UTC().Format("2 Jan 2006 15:04:05 UTC")
	}
	return stamp
}

// clocked is a moment in a list: the time of day instead of how long ago.
func (v Asked) clocked(at time.Time) templates.Stamp {
	stamp := v.stamp(at)
	if !v.Paper {
		stamp.Ago = words.Clock(at, v.Now)
	}
	return stamp
}

// trialURL is where a page leads for a trial, nowhere from paper.
func (v Asked) trialURL(n int) string {
	return words.Either(v.Paper, "", v.Head.TrialURL(n, ""))
}

// TypedQuery keeps which trials the viewer has typed in what is not saved.
func TypedQuery(asked url.Values, _ *ledger.Snapshot) url.Values {
	return url.Values{"typed": asked["typed"]}
}

// TrialsQuery keeps which trials to show and below which number to begin.
func TrialsQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	kept := keepPlace(asked, "below", int64(len(snap.Trials)))
	if show := asked.Get("show"); show != "" {
		kept.Set("show", show)
	}
	return kept
}

// LedgerQuery keeps before which entry to begin.
func LedgerQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	return keepPlace(asked, "before", snap.Version)
}

// keepPlace keeps a place in a list, counted from its end, unless it means no more than the list's
// beginning. What is no number is kept: to be refused.
func keepPlace(asked url.Values, name string, last int64) url.Values {
	kept, place := url.Values{}, asked.Get(name)
	if n, err := strconv.ParseInt(place, 10, 64); place != "" && (err != nil || n > 0 && n <= last) {
		kept.Set(name, place)
	}
	return kept
}

// BeliefsQuery keeps what chooses the charts where that is not the usual choice: a metric, two
// parameters, and the settings of the point that the slices pass through, with the trial that the
// form showed before somebody set them. The form says which parameters it had shown by itself;
// those that stay so follow the model.
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

// BoardSections are the sections of a board that show more of themselves in place, by name, with
// what of a query each depends on.
var BoardSections = map[string]func(asked url.Values, snap *ledger.Snapshot) url.Values{"beliefs": BeliefsQuery, "trials": TrialsQuery, "ledger": LedgerQuery}

// BoardQuery is what of a query the board depends on.
func BoardQuery(asked url.Values, snap *ledger.Snapshot) url.Values {
	kept := url.Values{}
	for _, query := range BoardSections {
		maps.Copy(kept, query(asked, snap))
	}
	return kept
}

func pinField(i int) string { return fmt.Sprintf("pin.%d", i) }
