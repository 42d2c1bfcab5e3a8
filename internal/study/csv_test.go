package study

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/mutation"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

const screenHeader = "temperature,cycles,salt,time,catalyst,yield,impurity,pH,note\n"

func TestImportReadsWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	want := importRow{
		Line: 2,
		OwnTrial: OwnTrial{Parameters: design.Settings{"temperature": design.NumberValue(47.5), "cycles": design.NumberValue(3), "salt": design.NumberValue(0.1), "time": design.NumberValue(0.8), "catalyst": design.TextValue("B")},
			Metrics: map[string]ledger.Reading{"yield": {Value: -71.25}, "pH": {Value: 7}}, Note: `first, "ok"`},
	}
	for name, text := range map[string]string{
		"plain":             screenHeader + `47.5,3,0.1,0.8,B,-71.25,,7,"first, ""ok"""`,
		"pending":           screenHeader + `47.5,3,0.1,0.8,B,-71.25,pending,7,"first, ""ok"""` + "\n",
		"quoted commas":     screenHeader + `"47,5",3,"0,1","0,8",B,"-71,250",,7,"first, ""ok"""`,
		"byte order mark":   "\ufeff" + screenHeader + `47.5,3,0.1,0.8,B,-71.25,PENDING,7,"first, ""ok"""`,
		"other case, CRLF":  strings.ToUpper(strings.ReplaceAll(screenHeader, "\n", "\r\n")) + `47.5,3,1e-1,0.8,B,-71.25, ,7.0,"first, ""ok"""` + "\r\n",
		"CSV (Macintosh)":   strings.ReplaceAll(screenHeader+`47.5,3,0.1,0.8,B,-71.25,,7,"first, ""ok"""`+"\n", "\n", "\r"),
		"semicolons":        strings.ReplaceAll(screenHeader, ",", ";") + `47.5;3;0.1;0.8;B;-71.25;;7;"first, ""ok"""`,
		"decimal comma":     strings.ReplaceAll(screenHeader, ",", ";") + `47,5;3;0,1;0,8;B;−71,25;;7,0;"first, ""ok"""`,
		"number and status": "number,status," + screenHeader + `9,failed,47.5,3,0.1,0.8,B,-71.25,,7,"first, ""ok"""`,
		"other order":       "note,pH,yield,catalyst,time,salt,cycles,temperature\n" + `"first, ""ok""",7,-71.25,B,0.8,0.1,3,47.5`,
		"spaces":            strings.ReplaceAll(screenHeader, ",", " , ") + ` 47.5 , 3 , 0.1 , 0.8 , B , -71.25 ,  , 7 ,"first, ""ok"""`,
		"units":             strings.NewReplacer("temperature", "Temperature (°C)", "yield", "Yield [%]", "impurity", "Impurity / %").Replace(screenHeader) + `47.5,3,0.1,0.8,B,-71.25,,7,"first, ""ok"""`,
		"units in cells":    strings.ReplaceAll(screenHeader, ",", ";") + `47,5 °C;3;0,1;0,8;B;-71,250%;;7;"first, ""ok"""`,
		"an empty column":   strings.ReplaceAll(screenHeader, "\n", ",\n") + `47.5,3,0.1,0.8,B,-71.25,,7,"first, ""ok""",`,
		"empty rows":        screenHeader + `47.5,3,0.1,0.8,B,-71.25,,7,"first, ""ok"""` + "\n\n,,,,,,,,\n",
	} {
		rows, unknown, err := parseCSV(c, strings.NewReader(text), ImportOptions{})
		if err != nil || len(unknown) > 0 || len(rows) != 1 {
			t.Errorf("%s: %d rows, unknown %v, %v", name, len(rows), unknown, err)
			continue
		}
		got := rows[0]
		if got.Line != want.Line || got.place.Arm != -1 || !got.Parameters.Equal(want.Parameters) || len(got.Metrics) != 2 || got.Metrics["yield"] != want.Metrics["yield"] || got.Metrics["pH"] != want.Metrics["pH"] || got.Note != want.Note || len(got.place.U) != 5 {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
	}
}

// TestTablesForSpreadsheets may begin with a line that says what separates their cells, and faults
// count it.
func TestTablesForSpreadsheets(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	text := "\ufeffsep=;\r\n" + strings.ReplaceAll(screenHeader, ",", ";") + "47,5;3;0,1;0,8;B;1;0,31;7;x\n"
	rows, unknown, err := parseCSV(c, strings.NewReader(text), ImportOptions{})
	if err != nil || len(unknown) > 0 || len(rows) != 1 || rows[0].Line != 3 {
		t.Errorf("%+v, unknown %v, %v", rows, unknown, err)
	}
}

// TestAStepRoundsWhatIsToBeRun: what a row has readings of was run as it stands there.
func TestAStepRoundsWhatIsToBeRun(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	rows, _ := must.Get2(parseCSV(c, strings.NewReader(screenHeader+"47.5,3,0.1,0.81,B,-71.25,,7,\n47.5,3,0.1,0.81,B,,,,\n"), ImportOptions{}))(t)
	for i, want := range []float64{0.81, 0.8} {
		if got := rows[i].Parameters["time"].Number; got != want {
			t.Errorf("row %d is kept at %v, want %v", i+1, got, want)
		}
	}
}

