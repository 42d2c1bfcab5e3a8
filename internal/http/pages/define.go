package pages

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/http/forms"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// NewStudyPage shows the form of a new study, blank or filled in from another study.
func (s *Site) NewStudyPage(w http.ResponseWriter, r *http.Request) error {
	values := forms.Blank()
	query := r.URL.Query()
	if from := query.Get("from"); from != "" {
		original, err := s.Studies.Snapshot(r.Context(), from, 0)
		if err != nil {
			return err
		}
		d := definitionAsChosen(original)
		d.Name = "Copy of " + d.Name
		values = forms.Showing(d)
		forms.KeepApart(values, "from-"+from)
	}
	for field, answers := range map[string]bool{"template": false, "simulated": true} {
		if name := query.Get(field); name != "" {
			var err error
			if values, err = simulationValues(name, answers); err != nil {
				return err
			}
			forms.KeepApart(values, field+"-"+name)
		}
	}
	values.Set("key", newKey(r))
	return showNew(w, r, http.StatusOK, templates.DefinePage{Form: templates.Form{Values: values}})
}

func showNew(w http.ResponseWriter, r *http.Request, status int, page templates.DefinePage) error {
	forms.DrawNew(&page)
	return showDefine(w, r, status, "New study", page)
}

func showDefine(w http.ResponseWriter, r *http.Request, status int, title string, page templates.DefinePage) error {
	page.Page = newPage(r, title, "medium")
	if isHTMX(r) {
		return show(w, r, status, templates.DefineForm(page))
	}
	return show(w, r, status, templates.DefineView(page))
}

// MakeStudy makes a study of the form, or changes the form as a button beside its lines asks.
func (s *Site) MakeStudy(w http.ResponseWriter, r *http.Request, form *forms.Typed) submission {
	otherAlgorithm := form.OtherAlgorithm()
	forms.TakeWay(form.Values)
	if form.Rearrange() {
		page := templates.DefinePage{Form: form.Shown(), Advanced: otherAlgorithm}
		return submission{done: func() error { return showNew(w, r, http.StatusOK, page) }}
	}
	d, fields := form.NewStudy()
	if _, err := d.Check(); !form.OK() {
		placeFaults(err, form, fields) // so that everything that is wrong is said at once
	}
	var made string
	return submission{
		do: func(cmd study.Command) error {
			after, err := s.Studies.Create(r.Context(), cmd, d)
			made = madeStudyURL(after, err, form.Saved("?done=made"))
			return err
		},
		done:   func() error { return GoTo(w, r, made) },
		fields: fields,
		again: func(form templates.Form) error {
			return showNew(w, r, http.StatusUnprocessableEntity, templates.DefinePage{Form: form})
		},
	}
}

// ReconfigurePage shows the form that changes limits, bounds, units, unavailable values, the
// algorithm and the model.
func (s *Site) ReconfigurePage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	d, query := definitionAsChosen(v.Snap), r.URL.Query()
	var offered, reason string
	if query.Get("way") == forms.DriftWay {
		offered, reason = offerWindow(&d, v.Snap, query.Get("since"))
	}
	if name := query.Get("log"); name != "" {
		offered, reason = offerLog(&d, v.Snap, name)
	}
	values := forms.ShowingChanges(d, reason)
	values.Set("draft", v.Snap.ID+"/changes"+query.Get("way")+query.Get("log")) // what is filled in is kept apart
	values.Set("key", newKey(r))
	values.Set("at", strconv.FormatInt(v.Snap.Version, 10))
	return showReconfigure(w, r, http.StatusOK, v, templates.DefinePage{Form: templates.Form{Values: values}, Offered: offered})
}

// definitionAsChosen returns the study's definition as forms show it: a field is blank where the
// study has what a new one would have.
func definitionAsChosen(snap *ledger.Snapshot) design.Definition {
	return snap.Compiled().Chosen(snap.Definition)
}

const leastWindow = 10

