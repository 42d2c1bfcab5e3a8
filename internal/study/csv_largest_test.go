package study

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"headroom/internal/memory/memorytest"
	"headroom/internal/study/design"
)

// TestLargeTablesAreReadInLittleMore: whatever a large table holds, reading it takes little more
// than its bytes: limits are looked at on the way.
func TestLargeTablesAreReadInLittleMore(t *testing.T) {
	const large = maxTable / 8 // who keeps too much of it does so of this too, and the race detector has less to watch
	c := newBench(t, oven()).snap.Compiled()
	names := columnNames(c.Def)
	header := strings.Join(names[:len(names)-3], ",") + "\n"
	row := strings.Repeat("1,", len(names)-4) + "1\n"
	upTo := func(before, text string) string {
		return before + strings.Repeat(text, (large-len(before))/len(text))
	}
	for shape, table := range map[string]struct{ text, fault string }{
		"a header of commas":            {upTo("", "a,"), "line 1 has more than 1000"},
		"a header of semicolons":        {upTo("", "a;"), "line 1 has more than 1000"},
		"a header of empty cells":       {upTo("", ","), "line 1 has more than 1000"},
		"a header of both":              {upTo("", "a,b;"), "line 1 has more than 1000"},
		"a header of quoted cells":      {upTo("", `"",`), "line 1 has more than 1000"},
		"a header with a quote left":    {upTo(`a,"`, "a,"), "line"},
		"a header with a quote inside":  {upTo(`a,a"b`, "a,"), "line"},
		"a quoted cell with line ends":  {upTo(`"`, "\n"), "line"},
		"a wide row":                    {upTo(header, "1,"), "line 2 has more than 1000"},
		"rows of 999 cells":             {upTo(header, strings.Repeat(",", 998)+"1\n"), "cells"},
		"empty lines":                   {upTo(header, "\n"), ""},
		"blank rows":                    {upTo(header, strings.Repeat(",", strings.Count(header, ","))+"\n"), ""},
		"a long name":                   {upTo("", "a"), "unknown"},
		"a long cell":                   {upTo(header, "1"), "1 cell;"},
		"more rows than are possible":   {upTo(header, row), ""},
		"the widest that may be a note": {upTo(names[0]+",note\n", `1,"`+strings.Repeat("n", 500)+"\"\n"), ""},
	} {
		var wrong error
		allocated := memorytest.Allocated(func() { _, _, wrong = parseCSV(c, strings.NewReader(table.text), ImportOptions{}) })
		var invalid *design.Invalid
		if wrong != nil && !errors.As(wrong, &invalid) || wrong != nil && table.fault != "" && !strings.Contains(fmt.Sprint(invalid.Faults), table.fault) || wrong == nil && table.fault != "" {
			t.Errorf("%s: %v", shape, wrong)
		}
		t.Logf("%s: %.1f times its size", shape, float64(allocated)/float64(len(table.text)))
		if len(table.text) > large || len(table.text) < large-2000 || allocated > 20*len(table.text) {
			t.Errorf("%s: %d bytes took %d", shape, len(table.text), allocated)
		}
	}
}
