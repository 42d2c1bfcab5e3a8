package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"headroom/internal/http/request"
	"headroom/internal/optimizer"
	"headroom/web/static"
)

type algorithmList struct {
	Algorithms []algorithmDescription `json:"algorithms"`
}

type algorithmDescription struct {
	Name                 string               `json:"name"`
	Title                string               `json:"title"`
	Source               string               `json:"source"`
	Feedback             string               `json:"feedback"`
	Summary              string               `json:"summary"`
	NeedsGivenConstraint bool                 `json:"needs_given_constraint"`
	NeedsSafeSeeds       bool                 `json:"needs_safe_seeds"`
	Theorem              *theoremDescription  `json:"theorem"` // null for an algorithm that draws no bound on violation
	Settings             []settingDescription `json:"settings"`
}

// theoremDescription is what was proved about an algorithm's bound on violation.
type theoremDescription struct {
	Name        string   `json:"name"`
	Paper       string   `json:"paper"`
	Year        int      `json:"year"`
	Bounds      string   `json:"bounds"`
	Short       string   `json:"short"` // how far the bound drawn falls short of what was proved; empty where it does not
	Assumptions []string `json:"assumptions"`
}

type settingDescription struct {
	Name         string       `json:"name"`
	Type         string       `json:"type"`
	Per          string       `json:"per,omitempty"` // metric or constraint: may be an object by its name
	Default      any          `json:"default"`
	DefaultMeans string       `json:"default_means,omitempty"`
	Paper        any          `json:"paper"` // the default with preset "paper"
	Range        settingRange `json:"range"`
	Meaning      string       `json:"meaning"`
}

type settingRange struct {
	Low          *float64 `json:"low"`
	High         *float64 `json:"high"`
	LowExclusive bool     `json:"low_exclusive"`
	Choices      []string `json:"choices,omitempty"`
}

// ListAlgorithms is GET …/algorithms.
func (a *API) ListAlgorithms() Operation {
	return listing(Operation{Summary: "Every algorithm with its settings, source and the feedback it assumes", Tag: "Reference"}, func(*http.Request) (algorithmList, error) {
		list := algorithmList{Algorithms: []algorithmDescription{}}
		for _, a := range optimizer.Algorithms() {
			list.Algorithms = append(list.Algorithms, algorithmDescription{
				Name: a.Name, Title: a.Title, Source: a.Source, Feedback: a.Feedback, Summary: a.Summary,
				NeedsGivenConstraint: a.NeedsGivenConstraint, NeedsSafeSeeds: a.NeedsSafeSeeds, Theorem: theoremOf(a.Theorem), Settings: settingDescriptions(a.Settings),
			})
		}
		return list, nil
	})
}

func theoremOf(t *optimizer.Theorem) *theoremDescription {
	if t == nil {
		return nil
	}
	out := &theoremDescription{Name: t.Name, Paper: t.Paper, Year: t.Year, Bounds: t.Bounds, Short: t.Short}
	for _, a := range t.Assumptions {
		out.Assumptions = append(out.Assumptions, a.Text)
	}
	return out
}

func settingDescriptions(settings []optimizer.Setting) []settingDescription {
	list := make([]settingDescription, len(settings))
	for i, setting := range settings {
		paper := setting.Paper
		if paper == nil {
			paper = setting.Default
		}
		list[i] = settingDescription{
			Name: setting.Name, Type: string(setting.Type), Per: string(setting.Per),
			Default: setting.Default, DefaultMeans: setting.DefaultMeans, Paper: paper, Meaning: setting.Meaning,
			Range: settingRange{Low: setting.Low, High: setting.High, LowExclusive: setting.LowExclusive, Choices: setting.Choices},
		}
	}
	return list
}

// ReadDocument is GET …/openapi.json.
func (a *API) ReadDocument() Operation {
	return Operation{
		Summary: "This document", Tag: "Reference", Status: 200, Answer: map[string]any{},
		Query: []queryParameter{{"version", "3.1 (default), or 3.0 for generators that do not know 3.1", ""}},
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			q, err := request.ReadQuery(r.URL)
			if err != nil {
				return err
			}
			document := a.document
			if slices.Contains(request.Among(q, "version", "3.0", "3.1"), "3.0") {
				document = a.document30
			}
			if err := q.Err(); err != nil {
				return err
			}
			w.Header().Set("Content-Type", "application/json")
			_, err = w.Write(document)
			return err
		},
	}
}

// BrowseDocument is GET …/docs.
func (a *API) BrowseDocument() Operation {
	return Operation{
		Summary: "This document as a page", Tag: "Reference", Status: 200, Answer: "", AnswerType: "text/html",
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, err := w.Write(a.page)
			return err
		},
	}
}

//go:embed docs.html
var docsText string

var docsTemplate = template.Must(template.New("docs").Parse(docsText))

// docsSection is the operations under one tag.
type docsSection struct {
	Tag        string
	Operations []docsOperation
}

type docsOperation struct {
	Route
	ID         string
	Parameters []object
	Body       string
	Answer     string
}

// docsPage writes the OpenAPI document as a page: no script, nothing from elsewhere.
func docsPage(routes []Route) ([]byte, error) {
	all := newSchemas()
	var sections []*docsSection
	for _, rt := range routes {
		i := slices.IndexFunc(sections, func(section *docsSection) bool { return section.Tag == rt.Tag })
		if i < 0 {
			i = len(sections)
			sections = append(sections, &docsSection{Tag: rt.Tag})
		}
		sections[i].Operations = append(sections[i].Operations, docsOperationOf(rt, all))
	}
	var page bytes.Buffer
	err := docsTemplate.Execute(&page, struct {
		Style    string
		Icon     string
		Sections []*docsSection
		Schemas  map[string]string
	}{static.URL("app.css"), static.URL("icon.svg"), sections, pretty(all.named)})
	return page.Bytes(), err
}

func docsOperationOf(rt Route, all *schemas) docsOperation {
	out := docsOperation{Route: rt, ID: rt.Name, Parameters: parameters(rt, all)}
	if body, ok := operationObject(rt, all)["requestBody"]; ok {
		out.Body = indented(body)
	}
	out.Answer = indented(success(rt, all))
	return out
}

func pretty(named object) map[string]string {
	out := make(map[string]string, len(named))
	for name, schema := range named {
		out[name] = indented(schema)
	}
	return out
}

// indented writes what was made to be JSON for people to read.
func indented(value any) string {
	var text strings.Builder
	writer := json.NewEncoder(&text)
	writer.SetEscapeHTML(false) // the page does that
	writer.SetIndent("", "  ")
	if err := writer.Encode(value); err != nil {
		panic("server: " + err.Error()) // only maps, lists and text come here
	}
	return strings.TrimSuffix(text.String(), "\n")
}