// TestOneChoiceInTwoEncodings: tables write an accent in one character or in two, as they do a unit’s
// micro.
func TestOneChoiceInTwoEncodings(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Parameters[0] = design.Parameter{Name: "wine", Type: design.Categorical, Choices: []string{"rosé", "'brut"}}
	d.Parameters[1].Unit, d.InputConstraints, d.Candidates = "µm", nil, nil
	c := mustCompile(t, d)
	rows, _ := must.Get2(parseCSV(c, strings.NewReader("wine,"+d.Parameters[1].Name+" (μm)\nrose\u0301,2 μm\n'brut,3 µm\n"), ImportOptions{}))(t)
	for i, want := range []design.Settings{{"wine": design.TextValue("rosé"), d.Parameters[1].Name: design.NumberValue(2)}, {"wine": design.TextValue("'brut"), d.Parameters[1].Name: design.NumberValue(3)}} {
		if got := rows[i].Parameters; !got.Equal(want) {
			t.Errorf("row %d is read as %v, want %v", i+1, got, want)
		}
	}
}

// TestAChoiceKeepsItsUnit: it is a text, also where it ends as a number with that unit would.
func TestAChoiceKeepsItsUnit(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Parameters[0] = design.Parameter{Name: "column", Type: design.Categorical, Unit: "cm", Choices: []string{"5 cm", "10 cm"}}
	d.InputConstraints, d.Candidates = nil, nil
	rows, _ := must.Get2(parseCSV(mustCompile(t, d), strings.NewReader("column,"+d.Parameters[1].Name+"\n10 cm,2\n"), ImportOptions{}))(t)
	if got := rows[0].Parameters["column"]; got != design.TextValue("10 cm") {
		t.Errorf("read as %v", got)
	}
}

func TestImportFaults(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	for _, test := range []struct{ name, text, location, message string }{
		{"nothing", "", "", "is empty"},
		{"a quote left open", screenHeader + `47.5,"3`, "lines[2]", "line 2, character 8: a quotation mark stands alone; put a cell that holds one into quotation marks, and write it twice there"},
		{"a quote within", screenHeader + `47.5,3"4,0.1`, "lines[2]", "line 2, character 7: a quotation mark stands alone; put"},
		{"a missing parameter", "temperature,cycles,salt,time,yield\n", "columns", `no column for the parameter "catalyst"`},
		{"a column twice", "Temperature," + screenHeader, "columns[1]", `columns 1 and 2 are both "temperature"`},
		{"an unknown column", "yeild," + screenHeader, "columns[0]", `did you mean "yield"?`},
		{"another unit", "Yield (g)," + screenHeader, "columns[0]", "; yield is in %; ignore"},
		{"no unit", "cycles [h]," + screenHeader, "columns[0]", "; cycles has no unit; ignore"},
		{"standard deviations by another name", "impurity_sem," + screenHeader, "columns[0]", `; standard deviations of impurity stand in a column "impurity stddev"; ignore`},
		{"one cell", screenHeader + "47.5\n", "lines[2]", "line 2 has 1 cell; the first line names 9 columns"},
		{"too few cells", screenHeader + "47.5,3\n", "lines[2]", "line 2 has 2 cells; the first line names 9 columns"},
		{"a value out of range", screenHeader + "47.5,3,0.1,0.8,B,1,1,1,\n99,3,0.1,0.8,B,,,,\n", "lines[3].temperature", "line 3, temperature: 99 is above the highest, 60"},
		{"a broken rule", screenHeader + "60,12,0.1,0.8,B,,,,\n", "lines[2]", "line 2: breaks the input constraint"},
		{"text for a number", screenHeader + "warm,3,0.1,0.8,B,,,,", "lines[2].temperature", `line 2, column temperature: "warm" is not a number; it must be a number from 20 to 60`},
		{"an unmeasured parameter", screenHeader + "PENDING,3,0.1,0.8,B,,,,", "lines[2].temperature", "is not a number"},
		{"an empty parameter", screenHeader + ",3,0.1,0.8,B,,,,", "lines[2].temperature", "every parameter needs a value"},
		{"an unknown choice", screenHeader + "47.5,3,0.1,0.8,b,,,,", "lines[2].catalyst", `"b" is unknown; it must be one of "A", "B", "=C"`},
		{"a reading that is no number", screenHeader + "47.5,3,0.1,0.8,B,12 mM,,,", "lines[2].yield", `"12 mM" is not a number; leave it blank or write PENDING`},
		{"a reading that is infinite", screenHeader + "47.5,3,0.1,0.8,B,Inf,,,", "lines[2].yield", "is not a number"},
		{"a reading that overflows", screenHeader + "47.5,3,0.1,0.8,B,1e999,,,", "lines[2].yield", "must be a number between -1e100 and 1e100"},
		{"a huge reading", screenHeader + "47.5,3,0.1,0.8,B,1e101,,,", "lines[2].yield", "1e100"},
		{"a huge deviation", screenHeader + "47.5,3,0.1,0.8,B,1±1e101,,,", "lines[2].yield", "write a number above 0 and at most 1e100"},
		{"a decimal comma between commas", screenHeader + "47,5,3,0.1,0.8,B,,,,", "lines[2]", "numbers with a decimal comma need ; between"},
		{"two readings of a number", strings.ReplaceAll(screenHeader, ",", ";") + "47;3;1;1;B;1.234;;;", "lines[2].yield", "can be read as 1.234 or as 1234; which is meant?"},
		{"two readings, and numbers of both kinds", strings.ReplaceAll(screenHeader, ",", ";") + "47.5;3;0,1;0,8;B;1,234;;;", "lines[2].yield", "decimal=comma or decimal=point says it for the whole table"},
		{"two numbers in a cell", screenHeader + "47.5,3,0.1,0.8,B,72 73,,,", "lines[2].yield", "is not a number"},
		{"an input constraint", screenHeader + "60,12,0.1,0.8,B,,,,", "lines[2]", "breaks the input constraint"},
		{"a way to take it in", screenHeader + "99,3,0.1,0.8,B,,,,\n", "lines[2].temperature", "if it was really run like this, import it with beyond_bounds=true, or with “completed” in a column status"},
		{"settings too far away for that", screenHeader + "999,3,0.1,0.8,B,,,,\n", "lines[2].temperature", "999 is above the highest, 60"},
		{"a status of another kind", "status," + screenHeader + "fine,99,3,0.1,0.8,B,,,,\n", "lines[2].temperature", "99 is above the highest, 60"},
		{"a trial run nowhere near", "status," + screenHeader + "Completed,1e101,3,0.1,0.8,B,,,,\n", "lines[2].temperature", "widen the bounds first"},
		{"a trial that no scale has", "status," + screenHeader + "Completed,47.5,3,-0.1,0.8,B,,,,\n", "lines[2].salt", "cannot be on a logarithmic scale"},
		{"a value without a column name", strings.ReplaceAll(screenHeader, "\n", ",\n") + "47.5,3,0.1,0.8,B,,,,,7", "lines[2].10", "the column has no name"},
		{"no UTF-8", screenHeader + "47.5,3,0.1,0.8,B,,,,\xff", "", "not UTF-8"},
		{"a long note", screenHeader + "47.5,3,0.1,0.8,B,,,," + strings.Repeat("x", 10_001), "lines[2].note", "at most 10000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rows, _, err := parseCSV(c, strings.NewReader(test.text), ImportOptions{})
			wantFault(t, faultsOf(t, err), test.location, test.message)
			if rows != nil {
				t.Errorf("%d rows in spite of a fault", len(rows))
			}
		})
	}
	_, _, err := parseCSV(c, strings.NewReader(screenHeader+"1,3,0.1,0.8,B,x,,,\n47.5,3.5,0.1,0.8,D,,,,\n"), ImportOptions{})
	at := lists.Map(faultsOf(t, err), func(f design.Fault) string { return f.Field })
	if want := []string{"lines[2].yield", "lines[2].temperature", "lines[3].catalyst"}; !slices.Equal(at, want) {
		t.Errorf("faults at %v, want %v", at, want)
	}
}