// offerWindow changes d to the algorithm that looks only at the last trials: those since the
// process seems to have drifted, if since says so. It returns what the form says about it, and the
// reason.
func offerWindow(d *design.Definition, snap *ledger.Snapshot, since string) (says, reason string) {
	window := 0
	from, err := strconv.Atoi(since)
	if last := len(snap.Trials); err == nil && from > 0 && from <= last {
		window = max(last-from+1, leastWindow)
		reason = fmt.Sprintf("Readings are not what was predicted since about trial %d: the process may have drifted.", from)
	}
	d.Algorithm = forms.Drifting(d.Algorithm.Horizon, window)
	return fmt.Sprintf("Filled in below, and not changed yet: the algorithm that looks only at the last trials, here the last %s. Under “Advanced” you can change how many.", d.Algorithm.Settings["window"]), reason
}

// offerLog puts a parameter on a log scale. It returns what the form says about it, and the reason,
// "" if nothing speaks for it.
func offerLog(d *design.Definition, snap *ledger.Snapshot, name string) (says, reason string) {
	for _, finding := range study.Health(snap) {
		if finding.Kind == "scale" && finding.Parameter == name {
			i := slices.IndexFunc(d.Parameters, func(p design.Parameter) bool { return p.Name == name })
			d.Parameters = slices.Clone(d.Parameters)
			d.Parameters[i].Scale = design.ScaleLog
			return fmt.Sprintf("Filled in below, and not changed yet: %s on a logarithmic scale. All trials stay, and the next decision sees them on it.", name), finding.Says
		}
	}
	return "", ""
}

func showReconfigure(w http.ResponseWriter, r *http.Request, status int, v view.Facts, page templates.DefinePage) error {
	page.Study = v.Head
	forms.DrawChanges(&page, definitionAsChosen(v.Snap))
	return showDefine(w, r, status, "Change limits or algorithm", page)
}

// Reconfigure changes the study from the next decision on.
func (s *Site) Reconfigure(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	again := func(status int, form templates.Form) error {
		return showReconfigure(w, r, status, v, templates.DefinePage{Form: form})
	}
	showing := func(snap *ledger.Snapshot) url.Values { return forms.ShowingChanges(definitionAsChosen(snap), "") }
	if _, err := s.takeOver(r, v, form, showing); err != nil { // the preview shows what is contested
		return submission{done: func() error { return err }}
	}
	if form.Redraws() {
		return submission{done: func() error { return again(http.StatusOK, form.Shown()) }}
	}
	change, fields := form.Changes(definitionAsChosen(v.Snap))
	asked := submission{
		do: func(cmd study.Command) error {
			cmd.IfMatch = v.Snap.Version
			_, err := s.Studies.Reconfigure(r.Context(), cmd, v.Snap.ID, change)
			return err
		},
		to:     form.Saved(v.Head.URL("?done=changed")),
		fields: fields,
		again:  func(form templates.Form) error { return again(http.StatusUnprocessableEntity, form) },
	}
	return asked.withPreview(form, v.Snap, "changed", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewReconfiguration(r.Context(), v.Snap.ID, change)
		if err != nil {
			return nil, err
		}
		return view.ChangeConsequences(v.Snap, impact), nil
	}, func(preview *templates.Consequences) error {
		return showReconfigure(w, r, http.StatusOK, v, templates.DefinePage{Form: form.Shown(), Preview: preview})
	})
}

// EditPage shows the form of what does not touch the algorithm.
func (s *Site) EditPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	values := showingEdit(v.Snap)
	values.Set("draft", v.Snap.ID+"/edit") // at any version: the draft has the one that it was begun at
	values.Set("key", newKey(r))
	values.Set("at", strconv.FormatInt(v.Snap.Version, 10))
	return showEdit(w, r, http.StatusOK, v, templates.Form{Values: values})
}

func showEdit(w http.ResponseWriter, r *http.Request, status int, v view.Facts, form templates.Form) error {
	form.Inputs = forms.NewEdit(editableData(v.Snap)).Inputs()
	for name, kept := range showingEdit(v.Snap) {
		form.Values[templates.WasOf(name)] = kept
	}
	return show(w, r, status, templates.EditView(newPage(r, "Name and state", "narrow"), v.Head, form))
}

