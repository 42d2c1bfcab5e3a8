package server

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"

	"headroom/internal/optimizer"
	static "headroom/web/static"
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
	Settings             []settingDescription `json:"settings"`
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

func (s *Server) documentRoutes() []route {
	return []route{
		{Method: "GET", Pattern: "/api/v1/algorithms", Access: SignedIn, Handler: listAlgorithms, Doc: &operation{
			Summary: "Every algorithm with its settings, source and the feedback it assumes", Tag: "Reference", Status: 200, Answer: algorithmList{}}},
		{Method: "GET", Pattern: "/api/v1/openapi.json", Access: SignedIn, Handler: s.readDocument, Doc: &operation{
			Summary: "This document", Tag: "Reference", Status: 200, Answer: map[string]any{}}},
		{Method: "GET", Pattern: "/api/v1/docs", Access: SignedIn, Handler: s.browseDocument, Doc: &operation{
			Summary: "This document as a page", Tag: "Reference", Status: 200, Answer: "", AnswerType: "text/html"}},
	}
}

func listAlgorithms(w http.ResponseWriter, r *http.Request) error {
	list := algorithmList{Algorithms: []algorithmDescription{}}
	for _, a := range optimizer.Algorithms() {
		list.Algorithms = append(list.Algorithms, algorithmDescription{
			Name: a.Name, Title: a.Title, Source: a.Source, Feedback: a.Feedback, Summary: a.Summary,
			NeedsGivenConstraint: a.NeedsGivenConstraint, NeedsSafeSeeds: a.NeedsSafeSeeds, Settings: settingDescriptions(a.Settings),
		})
	}
	return writeJSON(w, http.StatusOK, list)
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

func (s *Server) readDocument(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(s.document)
	return err
}

//go:embed docs.html
var docsText string

var docsPage = template.Must(template.New("docs").Parse(docsText))

// docsSection is the operations under one tag.
type docsSection struct {
	Tag        string
	Operations []docsOperation
}

type docsOperation struct {
	route
	ID         string
	Audience   string
	Parameters []object
	Body       string
	Answer     string
}

// browseDocument shows the OpenAPI document as a page, made here: no script, nothing from elsewhere.
func (s *Server) browseDocument(w http.ResponseWriter, r *http.Request) error {
	all := newSchemas()
	var sections []*docsSection
	for _, rt := range s.table {
		if !rt.inAPI() {
			continue
		}
		i := slices.IndexFunc(sections, func(section *docsSection) bool { return section.Tag == rt.Doc.Tag })
		if i < 0 {
			i = len(sections)
			sections = append(sections, &docsSection{Tag: rt.Doc.Tag})
		}
		sections[i].Operations = append(sections[i].Operations, docsOperationOf(rt, all))
	}
	var page bytes.Buffer
	err := docsPage.Execute(&page, struct {
		Style    string
		Icon     string
		Sections []*docsSection
		Schemas  map[string]string
	}{static.URL("app.css"), static.URL("icon.svg"), sections, pretty(all.named)})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err = page.WriteTo(w)
	return err
}

func docsOperationOf(rt route, all *schemas) docsOperation {
	out := docsOperation{route: rt, ID: operationID(rt), Audience: rt.Access.String(), Parameters: parameters(rt, all)}
	described := describe(rt, all)
	if body, ok := described["requestBody"]; ok {
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
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic("server: " + err.Error()) // only maps, lists and text come here
	}
	return string(text)
}