// What a table says was run is taken as it was, wherever it lies; people are asked whether it was.
func TestImportTakesWhatWasRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, bufferScreen())
	c := b.snap.Compiled()
	for _, test := range []struct {
		text string
		opt  ImportOptions
	}{
		{"status," + screenHeader + "completed,60.4,12,0.1,0.8,B,1,,,\n", ImportOptions{}},
		{screenHeader + "60.4,12,0.1,0.8,B,1,,,\n", ImportOptions{BeyondBounds: true}},
	} {
		rows, _, err := parseCSV(c, strings.NewReader(test.text), test.opt)
		if err != nil || len(rows) != 1 || rows[0].Parameters["temperature"].Number != 60.4 {
			t.Fatalf("%v, %v", rows, err)
		}
		doubts := doubtRows(b.snap, rows)
		if len(doubts) != 1 || doubts[0].Field != "lines[2].temperature" || !strings.Contains(doubts[0].Text, "Temperature 60.4\u202f°C? That is above the highest that may be chosen, 60\u202f°C: was it really used?") {
			t.Errorf("doubts %+v", doubts)
		}
	}
	rows, _ := must.Get2(parseCSV(c, strings.NewReader(screenHeader+"60,12,0.1,0.8,B,1,,,\n47.55,3,0.1,0.8,B,,,,\n"), ImportOptions{BeyondBounds: true}))(t)
	doubts := doubtRows(b.snap, rows)
	if len(doubts) != 1 || doubts[0].Field != "lines[2]" || !strings.Contains(doubts[0].Text, "breaks the input constraint") {
		t.Errorf("doubts %+v", doubts)
	}
}

func TestImportLimits(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	_, _, err := parseCSV(c, strings.NewReader(screenHeader+strings.Repeat("47.5,3,0.1,0.8,B,,,,\n", maxRows+1)), ImportOptions{})
	wantFault(t, faultsOf(t, err), "", "more than 10000 rows")
	_, _, err = parseCSV(c, strings.NewReader(strings.Repeat("x", maxTable+1)), ImportOptions{})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large table: %v", err)
	}
}

