package e2e

import "testing"

// TestNamesAreNoMarkup: names of whatever shape stand in charts as they are written: no link,
// nothing bold, no entity.
func TestNamesAreNoMarkup(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, map[string]any{
		"name": `<b>Bold</b> & <a href="https://example.org">co</a>`,
		"parameters": []map[string]any{
			{"name": `<a href="https://example.org">heat</a>`, "type": "real", "low": 20, "high": 60, "unit": "<i>K</i>"},
			{"name": "kind", "type": "categorical", "choices": []string{"<b>A</b>", "&lt;B", "$x$", "<br>C"}},
		},
		"objective":   map[string]any{"metric": "<b>yield</b> &amp; <sub>all</sub>", "direction": "maximize", "unit": "%"},
		"constraints": []map[string]any{{"metric": `<span style="color:red">impurity</span>`, "op": "<=", "threshold": 0.5}},
		"seed":        7,
	})
	for i := range 8 {
		site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{
			"parameters": map[string]any{`<a href="https://example.org">heat</a>`: 20 + 5*i, "kind": []string{"<b>A</b>", "&lt;B", "$x$", "<br>C"}[i%4]},
			"metrics":    map[string]any{"<b>yield</b> &amp; <sub>all</sub>": 60 + 3*i, `<span style="color:red">impurity</span>`: 0.1 * float64(i)},
		}, nil)
	}
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	if n := ask[int](p, `document.querySelectorAll(".plot :is(a, b, i, sub, br, tspan)").length`); n != 0 {
		t.Errorf("%d pieces of charts' texts were read as markup", n)
	}
	for _, text := range []string{"<b>yield</b> &amp; <sub>all</sub>", `<a href="https://example.org">heat</a>`, "<b>A</b>", "&lt;B", "$x$", "<br>C", "<i>K</i>"} {
		if !ask[bool](p, `[...document.querySelectorAll(".plot :is(text, .title, .axis)")].some((t) => t.textContent.includes(`+quoted(text)+`))`) {
			t.Errorf("%s stands in no chart as it is written", text)
		}
	}
}
