package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// TrialPage shows one trial with everything behind it.
func (s *Site) TrialPage(w http.ResponseWriter, r *http.Request, v view.Tried) error {
	return s.showTrial(w, r, http.StatusOK, v, nil)
}

// showTrial shows the page of a trial; change may put a form with its faults into it.
func (s *Site) showTrial(w http.ResponseWriter, r *http.Request, status int, v view.Tried, change func(*templates.TrialPage)) error {
	entries := v.Snap.EventsOf(v.Trial.Number)
	v.Earlier = max(0, len(entries)-view.LedgerLines)
	var err error
	if v.Entries, err = s.Studies.EventsAt(r.Context(), v.Snap.ID, entries[v.Earlier:]); err != nil {
		return err
	}
	page := v.Page()
	page.Page = newPage(r, fmt.Sprintf("Trial %d of %s", v.Trial.Number, v.Head.Name), "medium")
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.TrialView(page))
}

// Close ends a trial or sets it aside.
func (s *Site) Close(w http.ResponseWriter, r *http.Request, v view.Tried, form *forms.Typed) submission {
	var kind, reason string
	fields := forms.NewClosing(&kind, &reason)
	fields.Read(form)
	to := form.Saved(v.Head.TrialURL(v.Trial.Number, "?done=closed"))
	if page, among := sentFromWaiting(r); among && v.Trial.Waiting() {
		to = form.Saved(v.Head.URL(page+"?done=closed")) + "#next"
	}
	if ledger.Kind(kind) == ledger.Confirmed {
		to = v.Head.URL("?done=confirmed")
	}
	return submission{
		do: func(cmd study.Command) (err error) {
			switch {
			case ledger.Kind(kind) == ledger.Confirmed:
				cmd.Sure = new(form.Text("sure"))
				_, err = s.Studies.Confirm(r.Context(), cmd, v.Snap.ID, v.Trial.Number)
			case slices.Contains(ledger.Causes, ledger.Cause(kind)):
				_, err = s.Studies.Close(r.Context(), cmd, v.Snap.ID, ledger.Failed, ledger.ClosedData{Number: v.Trial.Number, Reason: reason, Cause: ledger.Cause(kind)})
			case slices.Contains([]ledger.Kind{ledger.Abandoned, ledger.Excluded, ledger.Included}, ledger.Kind(kind)):
				_, err = s.Studies.Close(r.Context(), cmd, v.Snap.ID, ledger.Kind(kind), ledger.ClosedData{Number: v.Trial.Number, Reason: reason})
			default:
				err = problem.Malformed("body", "kind", "The form must say whether the trial failed because of its settings or by chance, was not run, is excluded, included or confirmed.")
			}
			return err
		},
		to:     to,
		fields: fields,
		again: func(form templates.Form) error {
			return s.showTrial(w, r, http.StatusUnprocessableEntity, v, func(page *templates.TrialPage) { page.Closing = form })
		},
	}
}

func (s *Site) Replicate(w http.ResponseWriter, r *http.Request, v view.Tried, form *forms.Typed) submission {
	count := form.Whole("count", 1)
	return submission{
		do: func(cmd study.Command) error {
			return inParts(cmd, count, study.MostAsked, 1, func(cmd study.Command, _ int) error {
				_, _, err := s.Studies.Replicate(r.Context(), cmd, v.Snap.ID, v.Trial.Number)
				return err
			})
		},
		to: v.Head.URL("?done=replicated#next"),
	}
}

// Undo takes back what the viewer saved of a trial just now.
func (s *Site) Undo(w http.ResponseWriter, r *http.Request, v view.Tried, _ *forms.Typed) submission {
	var after *ledger.Snapshot
	return submission{
		do: func(cmd study.Command) (err error) {
			after, err = s.Studies.Undo(r.Context(), cmd, v.Snap.ID, v.Trial.Number)
			return err
		},
		done: func() error { return showAfterChange(w, r, v, after, "X-Undone", "?done=undone", "") },
	}
}

// PrintSheet is a trial on paper: what to set, the limits, blanks to write in, and the way back to
// its page.
func (s *Site) PrintSheet(w http.ResponseWriter, r *http.Request, v view.Tried) error {
	page, err := v.Sheet(s.PublicURL.JoinPath(v.Head.TrialURL(v.Trial.Number, "")).String())
	if err != nil {
		return err
	}
	page.Page = newPage(r, fmt.Sprintf("Sheet of trial %d of %s", v.Trial.Number, page.Study.Name), "medium")
	return show(w, r, http.StatusOK, templates.SheetView(page))
}

