package pages_test

import (
	"html"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
)

func reportOf(s *sitetest.Site, id string) string {
	return html.UnescapeString(string(s.Call("GET", "/studies/"+id+"/report", s.Admin, nil).Want(200).Body))
}

func wantWords(t *testing.T, when, text string, there, gone []string) {
	t.Helper()
	for _, words := range there {
		if !strings.Contains(text, words) {
			t.Errorf("%s: it lacks %q", when, words)
		}
	}
	for _, words := range gone {
		if strings.Contains(text, words) {
			t.Errorf("%s: it has %q", when, words)
		}
	}
}

// The report answers as the page does, in every state: what is over is not "yet", what comes closest is named, and no chart is drawn of nothing.
func TestTheReportAnswersAsThePage(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	wantWords(t, "while the first waits", reportOf(s, id), []string{"are without a reading."}, []string{"<figure", "chance to stay within every limit, as far"})
	s.API("POST", "/studies/"+id+"/trials/1/fail", `{"reason": "pump"}`).Want(200)
	curve(s, id, 8, 5, "yield", "impurity", "pressure")
	settled(s, id, 9)
	wantWords(t, "nothing within the limits", reportOf(s, id), []string{">The answer so far<", "Nothing can be recommended yet: no settings tried are more likely to stay within every limit than to break one", "Closest to the limits: trial 2, with x ", "binds: 5.1"}, nil)
	s.API("PATCH", "/studies/"+id, `{"state": "finished"}`).Want(200)
	wantWords(t, "finished", reportOf(s, id), []string{">The answer<", "This study is finished.", "Nothing could be recommended: no settings tried are more likely to stay within every limit than to break one"}, []string{"recommended yet"})
	empty := s.NewStudy(screened)
	s.API("PATCH", "/studies/"+empty, `{"state": "archived"}`).Want(200)
	wantWords(t, "archived before anything", reportOf(s, empty)+page(s, "/studies/"+empty+"/board"), []string{"Nothing was tried.", "No trial was made."}, []string{"Nothing has been tried yet"})
}

// The report's table has what was chosen beside what was used, as the page's has.
func TestTheReportHasWhatWasChosen(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	chosen := s.API("POST", "/studies/"+id+"/ask", nil).Want(201).JSON()["trials"].([]any)[0].(map[string]any)["parameters"].(map[string]any)["x"].(float64)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 50, "impurity": 0.2, "pressure": 1}, "parameters": {"x": 0.123}}`).Want(200)
	used := regexp.MustCompile(`<td[^>]*>0\.123\d* \(chosen (0\.\d+)\)</td>`).FindStringSubmatch(reportOf(s, id))
	if used == nil {
		t.Fatal("the report does not say beside 0.123 what was chosen")
	}
	if said, err := strconv.ParseFloat(used[1], 64); err != nil || math.Abs(said-chosen) > 0.005 {
		t.Errorf("it says that %s was chosen instead of %v", used[1], chosen)
	}
}

// A study without limits speaks of none.
func TestNoWordOfLimitsWithoutAny(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(`{"name": "Free", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"}}`)
	curve(s, id, 8, 0, "yield")
	settled(s, id, 8)
	for _, at := range []string{"report", "board"} {
		text := html.UnescapeString(page(s, "/studies/"+id+"/"+at))
		wantWords(t, at, text, []string{">measured<"}, []string{">within limits<", ">Within limits<", ">Limit broken<", "Distance to the limit"})
	}
	s.Call("GET", "/studies/"+id+"/board?"+url.Values{"show": {"feasible"}}.Encode(), s.Admin, nil).Want(200)
}

// An error page says what is wrong once, in the words of the page, and what would be right.
func TestErrorPagesSayWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	viewer := s.Token(account.Viewer, "")
	made := string(s.Call("GET", "/studies/new", viewer, nil, "Accept", "text/html").Want(403).Body)
	wantWords(t, "a viewer making a study", made, []string{"This needs the role operator, and yours is viewer. An admin can change that."}, nil)
	at := html.UnescapeString(string(s.Call("GET", "/studies/"+s.NewStudy(screened)+"/board?at=999", viewer, nil, "Accept", "text/html").Want(422).Body))
	if strings.Contains(at, "query.") || strings.Count(at, "at: the study has 1 event") != 1 {
		t.Errorf("a moment that never was: %s", at[strings.Index(at, "<main"):])
	}
}

// An error page lets whoever is signed in go on as from any page.
func TestErrorPagesKnowWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	operator := s.Token(account.Operator, "")
	gone, forbidden := "/studies/nothing-here", "/people"
	for path, status := range map[string]int{gone: 404, forbidden: 403} {
		answer := string(s.Call("GET", path, operator, nil, "Accept", "text/html").Want(status).Body)
		wantWords(t, path, answer, []string{"(operator)", `<a href="/studies">Studies</a>`}, nil)
	}
}

// The numbers behind the charts have nothing from the prior alone, and no sum of what was never read.
func TestNumbersBehindChartsAreOfReadings(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	curve(s, id, 3, 0, "yield", "impurity")
	s.API("PATCH", "/studies/"+id, `{"state": "finished"}`).Want(200)
	board := html.UnescapeString(page(s, "/studies/"+id+"/board"))
	wantWords(t, "ended early", board, []string{"The study ended before the model had begun.", "Yield"}, []string{"The model begins when"})
	_, table, _ := strings.Cut(board, "model’s estimate")
	row := regexp.MustCompile(`(?s)<tbody>\s*<tr>(.*?)</tr>`).FindStringSubmatch(table)
	var cells []string
	for _, cell := range regexp.MustCompile(`<td[^>]*>([^<]*)</td>`).FindAllStringSubmatch(row[1], -1) {
		cells = append(cells, cell[1])
	}
	// Trial, result, yield, best; impurity, its limit and three sums, its bound; pressure, its limit and as many.
	if len(cells) != 16 || cells[6] == "–" || cells[8] != "–" || strings.Join(cells[12:], "") != "––––" {
		t.Errorf("the first line is %q", cells)
	}
}

// A star marks what is recommended, and nothing while the model has not begun.
func TestNoStarBeforeTheModelBegins(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	curve(s, id, 3, 0, "yield", "impurity", "pressure")
	board := page(s, "/studies/"+id+"/board")
	wantWords(t, "three rows imported", board, []string{"the model begins when the first few trials"}, []string{"mark recommended", `data-name="recommended`})
}
