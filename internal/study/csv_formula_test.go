package study

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// A spreadsheet must not compute what somebody wrote into a note, however it is hidden.
func TestExportedTextsAreNoFormulas(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	settings := c.Settings(c.Probes()[0])
	for _, note := range []string{"=1+1", "\n=1", " \t=1", "\u00a0=1", "\ufeff@SUM(1)", "＝1", "＋1", "－1", "＠a", "'=1", " '\n-1", "\r=1", "\u200b=1"} {
		file := CSV(c.Def, []*ledger.Trial{{Number: 1, Parameters: settings, Note: note}}, nil, design.DecimalPoint)
		cells := must.Get(csv.NewReader(bytes.NewReader(file)).ReadAll())(t)
		if got := cells[1][len(cells[1])-1]; !strings.HasPrefix(got, "'") {
			t.Errorf("%q is exported as %q", note, got)
		}
	}
	for _, note := range []string{"", "plain", "a=1", "'quoted'", "\nplain", "3 - 1", "µ=1"} {
		if got := EscapeFormula(note); got != note {
			t.Errorf("%q is exported as %q", note, got)
		}
	}
}

func TestTablesWithNothingToReadInThem(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, oven())
	for text, want := range map[string]design.Fault{
		"temperature,cycles,note\n40,2,fine\n41,3,a\x00b\n":                     {Field: "lines[3]", Message: "U+0000"},
		"temperature,cycles,note\n40,2,a\xffb\n":                                {Field: "", Message: "UTF-8"},
		"temperature,cycles" + strings.Repeat(",more", 2000) + "\n40,2\n":       {Field: "lines[1]", Message: "at most 1000"},
		"temperature,cycles,yield\n40,2,1e101\n":                                {Field: "lines[2].yield", Message: "1e100"},
		"temperature,cycles,yield\n40,2,-1e308\n":                               {Field: "lines[2].yield", Message: "1e100"},
		"temperature,cycles,yield\n40," + strings.Repeat("9", 400_000) + ",1\n": {Field: "lines[2].cycles", Message: "not a number"},
	} {
		_, _, err := parseCSV(c, strings.NewReader(text), ImportOptions{})
		wantFault(t, faultsOf(t, err), want.Field, want.Message)
	}
}