// CorrectPage shows the form that corrects a trial, filled in with what is stored.
func (s *Site) CorrectPage(w http.ResponseWriter, r *http.Request, v view.Tried) error {
	values := forms.TrialForm(v.Snap, v.Trial).FillIn(url.Values{})
	values.Set("draft", fmt.Sprintf("%s/%d/correction", v.Snap.ID, v.Trial.Number))
	values.Set("key", newKey(r))
	return showCorrect(w, r, http.StatusOK, v, templates.Form{Values: values}, nil)
}

func showCorrect(w http.ResponseWriter, r *http.Request, status int, v view.Tried, form templates.Form, preview *templates.Consequences) error {
	table := forms.TrialForm(v.Snap, v.Trial)
	page := templates.CorrectPage{Page: newPage(r, fmt.Sprintf("Correct trial %d", v.Trial.Number), "medium"), Study: v.Head, Number: v.Trial.Number, Form: form, Preview: preview,
		Settings: view.UsedInputs(v.Snap.Definition, v.Trial.Parameters, form.Values), Reason: table.Reason.Input}
	for _, in := range table.Metrics.Inputs() {
		if m, there := v.Trial.Metrics[in.Label]; there {
			in.Help = "now " + view.Measured(v.Snap, v.Trial, in.Label, m)
		} else if form.Values.Get(in.Name) == "" || !view.Typed(form.Values, in.Name) {
			continue
		}
		page.Metrics = append(page.Metrics, in)
	}
	return show(w, r, status, templates.CorrectView(page))
}

// Correct previews a correction, or makes it.
func (s *Site) Correct(w http.ResponseWriter, r *http.Request, v view.Tried, form *forms.Typed) submission {
	table := forms.TrialForm(v.Snap, v.Trial)
	correction, fields := form.Correction(table), table.All()
	doubts := study.DoubtCorrection(v.Snap, v.Trial, correction)
	sure := study.Doubted(doubts) // the preview shows them
	asked := submission{
		do: func(cmd study.Command) error {
			cmd.IfMatch, cmd.Sure = v.Snap.Version, &sure
			_, err := s.Studies.Correct(r.Context(), cmd, v.Snap.ID, correction)
			return err
		},
		to:     form.Saved(v.Head.TrialURL(v.Trial.Number, "?done=corrected")),
		fields: fields,
		again: func(form templates.Form) error {
			return showCorrect(w, r, http.StatusUnprocessableEntity, v, form, nil)
		},
	}
	return asked.withPreview(form, v.Snap, "corrected", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewCorrection(r.Context(), study.Command{Sure: &sure}, v.Snap.ID, correction)
		if err != nil {
			return nil, err
		}
		preview := view.CorrectionConsequences(v.Snap, impact)
		preview.Doubts = shownDoubts(doubts, fields)
		return preview, nil
	}, func(preview *templates.Consequences) error {
		return showCorrect(w, r, http.StatusOK, v, form.Shown(), preview)
	})
}

// Tell saves what was measured. Unlikely values are asked about once.
func (s *Site) Tell(w http.ResponseWriter, r *http.Request, v view.Tried, form *forms.Typed) submission {
	table := forms.TrialForm(v.Snap, v.Trial)
	telling, fields := form.Telling(table), table.All()
	var after *ledger.Snapshot
	return submission{
		do: func(cmd study.Command) (err error) {
			after, err = s.Studies.Tell(r.Context(), cmd, v.Snap.ID, v.Trial.Number, telling)
			return err
		},
		done: func() error {
			return showAfterChange(w, r, v, after, "X-Saved", "?done=saved", "&saved="+url.QueryEscape(fmt.Sprintf("%s/%d", v.Head.ID, v.Trial.Number)))
		},
		fields: fields,
		again: func(form templates.Form) error { // with what others have saved of the trial meanwhile
			return s.WithTrial(func(w http.ResponseWriter, r *http.Request, v view.Tried) error {
				return s.tellAgain(w, r, v, form, templates.Doubts{})
			})(w, r)
		},
		doubted: func(form templates.Form, doubts []study.Doubt) error {
			return s.tellAgain(w, r, v, form, shownDoubts(doubts, fields))
		},
	}
}

