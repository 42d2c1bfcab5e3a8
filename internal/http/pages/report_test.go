package pages_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
	"headroom/internal/lists"
	"headroom/internal/testwait"
)

// reviewed is a study with a correction, an exclusion, a changed limit and something waiting.
func reviewed(s *sitetest.Site) string {
	study := toldStudy(s)
	s.API("POST", study+"/import", "temperature,catalyst,yield,impurity\n25,A,62,0.2\n40,A,84,0.41\n45,B,75,0.6\n55,B,58,0.95\n33,B,70,0.35\n", "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/trials/1/corrections", `{"metrics": {"yield": 17.2}, "reason": "digits <swapped>"}`).Want(200)
	s.API("POST", study+"/trials/3/exclude", `{"reason": "the stirrer stood still"}`).Want(200)
	s.API("POST", study+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.4, "unit": "%"}], "reason": "purer"}`).Want(200)
	s.API("POST", study+"/ask", nil).Want(201)
	return study
}

// The report is one file that asks nobody for anything, names what it shows, and has the numbers of
// the API.
func TestReportIsOneFile(t *testing.T) {
	s := sitetest.Beside(t)
	study := reviewed(s)
	s.API("POST", study+"/verify", nil).Want(200)
	post(s, study+"/board/verify", nil).Want(303)
	answer := s.Call("GET", study+"/report", s.Admin, nil).Want(200)
	report := string(answer.Body)
	for _, policy := range []string{answer.Header.Get("Content-Security-Policy"), regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindString(report)} {
		sitetest.Says(t, policy, "default-src", "none")
	}
	if asks := regexp.MustCompile(`(?i)<(script|img|iframe|object|form|base)[\s>]|\ssrc=|url\([^#]|href="[^#d]|@import|\son\w+=`).FindString(report); asks != "" {
		t.Errorf("the report has %q", asks)
	}
	sitetest.Says(t, report, `<link rel="icon" href="data:`) // without one, browsers ask the server for it
	snap := s.API("GET", study, nil).Want(200).JSON()
	state := s.API("GET", study+"/state", nil).Want(200).JSON()
	for _, want := range map[string]string{
		"the head's hash": snap["hash"].(string), "the version": fmt.Sprintf("entry %v of %v", snap["version"], snap["version"]),
		"the verification": "verified ", "the first value": `<s class="was" title="as first told">71.2</s>`, "the correction's reason": "digits &lt;swapped&gt;", "the exclusion": "the stirrer stood still",
		"the limit before": "before trial 9", "whose limits": "The results are by the limits as they are now.", "the change in words": "limit of impurity from 0.5 to 0.4",
	} {
		sitetest.Says(t, report, want)
	}
	if r, ok := state["recommendation"].(map[string]any); ok && !strings.Contains(report, fmt.Sprintf("the settings of trial %v", r["number"])) {
		t.Error("the report recommends something else")
	}
	drawings := regexp.MustCompile(`(?s)<div role="img".*?</div></div>`).FindAllString(report, -1)
	figures := strings.Count(report, "<figure")
	if figures < 3 || len(drawings) != figures {
		t.Errorf("%d figures, %d of them drawn", figures, len(drawings))
	}
	for _, drawing := range drawings {
		sitetest.Says(t, drawing, "data-axis=")
		sitetest.Lacks(t, drawing, "NaN", "Inf", "data-said=") // which only scripts read
	}
	wantUniqueIDs(t, report)
	wantStrict(t, report)
}

// wantUniqueIDs fails when two elements share an id.
func wantUniqueIDs(t *testing.T, page string) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if seen[id[1]] {
			t.Errorf("two elements have the id %s", id[1])
		}
		seen[id[1]] = true
	}
}

// The report of a moment shows that moment: nothing that came later. Whoever reads the study gets
// it: a viewer and a share link; the share of another study does not.
func TestReportOfAMoment(t *testing.T) {
	s := sitetest.Beside(t)
	study := reviewed(s)
	report := s.Page(study + "/report?at=3")
	sitetest.Says(t, report, "after ledger entry 3 of ")
	sitetest.Lacks(t, report, "swapped", "stirrer", "17.2")
	for query, status := range map[string]int{"?at=999": 422, "?at=x": 422, "?at=1": 200} {
		s.Call("GET", study+"/report"+query, s.Admin, nil).Want(status)
	}
	s.Call("GET", study+"/report", s.Token(account.Viewer, ""), nil).Want(200)
	s.Call("GET", study+"/report", s.Share(strings.TrimPrefix(study, "/studies/")), nil).Want(200)
	empty := s.NewStudy(sitetest.Screen)
	s.Call("GET", study+"/report", s.Share(empty), nil).Want(404)
	sitetest.Says(t, reportOf(s, empty), "Nothing has been tried yet.", "No trial was made.")
}

