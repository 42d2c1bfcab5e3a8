package pages

import (
	"fmt"
	"net/http"
	"strings"

	"rsc.io/qr"

	"headroom/internal/http/request"
	"headroom/web/templates"
)

// PrintSheet is a trial on paper: what to set, the limits, blanks to write in, and the way back to its page.
func (s *Site) PrintSheet(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	address := s.PublicURL.JoinPath("studies", request.StudyID(r), "trials", fmt.Sprint(trial.Number)).String()
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return err
	}
	page := templates.SheetPage{Page: newPage(r, fmt.Sprintf("Sheet of trial %d of %s", trial.Number, v.head.Name)), Study: v.head, Card: v.card(trial),
		Address: address, Code: modules(code), Size: code.Size + 2*quietZone, Printed: stamp(v.now, v.now).Exact}
	page.Width = "medium"
	for _, c := range snap.Definition.Constraints {
		if m, there := trial.Metrics[c.Metric]; there && m.Known {
			page.Lines = append(page.Lines, templates.SheetLine{Name: c.Metric, Limit: limitsText(snap.Definition, c.Metric), Value: v.measured(c.Metric, m), Note: "known beforehand"})
		}
	}
	for _, metric := range told(snap.Definition) {
		line := templates.SheetLine{Name: metric, Unit: unitOf(snap.Definition, metric), Limit: limitsText(snap.Definition, metric)}
		if m, there := trial.Metrics[metric]; there {
			line.Value, line.Note = v.measured(metric, m), "saved already"
		}
		page.Lines = append(page.Lines, line)
	}
	return show(w, r, http.StatusOK, templates.SheetView(page))
}

// quietZone is the white margin that readers of codes need, in modules.
const quietZone = 4

// modules draws a code's dark modules as one SVG path, a run of neighbours at a time.
func modules(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quietZone, y+quietZone, run, run)
				x += run
			}
		}
	}
	return path.String()
}