// tellAgain shows the entry form again, as typed, with its faults or doubts.
func (s *Site) tellAgain(w http.ResponseWriter, r *http.Request, v view.Tried, form templates.Form, doubts templates.Doubts) error {
	form.First = cmp.Or(form.First, doubts.First())
	entry := v.Entry(form)
	entry.Doubts = doubts
	if slices.ContainsFunc(entry.Meanwhile, func(m templates.Meanwhile) bool { return m.Mine != "" }) {
		entry.Form.General = "Nothing of yours is saved yet: a result of this trial was saved meanwhile."
	}
	if isHTMX(r) {
		return show(w, r, http.StatusUnprocessableEntity, templates.EntryForm(v.Head, v.Trial.Number, entry))
	}
	return s.showTrial(w, r, http.StatusUnprocessableEntity, v, func(page *templates.TrialPage) { page.Card.Entry = entry })
}

// showAfterChange shows the study again after a change of a trial, which the header names, or makes
// its parts fetch themselves. after is nil if the form had been sent before; kept names the draft
// that is done with.
func showAfterChange(w http.ResponseWriter, r *http.Request, v view.Tried, after *ledger.Snapshot, header, done, kept string) error {
	w.Header().Set(header, strconv.Itoa(v.Trial.Number))
	if !isHTMX(r) {
		return GoTo(w, r, v.Head.URL(done+kept+"#next"))
	}
	refreshOtherParts(w, after)
	if _, among := sentFromWaiting(r); !among {
		return GoTo(w, r, v.Head.TrialURL(v.Trial.Number, done))
	}
	w.WriteHeader(http.StatusOK) // an empty answer takes the form away; the card follows with the refresh
	return nil
}

// sentFromWaiting reports whether a form was sent from among the waiting trials, and from which
// page of the study.
func sentFromWaiting(r *http.Request) (page string, among bool) {
	page, among = strings.CutPrefix(sentFrom(r).Path, "/studies/"+request.StudyID(r))
	return page, among && (page == "" || page == "/bench")
}

// inParts carries out a command for count trials in parts with a key each: a form that is sent again
// makes those that its first sending did not come to.
func inParts(cmd study.Command, count, most, part int, do func(cmd study.Command, part int) error) error {
	if count < 1 || count > most {
		return design.NewInvalid("count", fmt.Sprintf("between 1 and %d trials can be asked for at once", most), count)
	}
	key := cmd.Key
	for left := count; ; left -= part {
		if err := do(cmd, min(left, part)); left <= part || err != nil && doneBefore(err) == nil {
			return err
		}
		if key != nil {
			next := *key
			next.Key = fmt.Sprintf("%s/%d", key.Key, left)
			cmd.Key = &next
		}
	}
}

// askFor asks for as many trials as a plate has wells.
func (s *Site) askFor(r *http.Request, cmd study.Command, id string, ask study.Ask) error {
	return inParts(cmd, *ask.Count, templates.MostWells, study.MostAsked, func(cmd study.Command, part int) error {
		ask.Count = &part
		_, _, err := s.Studies.Ask(r.Context(), cmd, id, ask)
		return err
	})
}

func (s *Site) Ask(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	count := form.Whole("count", 1)
	ask := study.Ask{Count: &count, Brought: design.Brought{Context: form.Context(forms.NewTrialForm(v.Snap))}}
	return submission{
		do: func(cmd study.Command) error { return s.askFor(r, cmd, v.Snap.ID, ask) },
		done: func() error {
			if !isHTMX(r) {
				return GoTo(w, r, v.Head.URL("?done=asked#next"))
			}
			return s.WithStudy(func(w http.ResponseWriter, r *http.Request, v view.Facts) error {
				refreshOtherParts(w, v.Snap)
				return show(w, r, http.StatusOK, templates.NextSection(v.Next()))
			})(w, r)
		},
		again: func(templates.Form) error {
			form.FaultsAboveForm() // it has no room beside its fields
			next := v.Next()
			next.Ask = form.Shown()
			if isHTMX(r) {
				return show(w, r, http.StatusUnprocessableEntity, templates.NextSection(next))
			}
			return s.showStudy(w, r, http.StatusUnprocessableEntity, v, func(page *templates.StudyPage) { page.Next = next })
		},
	}
}