// The board has what was corrected and taken out side by side, the head's hash, and follows the
// study; of a moment of the past only the line that says of how many entries it is.
func TestBoardShowsWhatWasChanged(t *testing.T) {
	s := sitetest.Beside(t)
	study := reviewed(s)
	page := s.Page(study + "/board")
	hash := s.API("GET", study, nil).Want(200).JSON()["hash"].(string)
	sitetest.Says(t, page, hash, "71.2", "17.2", "digits &lt;swapped&gt;", "taken out", "the stirrer stood still", `data-name="as first told"`, "yield first told as 71.2", `data-stream=`, `hx-trigger="changed from:body"`)
	wantUniqueIDs(t, page)
	part := string(s.Call("GET", study+"/board?at=3", s.Admin, nil, "HX-Request", "true").Want(200).Body)
	sitetest.Says(t, part, `data-at="3"`, "Hash of entry 3:")
	sitetest.Lacks(t, part, "<html", "swapped")
	sitetest.Same(t, "parts that follow", strings.Count(part, "changed from:body"), strings.Count(part, `hx-select="#board-moment"`))
}

// A verification behind the page says how far it is, then what came of it, with the hash it came
// to; a new entry is told of.
func TestVerifyingShowsItsProgress(t *testing.T) {
	s := sitetest.Beside(t)
	study := reviewed(s)
	started := string(post(s, study+"/board/verify", url.Values{}, "HX-Request", "true").Want(200).Body)
	if !strings.Contains(started, "<progress") && !strings.Contains(started, "✓") {
		t.Errorf("neither progress nor an outcome: %s", started)
	}
	var line string
	testwait.Eventually(t, "the verification ends", func() bool {
		line = s.Page(study + "/board/verify")
		return !strings.Contains(line, "<progress")
	})
	snap := s.API("GET", study, nil).Want(200).JSON()
	sitetest.Says(t, line, "✓", snap["hash"].(string), "up to ledger entry "+strconv.Itoa(int(snap["version"].(float64))))
	s.API("POST", study+"/ask", nil).Want(201)
	line = s.Page(study + "/board/verify")
	if !strings.Contains(line, "1 entry has been added since") && !strings.Contains(line, "2 entries have been added since") || !strings.Contains(line, snap["hash"].(string)) {
		t.Errorf("after a new entry: %s", line)
	}
}

// A long study's report stays a file that can be opened, and says what it leaves out.
func TestReportOfALongStudyIsBounded(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(strings.Replace(sitetest.Screen, `"algorithm"`, `"model": {"fit": "fixed"}, "algorithm"`, 1))
	var table strings.Builder
	table.WriteString("temperature,catalyst,yield,impurity\n")
	for i := range 1600 {
		fmt.Fprintf(&table, "%d,%s,%.2f,%.3f\n", 20+i%41, []string{"A", "B"}[i%2], 50+30*float64(i*7919%1000)/1000, 0.2+0.5*float64(i*104729%997)/997)
	}
	s.API("POST", study+"/import", table.String(), "Content-Type", "text/csv").Want(200)
	report := string(s.Call("GET", study+"/report", s.Admin, nil).Want(200).Body)
	if len(report) > 3<<20 {
		t.Errorf("the report of 1600 trials has %d bytes", len(report))
	}
	sitetest.Says(t, report, "of 1600 trials: the newest", "The newest 1500 of 32", "each grey bar spans all readings of 8 trials, lowest to highest")
	t.Logf("%d bytes", len(report))
}

func reportOf(s *sitetest.Site, id string) string {
	return html.UnescapeString(s.Page("/studies/" + id + "/report"))
}