// editableData returns what a study has of what its editing changes.
func editableData(snap *ledger.Snapshot) ledger.EditedData {
	return ledger.EditedData{Name: new(snap.Definition.Name), Description: new(snap.Definition.Description), State: new(snap.State)}
}

// ifChanged returns what was typed if it differs from what is there, else nil.
func ifChanged[T comparable](there, typed *T) *T { return words.Either(*there == *typed, nil, typed) }

// takeOver takes over what others have changed in the study since the form was opened, at the
// version that it names. Contested are the fields in which they and the sender wrote different
// things.
func (s *Site) takeOver(r *http.Request, v view.Facts, form *forms.Typed, showing func(*ledger.Snapshot) url.Values) (contested []string, err error) {
	opened, err := s.Studies.Snapshot(r.Context(), v.Snap.ID, int64(form.Whole("at", 0)))
	if err != nil {
		return nil, err
	}
	form.Values.Set("at", strconv.FormatInt(v.Snap.Version, 10))
	return form.TakeOver(showing(opened), showing(v.Snap)), nil
}

func showingEdit(snap *ledger.Snapshot) url.Values { return forms.NewEdit(editableData(snap)).Show() }

// Edit saves what was changed.
func (s *Site) Edit(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	contested, failed := s.takeOver(r, v, form, showingEdit)
	for _, name := range contested {
		form.Fault(name, "somebody has changed this meanwhile, to “"+showingEdit(v.Snap).Get(name)+"”; save again to put yours in its place")
	}
	there, typed := editableData(v.Snap), editableData(v.Snap)
	fields := forms.NewEdit(typed)
	fields.Read(form)
	edit := ledger.EditedData{Name: ifChanged(there.Name, typed.Name), Description: ifChanged(there.Description, typed.Description), State: ifChanged(there.State, typed.State)}
	return submission{
		do: func(cmd study.Command) error {
			err := failed
			cmd.IfMatch = v.Snap.Version
			if err == nil && edit != (ledger.EditedData{}) {
				_, err = s.Studies.Edit(r.Context(), cmd, v.Snap.ID, edit)
			}
			return err
		},
		to:     form.Saved(v.Head.URL("?done=edited")),
		fields: fields,
		again:  func(form templates.Form) error { return showEdit(w, r, http.StatusUnprocessableEntity, v, form) },
	}
}

func (s *Site) ImportPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	values := url.Values{"key": {newKey(r)}}
	if r.URL.Query().Has("by_number") || v.Snap.State != ledger.Open { // which takes results, and no new trials
		values.Set("by_number", "yes")
	}
	return showImport(w, r, http.StatusOK, v, templates.ImportPage{Form: templates.Form{Values: values}})
}

func showImport(w http.ResponseWriter, r *http.Request, status int, v view.Facts, page templates.ImportPage) error {
	inputs := forms.NewImport(new(string), new(study.ImportOptions)).Inputs()
	page.Rows, page.How = inputs[0], inputs[1:]
	d := v.Snap.Definition
	page.Page, page.Study = newPage(r, "Import results", "medium"), v.Head
	var names, cells []string
	at := exampleSettings(v.Snap.Compiled())
	for _, p := range d.Parameters {
		names, cells = append(names, p.Name), append(cells, at[p.Name].String())
	}
	for _, metric := range view.Told(d) {
		names, cells = append(names, metric), append(cells, "1.5")
	}
	page.Columns = strings.Join(names, ", ")
	var example strings.Builder
	_ = csv.NewWriter(&example).WriteAll([][]string{append(names, "note"), append(cells, "first run")})
	page.Example = strings.TrimSuffix(example.String(), "\n")
	return show(w, r, status, templates.ImportView(page))
}