func TestImportLeavesUnknownColumnsOut(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	text := "operator," + screenHeader + "Ana,47.5,3,0.1,0.8,B,71,,,\n"
	_, unknown, err := parseCSV(c, strings.NewReader(text), ImportOptions{})
	wantFault(t, faultsOf(t, err), "columns[0]", "ignore_unknown=true leaves the column out")
	if !slices.Equal(unknown, []string{"operator"}) {
		t.Errorf("unknown columns %v", unknown)
	}
	rows, unknown, err := parseCSV(c, strings.NewReader(text), ImportOptions{IgnoreUnknown: true})
	if err != nil || len(rows) != 1 || !slices.Equal(unknown, []string{"operator"}) || rows[0].Metrics["yield"].Value != 71 {
		t.Errorf("rows %v, unknown %v, %v", rows, unknown, err)
	}
}

func TestImportOfKnownMetricsAndCandidates(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, queue())
	rows, _, err := parseCSV(c, strings.NewReader("x,mode,rate,load,backlog\n3,fast,1,-2,5\n1,slow,,,\n"), ImportOptions{})
	if err != nil || len(rows) != 2 || rows[0].place.Arm != 3 || rows[1].place.Arm != 1 || rows[0].Known["load"] != -2 || rows[0].Known["backlog"] != 5 || len(rows[0].Metrics) != 1 || len(rows[1].Known) != 0 {
		t.Errorf("rows %+v, %v", rows, err)
	}
	_, _, err = parseCSV(c, strings.NewReader("x,mode\n2,fast\n"), ImportOptions{})
	wantFault(t, faultsOf(t, err), "lines[2].x", "is not one of the 4 candidates")
	mix := mustCompile(t, mixture())
	rows, _, err = parseCSV(mix, strings.NewReader("a,b,water,strength\n30,20,,5\n"), ImportOptions{})
	if err != nil || rows[0].Parameters["water"] != design.NumberValue(50) {
		t.Errorf("rows %+v, %v", rows, err)
	}
	if _, _, err = parseCSV(mix, strings.NewReader("a,b\n30,20\n"), ImportOptions{}); err != nil {
		t.Errorf("without the remainder's column: %v", err)
	}
}

// drawTrials draws trials as a study could hold them.
func drawTrials(t *rapid.T, c *design.Compiled) []*ledger.Trial {
	var trials []*ledger.Trial
	for n := range rapid.IntRange(0, 5).Draw(t, "trials") {
		u := rapid.SliceOfN(rapid.Float64Range(0, 1), len(c.Def.Parameters), len(c.Def.Parameters)).Draw(t, "u")
		if !c.Config.Space.Settle(u) {
			continue
		}
		trial := ledger.Trial{Number: n + 1, Status: ledger.StatusPartial, Parameters: c.Settings(optimizer.Place{U: u, Arm: -1}), Metrics: map[string]ledger.Measurement{}}
		for _, m := range c.Def.Metrics() {
			if rapid.Bool().Draw(t, "told") {
				measured := ledger.Measurement{Value: design.NumberValue(rapid.Float64Range(-1e100, 1e100).Draw(t, "value")).Number}
				if rapid.Bool().Draw(t, "with deviation") {
					measured.StdDev = new(rapid.Float64Range(1e-300, 1e100).Draw(t, "deviation"))
				}
				trial.Metrics[m.Name] = measured
			}
		}
		trial.Status = rapid.SampledFrom([]ledger.Status{ledger.StatusPartial, ledger.StatusSuggested, ledger.StatusFailed}).Draw(t, "status")
		if rapid.Bool().Draw(t, "used others") { // what was read may have been taken back since
			used := trial.Parameters.Clone() // off the steps and beyond the bounds
			used["temperature"] = design.NumberValue(rapid.Float64Range(-300, 400).Draw(t, "temperature used"))
			trial.Parameters, _, _ = c.PlaceUsed(used, "")
		}
		lines := rapid.StringOf(rapid.SampledFrom([]rune("\r\n\t \"',;=+-@a±")))
		trial.Note = rapid.OneOf(rapid.String(), lines, rapid.SampledFrom([]string{"=1+1", "'=x", "''", "-3", "@a", "a\nb", "a\r\nb", "; ,\"", "PENDING", "\n=1", " '\u00a0=1", "＝1", "\ufeff＠a"})).Draw(t, "note")
		trial.Note = strings.ReplaceAll(trial.Note, "\x00", "") // which no note may hold
		trials = append(trials, &trial)
	}
	return trials
}

// A table of any trials, taken into a new study of the same definition, makes trials with the same
// settings, readings, standard deviations and notes, and the same table again.
func TestExportCanBeImportedAgain(t *testing.T) {
	t.Parallel()
	fresh := newBench(t, bufferScreen())
	c := fresh.snap.Compiled()
	rapid.Check(t, func(t *rapid.T) {
		trials := drawTrials(t, c)
		decimals := rapid.SampledFrom([]design.Decimals{design.DecimalPoint, design.DecimalComma}).Draw(t, "decimals")
		text := string(CSV(c.Def, trials, nil, decimals))
		rows, unknown, err := parseCSV(c, strings.NewReader(text), ImportOptions{})
		if err != nil || len(unknown) > 0 || len(rows) != len(trials) {
			t.Fatalf("%d rows of %d, unknown %v, %v in\n%s", len(rows), len(trials), unknown, err, text)
		}
		if len(rows) == 0 {
			return
		}
		ruled := must.Get(ruleImport(fresh.snap, fresh.snap, rows))(t)
		events := must.Get(ledger.Next(fresh.snap, fresh.clock, "Ana", ruled.drafts...))(t)
		imported := must.Get(ledger.Fold("imported", fresh.snap, events, nil))(t)
		for i, got := range imported.Trials {
			want := trials[i]
			if !got.Parameters.Equal(want.Parameters) || got.Note != want.Note || len(got.Metrics) != len(want.Metrics) {
				t.Fatalf("trial %+v\nwant %+v in\n%s", got, want, text)
			}
			for name, m := range want.Metrics {
				if is := got.Metrics[name]; is.Value != m.Value || !reflect.DeepEqual(is.StdDev, m.StdDev) {
					t.Fatalf("%s: %+v, want %+v in\n%s", name, is, m, text)
				}
			}
			got.Number, got.Status = want.Number, want.Status // which an import does not take over
		}
		if again := string(CSV(c.Def, imported.Trials, imported.Chosen, decimals)); again != text {
			t.Fatalf("the table is\n%s\nand was\n%s", again, text)
		}
	})
}