// The report answers as the page does, in every state: what is over is not "yet", what comes
// closest is named, and no chart is drawn of nothing.
func TestTheReportAnswersAsThePage(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	sitetest.Says(t, reportOf(s, id), "are without a reading.")
	sitetest.Lacks(t, reportOf(s, id), "<figure", "chance to stay within every limit, as far")
	s.API("POST", "/studies/"+id+"/trials/1/fail", `{"reason": "pump"}`).Want(200)
	curve(s, id, 8, 5, "yield", "impurity", "pressure")
	settled(s, id, 9)
	sitetest.Says(t, reportOf(s, id), ">The answer so far<", "Nothing can be recommended yet: no settings tried are more likely to stay within every limit than to break one", "Closest to the limits: trial 2<", " was 5.1")
	s.API("PATCH", "/studies/"+id, `{"state": "finished"}`).Want(200)
	sitetest.Says(t, reportOf(s, id), ">The answer<", "This study is finished.", "Nothing could be recommended: no settings tried are more likely to stay within every limit than to break one")
	sitetest.Lacks(t, reportOf(s, id), "recommended yet")
	empty := s.NewStudy(screened)
	s.API("PATCH", "/studies/"+empty, `{"state": "archived"}`).Want(200)
	sitetest.Says(t, reportOf(s, empty)+s.Page("/studies/"+empty+"/board"), "Nothing was tried.", "No trial was made.")
	sitetest.Lacks(t, reportOf(s, empty)+s.Page("/studies/"+empty+"/board"), "Nothing has been tried yet")
}

// The report's table has what was chosen beside what was used, as the page's has.
func TestTheReportHasWhatWasChosen(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	chosen := s.API("POST", "/studies/"+id+"/ask", nil).Want(201).JSON()["trials"].([]any)[0].(map[string]any)["parameters"].(map[string]any)["x"].(float64)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 50, "impurity": 0.2, "pressure": 1}, "parameters": {"x": 0.123}}`).Want(200)
	used := regexp.MustCompile(`<td[^>]*>0\.123\d*\s*<span[^>]*>chosen (0\.\d+)</span></td>`).FindStringSubmatch(reportOf(s, id))
	if used == nil {
		t.Fatal("the report does not say beside 0.123 what was chosen")
	}
	if said, err := strconv.ParseFloat(used[1], 64); err != nil || math.Abs(said-chosen) > 0.005 {
		t.Errorf("it says that %s was chosen instead of %v", used[1], chosen)
	}
}

// A study without limits speaks of none.
func TestNoWordOfLimitsWithoutAny(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Free", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"}}`)
	curve(s, id, 8, 0, "yield")
	settled(s, id, 8)
	for _, at := range []string{"report", "board"} {
		text := html.UnescapeString(s.Page("/studies/" + id + "/" + at))
		sitetest.Says(t, text, ">measured")
		sitetest.Lacks(t, text, ">within limits<", ">Within limits<", ">Limit broken<", "Distance to the limit")
	}
	s.Call("GET", "/studies/"+id+"/board?"+url.Values{"show": {"feasible"}}.Encode(), s.Admin, nil).Want(200)
}

// An error page says what is wrong once, in the words of the page, and what would be right, and
// lets whoever is signed in go on as from any page.
func TestErrorPagesSayWhatWouldBeRight(t *testing.T) {
	s := sitetest.Beside(t)
	viewer := s.Token(account.Viewer, "")
	for path, status := range map[string]int{"/studies/nothing-here": 404, "/people": 403} {
		s.Call("GET", path, viewer, nil, "Accept", "text/html").Want(status).Says("(viewer)", `<a href="/studies">Studies</a>`)
	}
	s.Call("GET", "/studies/new", viewer, nil, "Accept", "text/html").Want(403).Says("This needs the role operator, and yours is viewer. Ask an admin for it.")
	const kept = "Nothing was saved: your sign-in has ended. Once you have signed in, what you typed is in its form again."
	s.Call("POST", "/studies/nothing-here/edit", "", nil, "Accept", "text/html").Want(401).Says(kept)
	s.Call("POST", "/sign-out", "", nil, "Accept", "text/html").Want(401).Lacks(kept)
	at := html.UnescapeString(string(s.Call("GET", "/studies/"+s.NewStudy(screened)+"/board?at=999", viewer, nil, "Accept", "text/html").Want(422).Body))
	if strings.Contains(at, "query.") || strings.Count(at, "In this page’s address, at=999: the study has only 1 event") != 1 {
		t.Errorf("a moment that never was: %s", at[strings.Index(at, "<main"):])
	}
	s.Call("GET", "/studies/"+s.NewStudy(screened)+"/board?at=999", viewer, nil).Faults(422, "query.at")
}

