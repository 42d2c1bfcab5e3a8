package view

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Sheet is a trial on paper: what to set, the limits, blanks to write in, and the address of its page.
func (v Facts) Sheet(t *ledger.Trial, address string) (templates.SheetPage, error) {
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return templates.SheetPage{}, err
	}
	d := v.Snap.Definition
	sheet := templates.SheetPage{Study: v.Head, Card: v.of(t).card(), Address: address, Code: modules(code), Size: code.Size + 2*quietZone, Printed: words.Exact(v.Now)}
	for _, c := range d.Constraints {
		if m, there := t.Metrics[c.Metric]; there && m.Known {
			sheet.Lines = append(sheet.Lines, templates.SheetLine{Name: c.Metric, Limit: limitsText(d, c.Metric), Value: v.Measured(c.Metric, m), Note: "known beforehand"})
		}
	}
	for _, metric := range Told(d) {
		line := templates.SheetLine{Name: metric, Unit: UnitOf(d, metric), Limit: limitsText(d, metric)}
		if m, there := t.Metrics[metric]; there {
			line.Value, line.Note = v.Measured(metric, m), "saved already"
		}
		sheet.Lines = append(sheet.Lines, line)
	}
	return sheet, nil
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
