package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// scalesOf says of each line of a form, as far as it is filled in, on which scale the number will be or should be.
func scalesOf(values url.Values) []templates.Scale {
	t := newTyped(cloned(values))
	d := t.definition()
	scales := make([]templates.Scale, len(rowsOf(values, "parameters")))
	for i := range scales {
		p := d.Parameters[i]
		why := d.WhyLog(p, d.LevelsOf(p.Name))
		switch {
		case why == "" || p.Scale == design.ScaleLog:
		case d.ScaleOf(p) == design.ScaleLog:
			scales[i] = templates.Scale{Says: "This will be on a logarithmic scale: " + why + ".", Offer: design.ScaleLinear, Label: "Keep it linear"}
		default:
			scales[i] = templates.Scale{Says: "This belongs on a logarithmic scale: " + why + ".", Offer: design.ScaleLog, Label: "Make it logarithmic"}
		}
	}
	return scales
}

func cloned(values url.Values) url.Values {
	copied := url.Values{}
	for name, list := range values {
		copied[name] = slices.Clone(list)
	}
	return copied
}

// rescale does what a button beside a scale asks, and tells whether one was pressed.
func rescale(values url.Values, do string) bool {
	scale, row, ok := strings.Cut(do, "-parameters.")
	field := "parameters." + row + ".scale"
	if !ok || scale != design.ScaleLinear && scale != design.ScaleLog || !values.Has(field) {
		return false
	}
	values.Set(field, scale)
	return true
}

// offerLog fills the form with a log scale for the parameter, and the reason. It says what was filled in, "" where nothing speaks for it.
func offerLog(values url.Values, snap *ledger.Snapshot, name string) string {
	at := slices.IndexFunc(study.Health(snap), func(f study.Finding) bool { return f.Kind == "scale" && f.Parameter == name })
	if at < 0 {
		return ""
	}
	i := slices.IndexFunc(snap.Definition.Parameters, func(p design.Parameter) bool { return p.Name == name })
	values.Set(fmt.Sprintf("parameters.%d.scale", i), design.ScaleLog)
	values.Set("reason", study.Health(snap)[at].Says)
	return fmt.Sprintf("Filled in below, and not changed yet: %s on a logarithmic scale. All trials stay, and the next decision sees them on it.", name)
}
