package server

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

func (s *Server) importPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return s.showImport(w, r, http.StatusOK, snap, templates.ImportPage{Form: templates.Form{Values: url.Values{"key": {newKey()}}}})
}

func (s *Server) showImport(w http.ResponseWriter, r *http.Request, status int, snap *ledger.Snapshot, page templates.ImportPage) error {
	d := snap.Definition
	page.Page, page.Study, page.Key = newPage(r, "Import results"), studyHead(r, snap), page.Form.Value("key")
	page.Width = "medium"
	var names, cells []string
	for _, p := range d.Parameters {
		names, cells = append(names, p.Name), append(cells, exampleCell(p))
	}
	for _, metric := range told(d) {
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

// importOnPage checks rows, or imports them.
func (s *Server) importOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	rows, err := importedText(r, values)
	if err != nil {
		return err
	}
	values.Set("text", rows) // the next press of a button has them too
	page := templates.ImportPage{Form: templates.Form{Values: values}}
	if strings.TrimSpace(rows) == "" {
		page.Form.Errors, page.Form.First = map[string]string{"text": "choose a file above, or paste rows here"}, "text"
		return s.showImport(w, r, http.StatusUnprocessableEntity, snap, page)
	}
	options := study.ImportOptions{DryRun: values.Get("do") != "import", IgnoreUnknown: values.Get("ignore") != ""}
	result, err := s.studies.ImportCSV(r.Context(), pageCommand(r, values), snap.ID, strings.NewReader(rows), options)
	_, twice := answeredBefore(err)
	if !options.DryRun && (err == nil || twice) {
		return goTo(w, r, "/studies/"+snap.ID+"?done=imported#trials")
	}
	if err != nil {
		return s.importFaults(w, r, snap, page, err)
	}
	page.Ready = "All good: " + count(result.Rows, "row is", "rows are") + " ready to be imported. Press Import."
	page.Unknown = result.UnknownColumns
	return s.showImport(w, r, http.StatusOK, snap, page)
}

// importedText is the file, or else what was pasted.
func importedText(r *http.Request, values url.Values) (string, error) {
	file, _, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return values.Get("text"), nil
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
		return values.Get("text"), nil
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(content), "\ufffd"), "\ufeff"), nil
}

var lineLocation = regexp.MustCompile(`^body\.lines\[(\d+)\](?:\.(.*))?$`)

// importFaults shows what is wrong with the rows, by line and column.
func (s *Server) importFaults(w http.ResponseWriter, r *http.Request, snap *ledger.Snapshot, page templates.ImportPage, err error) error {
	var faulty *design.Invalid
	if !errors.As(err, &faulty) {
		sentence, ok := refusal(err)
		if !ok {
			return err
		}
		page.Form.General = sentence
		return s.showImport(w, r, http.StatusUnprocessableEntity, snap, page)
	}
	for _, fault := range faulty.Faults {
		shown := templates.FileFault{Where: "the file", What: fault.Message}
		if at := lineLocation.FindStringSubmatch(fault.Location); at != nil {
			shown.Where = "line " + at[1]
			if at[2] != "" {
				shown.Where += ", " + at[2]
			}
			shown.What = strings.TrimPrefix(shown.What, "line "+at[1]+", column "+at[2]+": ")
		}
		if text, ok := fault.Value.(string); ok {
			shown.Value = text
		}
		page.Faults = append(page.Faults, shown)
	}
	return s.showImport(w, r, http.StatusUnprocessableEntity, snap, page)
}