// The numbers behind the charts have nothing from the prior alone, and no sum of what was never
// read.
func TestNumbersBehindChartsAreOfReadings(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(screened)
	curve(s, id, 3, 0, "yield", "impurity")
	young := s.NewStudy(screened)
	curve(s, young, 3, 0, "yield", "impurity", "pressure")
	sitetest.Says(t, s.Page("/studies/"+young+"/board"), "the model begins when the first few trials")
	sitetest.Lacks(t, s.Page("/studies/"+young+"/board"), "mark recommended", `data-name="recommended`) // a star marks what is recommended, and nothing while the model has not begun
	s.API("PATCH", "/studies/"+id, `{"state": "finished"}`).Want(200)
	board := html.UnescapeString(s.Page("/studies/" + id + "/board"))
	sitetest.Says(t, board, "The study ended before the model had begun.", "Yield")
	sitetest.Lacks(t, board, "The model begins when")
	_, table, _ := strings.Cut(board, "model’s estimate")
	row := regexp.MustCompile(`(?s)<tbody>\s*<tr>(.*?)</tr>`).FindStringSubmatch(table)
	cells := lists.Map(regexp.MustCompile(`<td[^>]*>([^<]*)</td>`).FindAllStringSubmatch(row[1], -1), func(cell []string) string { return cell[1] })
	// Trial, result, yield, best; impurity, its limit and three sums, its bound; pressure, its
	// limit and as many.
	if len(cells) != 16 || cells[6] == "–" || cells[8] != "–" || strings.Join(cells[12:], "") != "––––" {
		t.Errorf("the first line is %q", cells)
	}
}

// figureOf is the figure of the report whose title begins so.
func figureOf(t *testing.T, report, title string) string {
	t.Helper()
	for _, figure := range regexp.MustCompile(`(?s)<figure[ >].*?</figure>`).FindAllString(report, -1) {
		if strings.Contains(figure, ">"+title) {
			return figure
		}
	}
	t.Fatalf("no figure %s", title)
	return ""
}

// The report has the map of the page: colours, contours of the chance, readings, the star, and a
// table whose numbers are those of the API.
func TestTheReportHasTheMap(t *testing.T) {
	s := sitetest.Beside(t)
	continuous := strings.Replace(sitetest.Screen, `{"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}`, `{"name": "salt", "type": "real", "low": 0, "high": 10, "unit": "mM"}`, 1)
	study := "/studies/" + s.NewStudy(continuous)
	var rows strings.Builder
	rows.WriteString("temperature,salt,yield,impurity\n")
	for i := range 16 {
		x, y := float64(i%4), float64(i/4)
		fmt.Fprintf(&rows, "%g,%g,%g,%g\n", 22+10*x, 1+2.5*y, 60+8*x-x*x*x+y, 0.2+0.1*x+0.02*y)
	}
	s.API("POST", study+"/import", rows.String(), "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/ask", nil).Want(201)
	report := html.UnescapeString(s.Page(study + "/report"))
	figure := figureOf(t, report, "Yield over ")
	for _, mark := range map[string]string{"the colours": `<image `, "the darkest colour": "#00204d", "the lightest": "#ffea46", "a dot": `fill="var(--feasible)"`, "a triangle": `fill="var(--violated)"`, "the star": `fill="var(--star)"`,
		"a dashed contour": `stroke="#111111" stroke-width="2" stroke-dasharray="8 5"`, "the white around marks": `stroke="var(--surface)"`} {
		sitetest.Says(t, figure, mark)
	}
	cell := regexp.MustCompile(`<td[^>]*>(.*?)</td>`)
	row := regexp.MustCompile(`(?s)<tbody>\s*<tr>.*?</tr>`).FindString(figure)
	head := regexp.MustCompile(`<th[^>]*class="number"[^>]*>\s*([^<\s]+)`).FindAllStringSubmatch(figure, -1)
	cells := cell.FindAllStringSubmatch(row, -1)
	if len(cells) != 10 || len(head) != 9 || !strings.Contains(figure, "temperature") {
		t.Fatalf("the map's table has %d columns and %d heads", len(cells), len(head))
	}
	across, up := "salt", "temperature"
	if strings.Contains(figure, "salt ↓") {
		across, up = up, across
	}
	asked := fmt.Sprintf(`{"points": [{%q: %s, %q: %s}]}`, across, head[3][1], up, cells[0][1])
	metrics := s.API("POST", study+"/posterior", asked).Want(200).JSON()["metrics"].(map[string]any)["yield"].(map[string]any)
	shown, err := strconv.ParseFloat(strings.Fields(cells[4][1])[0], 64)
	if mean := metrics["mean"].([]any)[0].(float64); err != nil || shown < mean-0.6 || shown > mean+0.6 {
		t.Errorf("the map has %s where the API has %v", cells[4][1], mean)
	}
	grid := "/studies/" + strings.TrimPrefix(reviewed(s), "/studies/")
	choices := html.UnescapeString(s.Page(grid + "/report"))
	if figure := figureOf(t, choices, "Yield over "); strings.Contains(figure, "stroke-dasharray") || !strings.Contains(figure, "Cells with room for it show that value, and below it the chance to stay within") {
		t.Error("contours are drawn between choices")
	}
}