func exampleSettings(c *design.Compiled) design.Settings {
	if len(c.Def.Candidates) > 0 {
		return c.Def.Candidates[0]
	}
	return c.Settings(c.Probes()[0])
}

// Import checks rows, or imports them.
func (s *Site) Import(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	var rows string
	options := study.ImportOptions{DryRun: form.Pressed() != "import", BeyondBounds: true, Decimals: form.Decimals()} // rows beyond bounds are doubted
	fields := forms.NewImport(&rows, &options)
	fields.Read(form)
	field := fields[0].Name
	uploaded, unread := forms.Upload(r)
	rows = cmp.Or(uploaded, rows)
	form.Values.Set(field, rows) // so that the next press of a button sends them too
	if unread == nil && strings.TrimSpace(rows) == "" {
		form.Fault(field, "choose a file above, or paste rows here")
	}
	var page templates.ImportPage
	var saved int64 // the last event of the rows
	asked := submission{
		do: func(cmd study.Command) error {
			if unread != nil {
				return unread
			}
			result, err := s.Studies.ImportCSV(r.Context(), cmd, v.Snap.ID, strings.NewReader(rows), options)
			saved = versionAfter(result.Snapshot, err)
			page.Ready = "All good: " + design.Count(result.Rows, "row is", "rows are") + " ready to be imported. Press Import."
			switch {
			case err == nil && result.Rows == 0:
				page.Ready = ""
				form.Fault(field, "all of this is here already; there is nothing to import")
			case options.ByNumber:
				page.Ready = "All good: the table has something new of " + design.Count(result.Rows, "trial", "trials") + ". Press Import."
			}
			page.Unknown, page.Faults = result.UnknownColumns, fileFaults(err)
			for _, fault := range page.Faults {
				if form.AsksDecimals(field, fault.Value) {
					break
				}
			}
			page.Found = result.Health
			if len(result.Doubts) > 0 {
				page.Ready, page.Doubts = oddRows, shownRows(result.Doubts, fields)
			}
			if len(result.Corrected) > 0 {
				page.Ready += " It corrects results of " + view.TrialsInWords(result.Corrected) + "."
			}
			return err
		},
		done: func() error {
			return GoTo(w, r, v.Head.URL(fmt.Sprintf("?done=imported&saved=%s&event=%d#trials", url.QueryEscape(templates.ImportPage{Study: v.Head}.Draft()), saved)))
		},
		again: func(form templates.Form) error {
			if page.Faults != nil {
				form.General = "" // the faults are in a table
			}
			return showImport(w, r, http.StatusUnprocessableEntity, v, templates.ImportPage{Form: form, Faults: page.Faults, Doubts: page.Doubts})
		},
	}
	asked.doubted = func(form templates.Form, doubts []study.Doubt) error {
		return showImport(w, r, http.StatusUnprocessableEntity, v, templates.ImportPage{Form: form, Ready: oddRows, Doubts: shownRows(doubts, fields)})
	}
	if options.DryRun {
		asked.done = func() error {
			page.Form = form.Shown()
			return showImport(w, r, http.StatusOK, v, page)
		}
	}
	return asked
}

// versionAfter returns the version that a change led to, now or when it was first sent.
func versionAfter(after *ledger.Snapshot, err error) int64 {
	switch before := doneBefore(err); {
	case before != nil:
		return before.Version
	case after != nil:
		return after.Version
	}
	return 0
}

// UndoManyPage asks why what was written together with the event ?event is to be taken back.
func (s *Site) UndoManyPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	return s.showUndo(w, r, http.StatusOK, v, templates.UndoPage{Form: templates.Form{Values: url.Values{"key": {newKey(r)}}}})
}

// undoneEvent returns the number in ?event.
func undoneEvent(r *http.Request, v view.Facts) (int64, error) {
	return request.Parse(r, func(q *request.Query) int64 { return q.Int("event", 1, v.Snap.Version, v.Snap.Version) })
}

