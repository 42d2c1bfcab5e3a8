package e2e

import (
	"math"
	"testing"
)

// TestScaleHint: while a range is typed the form says that it asks for a log scale, and leaves
// alone what is being typed elsewhere; a press does what it offers.
func TestScaleHint(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	p.open("/studies/new")
	p.fill(`[name="name"]`, "Scales")
	p.fill(`[name="parameters.0.name"]`, "flow")
	p.fill(`[name="parameters.0.low"]`, "0,1")
	p.fill(`[name="parameters.0.high"]`, "100")
	p.fill(`[name="parameters.0.unit"]`, "mL")
	p.sees("This will be on a logarithmic scale: 100 is 1000 times 0.1.")
	if unit := p.value(`[name="parameters.0.unit"]`); unit != "mL" {
		t.Errorf("what was being typed became %q", unit)
	}
	p.audit("a scale that is chosen")
	p.keep("scale-wide")
	p.pressSlowly("Keep it linear") // leaving the field has the hint fetched again
	p.sees("This belongs on a logarithmic scale")
	p.size(390, 844)
	p.audit("a scale that does not suit, on a phone")
	p.keep("scale-narrow")
	p.dark()
	p.keep("scale-dark")
	p.size(1440, 1000)
	p.fill(`[name="objective.metric"]`, "yield")
	p.press("Make the study")
	p.sees("flow is on a linear scale, but 100 is 1000 times 0.1")
	p.audit("a study whose scale does not suit")
	p.keep("scale-study")
	p.press("Make it logarithmic …")
	p.sees("Filled in below, and not changed yet")
	p.keep("scale-reconfigure")
	p.press("See what this would change")
	p.press("Change it")
	p.sees("Changed. The change is in effect")
	p.seesNot("Make it logarithmic …") // its words are the reason, which the ledger has
}

// TestFarNumbersHaveRoom: what is expected of a metric of 10¹¹ keeps to its column, and so does that
// of one with a long unit; a concentration of 10⁻⁷ is not broken between lines, and a long name does
// not push readings out of their table.
func TestFarNumbersHaveRoom(t *testing.T) {
	t.Parallel()
	const line, rate = "temperature of the feed line into the second of both reactors", "specific rate of absorption by the second culture"
	id := site.makeStudy(t, map[string]any{
		"name": "Far numbers",
		"parameters": []map[string]any{
			{"name": "salt", "type": "real", "low": 1e-9, "high": 1e-3, "scale": "log", "unit": "M"},
			{"name": "A", "type": "real", "low": 0, "high": 60, "unit": "%"}, {"name": "B", "type": "real", "low": 0, "high": 60, "unit": "%"},
			{"name": "C", "type": "real", "low": 0, "high": 60, "unit": "%"}, {"name": line, "type": "real", "low": 0, "high": 60, "unit": "%"},
			{"name": "cycles", "type": "integer", "low": 1, "high": 12},
		},
		"objective": map[string]any{"metric": "yield", "direction": "maximize", "unit": "%"},
		"constraints": []map[string]any{
			{"metric": "viscosity", "op": "<=", "threshold": 1e12, "unit": "µPa s"}, {"metric": "one", "op": "<=", "threshold": 100},
			{"metric": "two", "op": "<=", "threshold": 100}, {"metric": rate, "op": "<=", "threshold": 100, "unit": "µmol·L⁻¹·min⁻¹·mg⁻¹"},
		},
		"seed": 7,
	})
	for i := range 12 {
		x := float64(i)
		site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{
			"parameters": map[string]any{"salt": 4.6612345e-9 * math.Pow(2.5, x), "A": 5 * x, "B": 60 - 5*x, "C": 7.123, line: 3 * x, "cycles": 1 + i},
			"metrics":    map[string]any{"yield": 60 + 3*x - x*x/3, "viscosity": 1.1e10 * math.Pow(1.3, x), "one": x, "two": 2 * x, rate: 50 - x},
		}, nil)
	}
	site.api(t, "POST", "/studies/"+id+"/ask", map[string]any{"count": 1}, nil)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.unscrolled("the trials with a long name")
	for _, width := range []int64{1440, 1100, 390} {
		p.size(width, 1000)
		p.open("/studies/" + id)
		p.sees("The answer so far")
		p.sound("a study of far numbers")
		if out := ask[[]string](p, `[...document.querySelectorAll(".expected")].filter((table) => table.getBoundingClientRect().right > table.parentElement.getBoundingClientRect().right)
			.map((table) => table.innerText)`); len(out) > 0 {
			t.Errorf("at %d pixels what is expected does not keep to its column: %q", width, out)
		}
		if broken := ask[[]string](p, `[...document.querySelectorAll(".settings dd")].filter((setting) => {
			const text = document.createRange();
			text.selectNodeContents(setting.firstChild);
			return !setting.firstChild.data.includes(" ") && new Set([...text.getClientRects()].map((box) => box.top)).size > 1;
		}).map((setting) => setting.innerText)`); len(broken) > 0 {
			t.Errorf("at %d pixels settings are broken between lines: %q", width, broken)
		}
	}
}