// TestATableOfNamesAloneIsToldWhatIsMissing: lines below its first one.
func TestATableOfNamesAloneIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	_, err := ruleImport(b.snap, b.snap, nil)
	wantFault(t, faultsOf(t, err), "", "the table has no rows; below the names of the columns, each line is a trial")
}

func TestReadingsWithStandardDeviations(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	for name, text := range map[string]string{
		"beside the value":      screenHeader + "47.5,3,0.1,0.8,B,1,0.31±0.02,7,x\n",
		"typed on any keyboard": screenHeader + "47.5,3,0.1,0.8,B,1,0.31 +- 0.02,7,x\n",
		"with a unit each":      screenHeader + "47.5,3,0.1,0.8,B,1,0.31 % ± 0.02 %,7,x\n",
		"with spaces":           screenHeader + "47.5,3,0.1,0.8,B,1, 0.31 ± 0.02 ,7,x\n",
		"with a decimal comma":  strings.ReplaceAll(screenHeader, ",", ";") + "47,5;3;0,1;0,8;B;1;0,31±0,02;7;x\n",
		"between tabs":          strings.ReplaceAll(screenHeader, ",", "\t") + "47.5\t3\t0.1\t0.8\tB\t1\t0.31±0.02\t7\tx, y\n",
		"in a column before":    "IMPURITY stddev," + screenHeader + "0.02,47.5,3,0.1,0.8,B,1,0.31,7,x\n",
		"in both":               "impurity stddev," + screenHeader + "0.02,47.5,3,0.1,0.8,B,1,0.31±0.02,7,x\n",
	} {
		rows, unknown, err := parseCSV(c, strings.NewReader(text), ImportOptions{})
		if err != nil || len(unknown) > 0 || len(rows) != 1 || !reflect.DeepEqual(rows[0].Metrics["impurity"], ledger.Reading{Value: 0.31, StdDev: new(0.02)}) || rows[0].Metrics["yield"].StdDev != nil {
			t.Errorf("%s: %+v, unknown %v, %v", name, rows, unknown, err)
		}
	}
	for text, message := range map[string]string{
		"0,47.5,3,0.1,0.8,B,1,0.31,7,x\n":         `line 2, column impurity stddev: "0" is not a standard deviation`,
		"x,47.5,3,0.1,0.8,B,1,0.31,7,x\n":         `"x" is not a standard deviation`,
		"0.1,47.5,3,0.1,0.8,B,1,PENDING,7,x\n":    "belongs to a reading of impurity, and there is none; leave it blank too",
		"0.1,47.5,3,0.1,0.8,B,1,0.31±0.02,7,x\n":  "another standard deviation than the one beside the value of impurity; leave one of them out",
		",47.5,3,0.1,0.8,B,1,0.31±,7,x\n":         `"0.31±" is half a reading; write the standard deviation after ±`,
		",47.5,3,0.1,0.8,B,1,0.31±-1,7,x\n":       "above 0",
		",47.5,3,0.1,0.8,B,1, ± 0.1 ,7,x\n":       `"± 0.1" is half a reading`,
		"pending,47.5,3,0.1,0.8,B,1,±0.1,7,x\n":   `"±0.1" is half a reading; write the value before its standard deviation`,
		"0.1,47.5,3,0.1,0.8,B,1,0.31 g,7,x\n":     "is not a number",
		",47.5,3,0.1,0.8,B,1,0.31±0.02±0.1,7,x\n": "is not a standard deviation",
	} {
		_, _, err := parseCSV(c, strings.NewReader("impurity stddev,"+screenHeader+text), ImportOptions{})
		if err == nil {
			t.Errorf("%s: taken", text)
			continue
		}
		if faults := faultsOf(t, err); len(faults) != 1 || !strings.Contains(faults[0].Message, message) {
			t.Errorf("%s: %v, want %q", text, faults, message)
		}
	}
}

