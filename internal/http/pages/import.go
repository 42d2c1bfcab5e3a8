package pages

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

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
	d := v.Snap.Definition
	page.Page, page.Study, page.Key = newPage(r, "Import results", "medium"), v.Head, page.Form.Value("key")
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
func (s *Site) Import(w http.ResponseWriter, r *http.Request, v view.Facts, form *typed) submission {
	rows, unread := importedText(r, form.values)
	form.values.Set("text", rows) // the next press of a button has them too
	if unread == nil && strings.TrimSpace(rows) == "" {
		form.fault("text", "choose a file above, or paste rows here")
	}
	options := study.ImportOptions{DryRun: form.pressed() != "import", IgnoreUnknown: form.text("ignore") != "", BeyondBounds: true, Decimals: form.decimals()} // beyond bounds is doubted
	var page templates.ImportPage
	asked := submission{
		do: func(cmd study.Command) error {
			if unread != nil {
				return unread
			}
			result, err := s.Studies.ImportCSV(r.Context(), cmd, v.Snap.ID, strings.NewReader(rows), options)
			page.Ready = "All good: " + words.Count(result.Rows, "row is", "rows are") + " ready to be imported. Press Import."
			page.Unknown, page.Faults = result.UnknownColumns, fileFaults(err)
			form.askDecimals("text", page.Faults)
			page.Found = view.Findings(v.Head, result.Health)
			if len(result.Doubts) > 0 {
				page.Ready, page.Doubts = oddRows, doubtfulRows(result.Doubts)
			}
			return err
		},
		to: "/studies/" + v.Snap.ID + "?done=imported#trials",
		again: func(form templates.Form) error {
			return showImport(w, r, http.StatusUnprocessableEntity, v, templates.ImportPage{Form: form, Faults: page.Faults})
		},
	}
	asked.doubted = func(form templates.Form, doubts []study.Doubt) error {
		return showImport(w, r, http.StatusUnprocessableEntity, v, templates.ImportPage{Form: form, Ready: oddRows, Doubts: doubtfulRows(doubts)})
	}
	if options.DryRun {
		asked.done = func() error {
			page.Form = form.shown()
			return showImport(w, r, http.StatusOK, v, page)
		}
	}
	return asked
}

const oddRows = "The rows can be imported, but some of it looks odd."

// doubtfulRows are doubts by line.
func doubtfulRows(doubts []study.Doubt) templates.Doubts {
	shown := templates.Doubts{Sure: study.Doubted(doubts)}
	for _, d := range doubts {
		text := d.Text
		if at := lineField.FindStringSubmatch(d.Field); at != nil {
			text = "Line " + at[1] + ": " + text
		}
		shown.List = append(shown.List, templates.Doubt{Text: text})
	}
	return shown
}

// askDecimals asks which mark is decimal in the table of a field, if a fault is that one of its
// numbers can be read in two ways.
func (t *typed) askDecimals(name string, faults []templates.FileFault) {
	for _, fault := range faults {
		_, err := design.ReadNumber(fault.Value, design.Marks{})
		if two := (*design.AmbiguousNumber)(nil); errors.As(err, &two) {
			t.offerDecimals(name, two)
			return
		}
	}
}

// importedText is the file, or else what was pasted.
func importedText(r *http.Request, values url.Values) (string, error) {
	file, _, err := r.FormFile("file")
	pasted := strings.ReplaceAll(values.Get("text"), "\r\n", "\n") // as browsers send every line end
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return pasted, nil
	}
	if err != nil {
		return "", formError(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return "", formError(err)
	}
	if len(content) == 0 {
		return pasted, nil
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(content), "\ufffd"), "\ufeff"), nil
}

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
		if text, ok := fault.Value.(string); ok {
			shown.Value = text
		}
		faults[i] = shown
	}
	return faults
}