// Charts over trials mark corrections, exclusions, changes of limits and refits; a trial that was
// taken out has a mark of its own.
func TestTheReportMarksWhatWasChanged(t *testing.T) {
	s := sitetest.Beside(t)
	study := reviewed(s)
	s.API("POST", study+"/trials/3/include", `{"reason": "it stirred"}`).Want(200)
	s.API("POST", study+"/trials/4/exclude", `{"reason": "spilled"}`).Want(200)
	s.API("POST", study+"/reconfigure", `{"algorithm": {"name": "rpol-ucb", "horizon": 40}, "reason": "more time"}`).Want(200)
	s.API("POST", study+"/ask", nil).Want(201)
	report := s.Page(study + "/report")
	for _, title := range []string{"Yield</span> (%)", "Impurity (%) and its limit", "Impurity: cumulative violation", "Price of breaking"} {
		figure := figureOf(t, report, title)
		for _, change := range []string{"correction", "exclusion", "inclusion", "change of a limit", "change of settings", "model refitted"} {
			if !regexp.MustCompile(`<g data-name="`+change+`"[^>]*><use `).MatchString(figure) || !strings.Contains(figure, "<span>"+change+"</span>") {
				t.Errorf("%s does not mark the %s, or does not say which mark that is", title, change)
			}
		}
	}
	for variable, there := range map[string]bool{"--feasible: #0072b2": true, "--surface: #ffffff": true, "--ink: #e9ecef": false} {
		if strings.Contains(report, variable) != there {
			t.Errorf("has the report %s? It must have the light colours and no others", variable)
		}
	}
	sitetest.Says(t, report, "Can the bands be trusted? (calibration)", "Has the process drifted?")
}

// wantStrict fails unless every element is closed in its order, no attribute stands twice, and
// every time has its zone.
func wantStrict(t *testing.T, report string) {
	t.Helper()
	closed := regexp.MustCompile(`<(meta|link|br|hr|col)((?:\s[^>]*[^/>])?)>`).ReplaceAllString(strings.TrimPrefix(report, "<!doctype html>"), "<$1$2/>")
	closed = regexp.MustCompile(`(\s(?:open|data-[a-z-]+))([\s>])`).ReplaceAllString(closed, `$1=""$2`) // attributes that are there or not
	decoder := xml.NewDecoder(strings.NewReader(closed))
	decoder.Entity = xml.HTMLEntity
	elements := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %d elements: %v: %.200s", elements, err, closed[max(0, int(decoder.InputOffset())-150):])
		}
		if start, is := token.(xml.StartElement); is {
			elements++
			seen := map[string]bool{}
			for _, a := range start.Attr {
				if key := a.Name.Space + ":" + a.Name.Local; seen[key] {
					t.Errorf("%s has %s twice", start.Name.Local, a.Name.Local)
				} else {
					seen[key] = true
				}
			}
		}
	}
	if elements < 200 {
		t.Errorf("only %d elements", elements)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(report, "\x00")
	zoned := regexp.MustCompile(`\d\d:\d\d(:\d\d)?( UTC)?`)
	for _, at := range zoned.FindAllString(text, -1) {
		if !strings.HasSuffix(at, " UTC") {
			t.Errorf("the time %s has no zone", at)
		}
	}
}
