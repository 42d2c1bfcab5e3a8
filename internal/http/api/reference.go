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
	"headroom/internal/optimizer/policy"
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
	Theorem              *theoremDescription  `json:"theorem"` // null for an algorithm that draws no bounds
	Settings             []settingDescription `json:"settings"`
}

// theoremDescription is what was proved about an algorithm's bounds on violation and regret.
type theoremDescription struct {
	Name        string   `json:"name"`
	Paper       string   `json:"paper"`
	Year        int      `json:"year"`
	Bounds      string   `json:"bounds"`
	Soft        bool     `json:"soft"` // the sum is one in which distance kept pays back excess
	Regret      string   `json:"regret"`
	Short       string   `json:"short"` // how far the bounds drawn fall short of what was proved; empty where they do not
	Assumptions []string `json:"assumptions"`
	ForRegret   []string `json:"for_regret,omitempty"` // what the bound on regret assumes beside them
}

type settingDescription struct {
	Name         string       `json:"name"`
	Type         string       `json:"type"`
	Per          string       `json:"per,omitempty"` // metric or constraint: may be an object by its name
	Default      any          `json:"default"`
	DefaultMeans string       `json:"default_means,omitempty"`
	Paper        any          `json:"paper"` // the default with preset "paper"; null where it is worked out or must be given, as default_means says
	Range        settingRange `json:"range"`
	Meaning      string       `json:"meaning"`
}

// ofReference are those that describe the API.
func (a *API) ofReference() operations {
	return operations{
		"listAlgorithms": listing(Operation{Summary: "Every algorithm with its settings, source and the feedback it assumes"}, func(*http.Request) (algorithmList, error) {
			list := algorithmList{Algorithms: []algorithmDescription{}}
			for _, a := range policy.Descriptions() {
				list.Algorithms = append(list.Algorithms, algorithmDescription{
					Name: a.Name, Title: a.Title, Source: a.Source, Feedback: a.Feedback, Summary: a.Advice(),
					NeedsGivenConstraint: a.NeedsGivenConstraint, NeedsSafeSeeds: a.NeedsSafeSeeds, Theorem: theoremOf(a.Theorem), Settings: settingDescriptions(a.Settings),
				})
			}
			return list, nil
		}),
		"readDocument": Operation{
			Summary: "This document", Answer: map[string]any{},
			Query: []queryParameter{{"version", "3.1 (default), or 3.0 for generators that do not know 3.1", ""}},
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				old, err := request.Asked(r, func(q *request.Query) bool { return slices.Contains(request.Among(q, "version", "3.0", "3.1"), "3.0") })
				document := a.document
				if err == nil && old {
					document, err = a.document30()
				}
				if err != nil {
					return err
				}
				w.Header().Set("Content-Type", "application/json")
				_, err = w.Write(document)
				return err
			},
		},
		"browseDocument": Operation{
			Summary: "This document as a page", Answer: "", AnswerType: "text/html",
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				page, err := a.page()
				if err != nil {
					return err
				}
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, err = w.Write(page)
				return err
			},
		},
	}
}

type settingRange struct {
	Low          *float64 `json:"low"`
	High         *float64 `json:"high"`
	LowExclusive bool     `json:"low_exclusive"`
	Choices      []string `json:"choices,omitempty"`
}

func theoremOf(t *policy.Theorem) *theoremDescription {
	if t == nil {
		return nil
	}
	out := &theoremDescription{Name: t.Name, Paper: t.Paper, Year: t.Year, Bounds: t.Bounds, Soft: t.Soft, Regret: t.Regret, Short: t.Short}
	for _, a := range t.Assumptions {
		out.Assumptions = append(out.Assumptions, a.Text)
	}
	for _, a := range t.ForRegret {
		out.ForRegret = append(out.ForRegret, a.Text)
	}
	return out
}

func settingDescriptions(settings []policy.Setting) []settingDescription {
	list := make([]settingDescription, len(settings))
	for i, setting := range settings {
		paper := setting.Paper
		if _, asked := paper.(policy.LeftToUser); asked {
			paper = nil
		} else if paper == nil {
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

//go:embed docs.html
var docsText string

// docsPage writes the OpenAPI document as a page: no script, nothing from elsewhere.
func docsPage(routes []Route) ([]byte, error) {
	all := newSchemas()
	var tags []string
	tagged := map[string][]Route{}
	for _, rt := range routes {
		if tagged[rt.Tag] == nil {
			tags = append(tags, rt.Tag)
		}
		tagged[rt.Tag] = append(tagged[rt.Tag], rt)
	}
	docs, err := template.New("docs").Funcs(template.FuncMap{
		"asset": static.URL, "indented": indented,
		"parameters": func(rt Route) []object { return parameters(rt, all) },
		"body":       func(rt Route) any { return operationObject(rt, all)["requestBody"] },
		"answer":     func(rt Route) object { return success(rt, all) },
		"schemas":    func() object { return all.named }, // once all others are written
	}).Parse(docsText)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = docs.Execute(&page, map[string]any{"Tags": tags, "Tagged": tagged})
	return page.Bytes(), err
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