func (s *Site) showUndo(w http.ResponseWriter, r *http.Request, status int, v view.Facts, shown templates.UndoPage) error {
	seq, err := undoneEvent(r, v)
	if err != nil {
		return err
	}
	events, err := s.Studies.Events(r.Context(), v.Snap.ID, seq-1, 1)
	if err != nil {
		return err
	}
	page := v.Undo(events[0])
	page.Page, page.Form, page.Preview = newPage(r, "Take back what was saved together", "medium"), shown.Form, shown.Preview
	page.Reason = forms.Reason("Such as “another study’s file”. Everybody can read it.", new(string)).Input
	return show(w, r, status, templates.UndoView(page))
}

// UndoMany previews that, or does it.
func (s *Site) UndoMany(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	event, err := undoneEvent(r, v)
	if err != nil {
		return submission{done: func() error { return err }}
	}
	undoing := study.Undoing{Event: event}
	fields := forms.Fields{forms.Reason("", &undoing.Reason)}
	fields.Read(form)
	var saved int64
	asked := submission{
		do: func(cmd study.Command) error {
			cmd.IfMatch = v.Snap.Version
			after, _, err := s.Studies.UndoMany(r.Context(), cmd, v.Snap.ID, undoing)
			saved = versionAfter(after, err)
			return err
		},
		done: func() error {
			return GoTo(w, r, form.Saved(v.Head.URL(fmt.Sprintf("?done=taken-back&event=%d", saved))))
		},
		fields: fields,
		again: func(form templates.Form) error {
			return s.showUndo(w, r, http.StatusUnprocessableEntity, v, templates.UndoPage{Form: form})
		},
	}
	return asked.withPreview(form, v.Snap, "taken back", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewUndoing(r.Context(), command(r, form), v.Snap.ID, undoing)
		if err != nil {
			return nil, err
		}
		return view.UndoConsequences(v.Snap, impact), nil
	}, func(preview *templates.Consequences) error {
		return s.showUndo(w, r, http.StatusOK, v, templates.UndoPage{Form: form.Shown(), Preview: preview})
	})
}

// inWordsOfPage words what programs are told of an import for a page that has boxes for it.
var inWordsOfPage = strings.NewReplacer(study.LeavesOut, "the box below leaves such columns out", study.ByNumber, "The box “"+forms.ByNumberLabel+"”")

const oddRows = "The table can be imported, but some of it looks odd."

func shownRows(doubts []study.Doubt, fields forms.Fields) templates.Doubts {
	shown := shownDoubts(doubts, fields)
	for i := range shown.List {
		shown.List[i].Text = inWordsOfPage.Replace(shown.List[i].Text)
	}
	return shown
}

// lineField matches a place in a table that was sent: its line and, perhaps, column.
var lineField = regexp.MustCompile(`^lines\[(\d+)\](?:\.(.*))?$`)

// fileFaults returns the faults of the rows by line and column.
func fileFaults(err error) []templates.FileFault {
	faulty, ok := errors.AsType[*design.Invalid](err)
	if !ok {
		return nil
	}
	faults := make([]templates.FileFault, len(faulty.Faults))
	for i, fault := range faulty.Faults {
		shown := templates.FileFault{Where: words.Either(fault.Field == "reason", "the reason", "the file"), What: fault.Message}
		if at := lineField.FindStringSubmatch(fault.Field); at != nil {
			shown.Where = "line " + at[1]
			if at[2] != "" {
				shown.Where += ", " + at[2]
			}
			shown.What = withoutPlace(shown.What, at[1], at[2])
		}
		shown.What = inWordsOfPage.Replace(shown.What)
		if text, ok := fault.Value.(string); ok {
			shown.Value = text
		}
		faults[i] = shown
	}
	return faults
}

// withoutPlace removes the line and the column from the beginning of a fault of a table.
func withoutPlace(what, line, column string) string {
	said, placed := strings.CutPrefix(what, "line "+line)
	if !placed {
		return what
	}
	said = strings.TrimLeft(said, ",: ")
	return words.Either(column == "", said, strings.TrimPrefix(strings.TrimPrefix(said, "column "), column+": "))
}