// OwnPage shows the form of a person's own point.
func (s *Site) OwnPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	return showOwn(w, r, http.StatusOK, v, templates.OwnPage{})
}

func showOwn(w http.ResponseWriter, r *http.Request, status int, v view.Facts, page templates.OwnPage) error {
	form := forms.NewTrialForm(v.Snap)
	page.Page, page.Study, page.Key = newPage(r, "My own point", "medium"), v.Head, cmp.Or(page.Form.Value("key"), v.Key)
	page.Settings, page.Context, page.Metrics, page.Note = form.Settings.Inputs(), form.Context.Inputs(), form.Metrics.Inputs(), form.Note.Input
	return show(w, r, status, templates.OwnView(page))
}

// AddOwn makes a person's own point a trial, once they have seen what is expected of it.
func (s *Site) AddOwn(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	table := forms.NewTrialForm(v.Snap)
	again := func(form templates.Form) error {
		return showOwn(w, r, http.StatusUnprocessableEntity, v, templates.OwnPage{Form: form})
	}
	saved := "&saved=" + url.QueryEscape(v.Snap.ID+"/own") + "#next"
	if form.Pressed() == "rest" {
		table = table.Holding()
		ask := form.Held(table)
		form.Values.Set("rest", "yes") // makes its content differ from that of one’s own point with the same settings
		return submission{
			do: func(cmd study.Command) error { return s.askFor(r, cmd, v.Snap.ID, ask) },
			to: v.Head.URL("?done=asked" + saved), fields: table.All(), again: again,
		}
	}
	own, fields := form.Own(table), table.All()
	asked := submission{
		do: func(cmd study.Command) error {
			_, _, err := s.Studies.AddTrial(r.Context(), cmd, v.Snap.ID, own)
			return err
		},
		to: v.Head.URL("?done=own" + saved), fields: fields, again: again,
	}
	expect := func(status int) error { return s.showForecast(w, r, status, form, fields, own) }
	asked.doubted = func(templates.Form, []study.Doubt) error { return expect(http.StatusUnprocessableEntity) }
	switch seen := form.Text("shown"); {
	case form.Pressed() == "forecast":
		asked.do, asked.done = nil, func() error { return expect(http.StatusOK) }
	case seen != "" && seen != form.Fingerprint(""):
		asked.do, asked.done = nil, func() error { return expect(http.StatusUnprocessableEntity) }
	}
	return asked
}

// showForecast shows the form again with what is expected of the point, and what is unlikely about
// it.
func (s *Site) showForecast(w http.ResponseWriter, r *http.Request, status int, form *forms.Typed, fields forms.Fields, own study.OwnTrial) error {
	who, _ := request.Caller(r)
	snap, forecast, err := s.Studies.Forecast(r.Context(), study.Command{By: who.By()}, request.StudyID(r), own)
	if snap == nil || !placeFaults(err, form, fields) {
		return err
	}
	page := templates.OwnPage{Form: form.Shown()}
	if err != nil {
		return showOwn(w, r, http.StatusUnprocessableEntity, newFacts(r, snap), page)
	}
	page.Doubts = shownDoubts(study.DoubtOwn(snap, own, forecast), fields)
	var known map[string]float64 // by the limit's name, of those that need no model
	if settings, place, faults := own.Place(snap.Compiled(), "parameters"); len(faults) == 0 {
		known, _ = snap.Compiled().KnownAt(settings, place, own.Brought)
	}
	page.Forecast = view.ForecastOf(snap, forecast, known)
	page.Forecast.Shown = form.Fingerprint("")
	return showOwn(w, r, status, newFacts(r, snap), page)
}

// shownDoubts returns doubts as a form with these fields shows them, those of a table by line.
func shownDoubts(doubts []study.Doubt, fields forms.Fields) templates.Doubts {
	shown := templates.Doubts{Sure: study.Doubted(doubts)}
	for _, d := range doubts {
		if at := lineField.FindStringSubmatch(d.Field); at != nil {
			d.Text = "Line " + at[1] + ": " + d.Text
		}
		d.Field = fields.NameOf(d.Field)
		shown.List = append(shown.List, d)
	}
	return shown
}
