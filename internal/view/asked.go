package view

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Asked is what a page was asked to show, and where it stands.
type Asked struct {
	Head  templates.StudyHead // with what the viewer may do
	URL   string              // of the page, for links that stay on it
	Query url.Values          // which rows and charts to show
	At    int64               // the moment that links keep to, 0 for now
	Parts bool                // the page fetches its parts one by one
	Whole bool                // everything is asked for at once, however long it takes
	Paper bool                // it is a file: nothing in it can be pressed, chosen or followed
}

// LongStudy is from how many trials on a page does not wait long for the model, which takes seconds
// or minutes to work out then.
const LongStudy = 2000

// Long tells whether the study is so long that its page does not wait for the model.
func (v Facts) Long() bool { return len(v.Snap.Trials) >= LongStudy }

// Fetches tells whether the page fetches some of its sections once it stands.
func (v Facts) Fetches() bool { return !v.Whole && (v.Parts || v.Long()) }

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
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// laterPart is where the page fetches a section at the moment that it shows.
func (v Asked) laterPart(name string) string { return v.partURL(name, v.atMoment(url.Values{})) }

// link is an address of this page with a query, and of one of its parts.
func (v Asked) link(part string, query url.Values) templates.Filter {
	query = v.atMoment(query)
	return templates.Filter{URL: withQuery(v.URL, query) + "#" + part, Part: v.partURL(part, query)}
}

// Without tells the sections drawn without the model from the others.
func (v Facts) Without() string { return words.Either(v.Working, " without the model", "") }

// ModelPart is the part of a page that says how the work on the model stands, and asks again until
// it is there.
const ModelPart = "model"

// Work says how the work on the model stands; of a study that is not long, nothing is said.
func (v Facts) Work() templates.Work {
	if !v.Long() {
		return templates.Work{}
	}
	work := templates.Work{Part: v.laterPart(ModelPart), Follows: v.Parts, Going: v.Working, Whole: withQuery(v.URL, v.atMoment(url.Values{"whole": {"yes"}}))}
	if v.Working {
		work.Words = "The model of " + words.Count(len(v.Snap.Trials), "trial", "trials") + " is being worked out" + words.ForSoLong(v.Now.Sub(v.Since)) + ". What it says will appear here by itself."
	}
	return work
}

// TypedQuery keeps which trials the viewer has typed in what is not saved.
func (v Asked) TypedQuery() url.Values { return url.Values{"typed": v.Query["typed"]} }

// TrialsQuery keeps which trials to show and below which number to begin.
func (v Facts) TrialsQuery() url.Values {
	kept := url.Values{}
	if show := v.Query.Get("show"); show != "" {
		kept.Set("show", show)
	}
	if below := v.Query.Get("below"); !pointless(below, int64(len(v.Snap.Trials))) {
		kept.Set("below", below)
	}
	return kept
}

// LedgerQuery keeps before which entry to begin.
func (v Facts) LedgerQuery() url.Values {
	kept := url.Values{}
	if before := v.Query.Get("before"); !pointless(before, v.Snap.Version) {
		kept.Set("before", before)
	}
	return kept
}

// pointless tells whether a place in a list, counted from its end, means no more than the list's
// beginning. What is no number has a point: to be refused.
func pointless(place string, last int64) bool {
	n, err := strconv.ParseInt(place, 10, 64)
	return place == "" || err == nil && (n <= 0 || n > last)
}

// BeliefsQuery keeps what chooses the charts where that is not the usual choice: a metric, two
// parameters, and the settings of the point that the slices pass through, with the trial that the
// form showed before somebody set them. The form says which parameters it had shown by itself;
// those that stay so follow the model.
func (v Facts) BeliefsQuery() url.Values {
	d, kept := v.Snap.Definition, url.Values{}
	if metric := v.Query.Get("metric"); metric != d.Objective.Metric && slices.Contains(Modelled(d), metric) {
		kept.Set("metric", metric)
	}
	names := axisNames(d)
	x, y := v.Query.Get("x"), v.Query.Get("y")
	usual := x == v.Query.Get("usual.x") && y == v.Query.Get("usual.y")
	if !usual && x != y && slices.Contains(names, x) && slices.Contains(names, y) {
		kept.Set("x", x)
		kept.Set("y", y)
	}
	if v.Query.Get("others") == "yes" {
		kept.Set("others", "yes")
	}
	shown := v.trialNamed(v.Query.Get("from"))
	for i, p := range d.Parameters {
		field := pinField(i)
		if text := v.Query.Get(field); v.Query.Has(field) && p.Type != design.Remainder && (shown == nil || text != design.FormatSetting(p, shown.Parameters[p.Name])) {
			kept.Set(field, text)
			if shown != nil {
				kept.Set("from", strconv.Itoa(shown.Number))
			}
		}
	}
	return kept
}

// trialNamed is the trial of that number, nil when there is none.
func (v Facts) trialNamed(text string) *ledger.Trial {
	number, _ := strconv.Atoi(text)
	return v.Snap.Trial(number)
}

// BoardSections are the sections of a board that show more of themselves in place, by name, with
// what of a query each depends on.
var BoardSections = map[string]func(Facts) url.Values{"beliefs": Facts.BeliefsQuery, "trials": Facts.TrialsQuery, "ledger": Facts.LedgerQuery}

// BoardQuery is what of a query the board depends on.
func (v Facts) BoardQuery() url.Values {
	kept := url.Values{}
	for _, query := range BoardSections {
		maps.Copy(kept, query(v))
	}
	return kept
}

// BoardAddress is that of the board with one section as it is asked for now, and the others as
// shown, the query of the page, has them.
func (v Facts) BoardAddress(name string, shown url.Values) string {
	others := v
	others.Query = shown
	query := url.Values{}
	for other, of := range BoardSections {
		if other == name {
			maps.Copy(query, of(v))
		} else {
			maps.Copy(query, of(others))
		}
	}
	return withQuery(v.URL, v.atMoment(query))
}

// Later are the sections that the page fetches when they are seen, with what of its query each is
// to show.
func (v Facts) Later() []templates.Later {
	return []templates.Later{
		{Name: "progress", Title: "How well are we doing?"},
		{Name: "beliefs", Title: "What the model believes", Query: v.BeliefsQuery()},
		{Name: "trials", Title: "Trials", Query: v.TrialsQuery()},
		{Name: "ledger", Title: "Ledger", Query: v.LedgerQuery()},
	}
}
