package e2e

import "testing"

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
	p.shot("scale-wide")
	p.pressSlowly("Keep it linear") // leaving the field has the hint fetched again
	p.sees("This belongs on a logarithmic scale")
	p.size(390, 844)
	p.audit("a scale that does not suit, on a phone")
	p.shot("scale-narrow")
	p.dark()
	p.shot("scale-dark")
	p.size(1440, 1000)
	p.fill(`[name="objective.metric"]`, "yield")
	p.press("Make the study")
	p.sees("flow is on a linear scale, but 100 is 1000 times 0.1")
	p.audit("a study whose scale does not suit")
	p.shot("scale-study")
	p.press("Make it logarithmic …")
	p.sees("Filled in below, and not changed yet")
	p.shot("scale-reconfigure")
	p.press("See what this would change")
	p.press("Change it")
	p.until("the study", `!location.pathname.endsWith("/reconfigure")`)
	p.seesNot("flow is on a linear scale")
}