// A metric may have the name of another one's column of standard deviations; these stand beside the
// readings then.
func TestDeviationsWithoutAColumnOfTheirOwn(t *testing.T) {
	t.Parallel()
	d := oven()
	d.RecordedMetrics = []design.RecordedMetric{{Metric: "Yield stddev"}}
	b := newBench(t, d)
	b.ask(1)
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60, StdDev: new(0.5)}, "impurity": {Value: 0.2, StdDev: new(0.01)}, "Yield stddev": {Value: 3}}}))
	file := string(CSV(b.snap.Definition, b.snap.Trials, b.snap.Chosen, design.DecimalPoint))
	if !strings.Contains(file, ",yield,impurity,impurity stddev,Yield stddev,note\n") || !strings.Contains(file, ",60±0.5,0.2,0.01,3,") {
		t.Error(file)
	}
	rows, _, err := parseCSV(b.snap.Compiled(), strings.NewReader(file), ImportOptions{})
	if err != nil || len(rows) != 1 || *rows[0].Metrics["yield"].StdDev != 0.5 || *rows[0].Metrics["impurity"].StdDev != 0.01 || rows[0].Metrics["Yield stddev"].Value != 3 {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestExportIsHarmlessInSpreadsheets(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Parameters[2].Name = "=salt"
	checked := must.Get(d.Check())(t)
	trial := ledger.Trial{Number: 1, Status: ledger.StatusCompleted, Note: "@SUM(A1)", Metrics: map[string]ledger.Measurement{"yield": {Value: -71.5}},
		Parameters: design.Settings{"temperature": design.NumberValue(20), "cycles": design.NumberValue(3), "=salt": design.NumberValue(1e-7), "time": design.NumberValue(0.5), "catalyst": design.TextValue("=C")}}
	file := string(CSV(checked, []*ledger.Trial{&trial}, nil, design.DecimalPoint))
	want := "number,status,temperature,cycles,'=salt,time,catalyst,yield,impurity,pH,colour,note\n" +
		"1,completed,20,3,1e-07,0.5,'=C,-71.5,,,,'@SUM(A1)\n"
	if file != want {
		t.Errorf("exported\n%swant\n%s", file, want)
	}
}

func TestHarmlessComesOffAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`'{0,3}[=+@a-]?.{0,3}`).Draw(t, "text")
		safe := EscapeFormula(text)
		if got := unescape(safe); got != text {
			t.Fatalf("%q became %q and then %q", text, safe, got)
		}
		if safe != "" && strings.ContainsRune(formulaStarts, rune(safe[0])) {
			t.Fatalf("%q is still a formula", safe)
		}
	})
}

func FuzzImport(plain *testing.F) {
	f := mutation.Of(plain)
	c := mustCompile(f, bufferScreen())
	for _, seed := range []string{"", screenHeader, screenHeader + "47.5,3,0.1,0.8,B,1,,7,x\n", "\ufeffa;b\n1,5;2", "\"", ",\n,", "number;status;temperature;cycles;salt;time;catalyst\n1;x;47,5;3;0,1;0,8;'=C\n", "x\r\n\"a\"b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := parseCSV(c, strings.NewReader(text), ImportOptions{IgnoreUnknown: true})
		if err != nil {
			if len(rows) > 0 || !errors.Is(err, ErrTooLarge) && len(faultsOf(t, err)) == 0 {
				t.Errorf("rows %v and %v", rows, err)
			}
			return
		}
		for _, row := range rows {
			if _, _, wrong := c.Place(row.Parameters, "at"); len(wrong) > 0 {
				t.Errorf("an imported row cannot be placed: %v", wrong)
			}
			for name, reading := range row.Metrics {
				if m, there := c.Metric(name); !there || m.Known || !design.Computable(reading.Value) {
					t.Errorf("%s read as %v", name, reading)
				}
			}
		}
	})
}

// An exported table holds settings used beyond the bounds beside those chosen, and can be imported
// as it is.
func TestAnOvershootIsImportedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(3)
	for _, note := range []string{"long ", "longer "} { // notes add up beyond what one may have
		b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{}, Note: strings.Repeat(note, 1400)}))
	}
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60}}}))
	b.must(ruleTell(b.snap, 2, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 61}, "impurity": {Value: 0.2}},
		Parameters: design.Settings{"temperature": design.NumberValue(69), "cycles": b.snap.Trial(2).Parameters["cycles"]}}))
	table := string(CSV(b.snap.Definition, b.snap.Trials, b.snap.Chosen, design.DecimalPoint))
	if !strings.Contains(table, "note,chosen temperature\n") {
		t.Fatal(table)
	}
	other := newBench(t, oven())
	rows, unknown, err := parseCSV(other.snap.Compiled(), strings.NewReader(table), ImportOptions{})
	if err != nil || len(unknown) > 0 {
		t.Fatalf("unknown %v, %v", unknown, err)
	}
	if doubts := doubtRows(other.snap, rows); len(doubts) != 1 || doubts[0].Field != "lines[4].temperature" || !strings.Contains(doubts[0].Text, "above the highest that may be chosen") {
		t.Errorf("doubts %+v", doubts)
	}
	other.must(ruleImport(other.snap, other.snap, rows))
	for number := 1; number <= 3; number++ {
		want, got := b.snap.Trial(number), other.snap.Trial(number)
		if got.Note != want.Note || !got.Parameters.Equal(want.Parameters) || !other.snap.Chosen(number).Equal(b.snap.Chosen(number)) || got.SettingsChanged != want.SettingsChanged {
			t.Errorf("trial %d: used %v of %v, chosen %v of %v", number, got.Parameters, want.Parameters, other.snap.Chosen(number), b.snap.Chosen(number))
		}
	}
	if _, err := other.service.foldImported(newID(), nil, other.events); err != nil {
		t.Errorf("its ledger is not taken in: %v", err)
	}
}

