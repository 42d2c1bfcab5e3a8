package e2e

import (
	"strings"
	"testing"
)

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

// TestNamesWrittenRightToLeft: they turn no limit round that stands beside them, nor numbers in a sentence, and a note stands as
// whoever wrote it saw it.
func TestNamesWrittenRightToLeft(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, map[string]any{
		"name":        "ניסוי",
		"parameters":  []map[string]any{{"name": "טמפרטורה", "type": "real", "low": 20, "high": 60}},
		"objective":   map[string]any{"metric": "תשואה", "direction": "maximize"},
		"constraints": []map[string]any{{"metric": "עכבה", "op": "<=", "threshold": 0.5, "unit": "%"}},
	})
	site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{"parameters": map[string]any{"טמפרטורה": 30}, "metrics": map[string]any{"תשואה": 70, "עכבה": 0.4}, "note": "הערה mg/L"}, nil)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	for selector, want := range map[string]string{".verdict-limits li p": "עכבה ≤", "#trials .small": "mg/L הערה", "#ledger .panel": "saved תשואה 70 עכבה 0.4"} {
		got := ask[[]string](p, `(() => {
			const range = document.createRange(), at = {};
			for (const text of `+quoted(want)+`.split(" ")) {
				const walk = document.createTreeWalker(document.querySelector(`+quoted(selector)+`), NodeFilter.SHOW_TEXT);
				for (let node = walk.nextNode(); node; node = walk.nextNode()) {
					const from = node.data.indexOf(text);
					if (from < 0) continue;
					range.setStart(node, from);
					range.setEnd(node, from + text.length);
					at[text] = range.getBoundingClientRect();
				}
			}
			return Object.keys(at).sort((a, b) => (at[a].bottom < at[b].top ? -1 : at[b].bottom < at[a].top ? 1 : at[a].left - at[b].left)) })()`)
		if strings.Join(got, " ") != want {
			t.Errorf("line by line, from left to right, stands %q, want %q", got, want)
		}
	}
}
