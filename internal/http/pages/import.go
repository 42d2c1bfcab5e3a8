package pages

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"headroom/internal/http/forms"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

func (s *Site) ImportPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	return showImport(w, r, http.StatusOK, v, templates.ImportPage{Form: templates.Form{Values: url.Values{"key": {newKey(r)}}}})
}

func showImport(w http.ResponseWriter, r *http.Request, status int, v view.Facts, page templates.ImportPage) error {
	inputs := forms.NewImport(new(string), new(bool)).Inputs()
	page.Rows, page.Ignore = inputs[0], inputs[1]
	d := v.Snap.Definition
	page.Page, page.Study = newPage(r, "Import results", "medium"), v.Head
	var names, cells []string
	for _, p := range d.Parameters {
		names, cells = append(names, p.Name), append(cells, exampleCell(p))
	}
	for _, metric := range view.Told(d) {
		names, cells = append(names, metric), append(cells, "1.5")
	}
	page.Columns = strings.Join(names, ", ")
	page.Example = strings.Join(append(names, "note"), ",") + "\n" + strings.Join(append(cells, "first run"), ",")
	return show(w, r, status, templates.ImportView(page))
}

func exampleCell(p design.Parameter) string {
	switch {
	case len(p.Choices) > 0:
		return p.Choices[0]
	case p.Low != nil:
		return design.NumberValue(*p.Low).String()
	}
	return "1"
}

// Import checks rows, or imports them.
func (s *Site) Import(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	var rows string
	options := study.ImportOptions{DryRun: form.Pressed() != "import", BeyondBounds: true, Decimals: form.Decimals()} // beyond bounds is doubted
	fields := forms.NewImport(&rows, &options.IgnoreUnknown)
	fields.Read(form)
	field := fields[0].Name
	uploaded, unread := forms.Upload(r)
	rows = cmp.Or(uploaded, rows)
	form.Values.Set(field, rows) // the next press of a button has them too
	if unread == nil && strings.TrimSpace(rows) == "" {
		form.Fault(field, "choose a file above, or paste rows here")
	}
	var page templates.ImportPage
	asked := submission{
		do: func(cmd study.Command) error {
			if unread != nil {
				return unread
			}
			result, err := s.Studies.ImportCSV(r.Context(), cmd, v.Snap.ID, strings.NewReader(rows), options)
			page.Ready = "All good: " + words.Count(result.Rows, "row is", "rows are") + " ready to be imported. Press Import."
			page.Unknown, page.Faults = result.UnknownColumns, fileFaults(err)
			for _, fault := range page.Faults {
				if form.AsksDecimals(field, fault.Value) {
					break
				}
			}
			page.Found = view.Findings(v.Head, result.Health)
			if len(result.Doubts) > 0 {
				page.Ready, page.Doubts = oddRows, doubtful(result.Doubts, fields)
			}
			return err
		},
		to: "/studies/" + v.Snap.ID + "?done=imported#trials",
		again: func(form templates.Form) error {
			if page.Faults != nil {
				form.General = "" // they stand in a table
			}
			return showImport(w, r, http.StatusUnprocessableEntity, v, templates.ImportPage{Form: form, Faults: page.Faults})
		},
	}
	asked.doubted = func(form templates.Form, doubts []study.Doubt) error {
		return showImport(w, r, http.StatusUnprocessableEntity, v, templates.ImportPage{Form: form, Ready: oddRows, Doubts: doubtful(doubts, fields)})
	}
	if options.DryRun {
		asked.done = func() error {
			page.Form = form.Shown()
			return showImport(w, r, http.StatusOK, v, page)
		}
	}
	return asked
}

const oddRows = "The rows can be imported, but some of it looks odd."

// lineField is a place in a table that was sent: its line, and the column where it is about one.
var lineField = regexp.MustCompile(`^lines\[(\d+)\](?:\.(.*))?$`)

// fileFaults are what is wrong with the rows, by line and column.
func fileFaults(err error) []templates.FileFault {
	var faulty *design.Invalid
	if !errors.As(err, &faulty) {
		return nil
	}
	faults := make([]templates.FileFault, len(faulty.Faults))
	for i, fault := range faulty.Faults {
		shown := templates.FileFault{Where: "the file", What: fault.Message}
		if at := lineField.FindStringSubmatch(fault.Field); at != nil {
			shown.Where = "line " + at[1]
			if at[2] != "" {
				shown.Where += ", " + at[2]
			}
			shown.What = strings.TrimPrefix(shown.What, "line "+at[1]+", column "+at[2]+": ")
		}
		shown.What = strings.Replace(shown.What, study.LeavesOut, "the box below leaves such columns out", 1)
		if text, ok := fault.Value.(string); ok {
			shown.Value = text
		}
		faults[i] = shown
	}
	return faults
}