// TestImportedWithoutItsContext: what a limit depends on is not in the table, so that its value at
// other settings is not known; whoever corrects the row, tells other settings or repeats it hears what
// is missing and what to do.
func TestImportedWithoutItsContext(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints = []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + cycles - slack", Context: []string{"slack"}}}
	b := newBench(t, d)
	rows, _, err := parseCSV(b.snap.Compiled(), strings.NewReader("temperature,cycles,load,yield\n30,4,20,61\n"), ImportOptions{})
	must.Do(t, err)
	b.must(ruleImport(b.snap, b.snap, rows))
	other := design.Settings{"temperature": design.NumberValue(35), "cycles": design.NumberValue(4)}
	_, corrected := ruleCorrect(b.snap, Correction{Number: 1, Parameters: other, Reason: "typo"})
	_, told := ruleTell(b.snap, 1, ledger.Telling{Parameters: other, Note: "hotter"})
	for what, err := range map[string]error{"corrected": corrected, "told": told} {
		var wrong *design.Invalid
		if !errors.As(err, &wrong) || wrong.Faults[0].Field != "parameters" || !strings.Contains(err.Error(), "imported without slack, which a limit depends on; exclude it") {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.table(t, "temperature,cycles,load,yield,chosen temperature\n30,4,20,61,31\n")
	b.must(ruleCorrect(b.snap, Correction{Number: 2, Parameters: design.Settings{"temperature": design.NumberValue(31), "cycles": design.NumberValue(4)}, Reason: "as chosen"}))
	if load := b.snap.Trial(2).Metrics["load"].Value; load != 20 {
		t.Errorf("at the settings chosen the load was 20, and not %v", load)
	}
	if _, err := b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, 1); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "slack is missing") {
		t.Errorf("repeated: %v", err)
	}
	d = queue()
	d.Constraints = d.Constraints[1:]
	d.Constraints[0].Metric = "back.log"
	b = newBench(t, d)
	b.table(t, "x,mode,rate,back.log\n3,fast,1,5\n")
	if _, err := ruleCorrect(b.snap, Correction{Number: 1, Parameters: d.Candidates[0], Reason: "typo"}); err == nil || !strings.Contains(err.Error(), "imported without back.log, which") {
		t.Errorf("corrected: %v", err)
	}
}

// TestAKnownValueThatTheSettingsContradict is asked about: it is not kept. Another limit that depends
// on what is in no table has its value from there.
func TestAKnownValueThatTheSettingsContradict(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints = []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + cycles"},
		{Metric: "room", Op: ">=", Threshold: 0, Expression: "slack - cycles", Context: []string{"slack"}}}
	b := newBench(t, d)
	rows, _, err := parseCSV(b.snap.Compiled(), strings.NewReader("temperature,cycles,load,room,yield\n30,4,34,1,61\n31,4,99,2,62\n32,4,,3,63\n"), ImportOptions{})
	must.Do(t, err)
	doubts := doubtRows(b.snap, rows)
	if len(doubts) != 1 || doubts[0].Field != "lines[3].load" || doubts[0].Text != "Load follows from the settings, and is 35 there; 99 is not kept. Are the settings right?" {
		t.Errorf("%+v", doubts)
	}
	b.must(ruleImport(b.snap, b.snap, rows))
	if load, room := b.snap.Trial(2).Metrics["load"].Value, b.snap.Trial(3).Metrics["room"].Value; load != 35 || room != 3 {
		t.Errorf("kept are load %v and room %v", load, room)
	}
	if _, err := b.service.foldImported(newID(), nil, b.events); err != nil {
		t.Error(err)
	}
}

// TestAKnownValueAtOtherSettingsThanThoseChosen is what follows from those used: an exported table has it,
// and nobody is asked about it.
func TestAKnownValueAtOtherSettingsThanThoseChosen(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints = []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + cycles"}}
	b := newBench(t, d)
	b.ask(1)
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 61}}, Parameters: design.Settings{"temperature": design.NumberValue(31.5), "cycles": design.NumberValue(2)}}))
	table := string(CSV(b.snap.Definition, b.snap.Trials, b.snap.Chosen, design.DecimalPoint))
	other := newBench(t, d)
	rows, _ := must.Get2(parseCSV(other.snap.Compiled(), strings.NewReader(table), ImportOptions{}))(t)
	if doubts := doubtRows(other.snap, rows); len(doubts) > 0 {
		t.Errorf("%s\nis doubted: %+v", table, doubts)
	}
	if doubts := doubtRows(b.snap, rows); len(doubts) != 1 || doubts[0].Text != doubtReplicateText(1) {
		t.Errorf("the same trial again is doubted: %+v", doubts)
	}
}

// TestImportedWhereAnExpressionHasNoValue: nothing is missing from the table there.
func TestImportedWhereAnExpressionHasNoValue(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints = []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "1 / (temperature - 33.3)"}}
	b := newBench(t, d)
	rows, _, err := parseCSV(b.snap.Compiled(), strings.NewReader("temperature,cycles,yield\n30,4,61\n"), ImportOptions{})
	must.Do(t, err)
	b.must(ruleImport(b.snap, b.snap, rows))
	_, err = ruleCorrect(b.snap, Correction{Number: 1, Parameters: design.Settings{"temperature": design.NumberValue(33.3), "cycles": design.NumberValue(4)}, Reason: "typo"})
	if err == nil || strings.Contains(err.Error(), "imported without") || !strings.Contains(err.Error(), "the expression of load") {
		t.Errorf("corrected to where the expression has no value: %v", err)
	}
}

// TestWhatWasSaidOfDecimalsHolds: a number that has the mark between thousands which decimals were said to
// have is asked for anew, and not read as if that had not been said; any other that can be read in one way
// only is read.
func TestWhatWasSaidOfDecimalsHolds(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	header := strings.ReplaceAll(screenHeader, ",", ";")
	for cell, said := range map[string]map[design.Decimals]float64{ // 0: refused
		"1.234.567": {"": 1234567, design.DecimalComma: 1234567, design.DecimalPoint: 0},
		"1,234,567": {"": 1234567, design.DecimalComma: 0, design.DecimalPoint: 1234567},
		"1.234,5":   {"": 1234.5, design.DecimalComma: 1234.5, design.DecimalPoint: 0},
		"0,5":       {"": 0.5, design.DecimalComma: 0.5, design.DecimalPoint: 0.5},
		"1 234":     {"": 1234, design.DecimalComma: 1234, design.DecimalPoint: 1234},
	} {
		for decimals, want := range said {
			rows, _, err := parseCSV(c, strings.NewReader(header+"47;3;0,1;0,8;B;"+cell+";;;\n"), ImportOptions{Decimals: decimals})
			if want == 0 {
				wantFault(t, faultsOf(t, err), "lines[2].yield", "“"+cell+"” has a "+string(decimals)+" between thousands, which was said to be the decimal mark; write 1234")
			} else if err != nil || rows[0].Metrics["yield"].Value != want {
				t.Errorf("%s, said to have a decimal %s: %+v, %v; want %v", cell, decimals, rows, err, want)
			}
		}
	}
}

// TestRowsOfTrialsSayWhatWasUsed: settings as a table rounds them are those that were chosen, others
// were used instead, and people are asked about those.
func TestRowsOfTrialsSayWhatWasUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	asked, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader("temperature,cycles\n42.86828686,3\n"), ImportOptions{}))(t)
	b.must(ruleImport(b.snap, b.snap, asked))
	for cell, want := range map[string]float64{"42.86828686": 0, "42.868287": 0, "42.87": 0, "42.9": 0, "43": 0, "42.8": 42.8, "42": 42, "43.5": 43.5, "40": 40, "": 0} {
		rows, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader("number,temperature,yield\n1,"+cell+",70\n"), ImportOptions{ByNumber: true}))(t)
		ruled, doubts, err := ruleResults(b.snap, b.snap, rows, ImportOptions{ByNumber: true}, true)
		if err != nil || len(ruled.drafts) != 1 {
			t.Errorf("%q: %d events, %v", cell, len(ruled.drafts), err)
			continue
		}
		told := ruled.drafts[0].Data.(ledger.ToldData)
		if used := told.Parameters["temperature"].Number; used != want || (len(doubts) > 0) != (want != 0) {
			t.Errorf("%q: used %v and not %v, doubts %v", cell, used, want, doubts)
		}
	}
}

// TestResultsOfPartsThatSumUp: who says by number that one part of a mixture was another need not
// work out the rest, and who writes all parts, rounded, is taken at those, and told of them.
func TestResultsOfPartsThatSumUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, mixture())
	asked, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader("a,b\n30.49104914,5.58024709\n"), ImportOptions{}))(t)
	b.must(ruleImport(b.snap, b.snap, asked))
	byNumber := ImportOptions{ByNumber: true}
	for table, want := range map[string]string{
		"a\n1,35.5":                   `a="35.5", b="5.58024709", water="58.91975291"`,
		"a,b,water\n1,35.5,5.6,58.9":  `a="35.5", b="5.6", water="58.9"`,
		"water,a\n1,63.92870377,35.5": "must be 58.91975291, what the others leave of 100",
		"a,b,water\n1,30.5,5.6,63.9":  "",
		"a,b,water\n1,30.5,5.6,36.9":  "must be 63.9, what the others leave of 100; it may be left out",
		"a,b,water\n1,35.5,5.6,85.9":  "must be 58.9, what the others leave of 100; it may be left out",
	} {
		rows, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader("number,"+strings.Replace(table, "\n", ",strength\n", 1)+",7\n"), byNumber))(t)
		ruled, doubts, err := ruleResults(b.snap, b.snap, rows, byNumber, true)
		if strings.HasPrefix(want, "must be") {
			wantFault(t, faultsOf(t, err), "lines[2].water", want)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", table, err)
			continue
		}
		used := ruled.drafts[0].Data.(ledger.ToldData).Parameters
		if (used == nil) != (want == "") || used != nil && settingsText(b.snap.Definition, used) != want {
			t.Errorf("%q: used %v, want %s", table, used, want)
		}
		asked := slices.ContainsFunc(doubts, func(d Doubt) bool { return d.Field == "lines[2]" && d.Value == want })
		if asked != (want != "") {
			t.Errorf("%q: people are asked %v", table, doubts)
		}
	}
}
