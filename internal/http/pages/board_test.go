package pages_test

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"headroom/internal/db"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/study"
	"headroom/internal/testwait"
)

// linkOf is the address and the part of the link with the id given.
func linkOf(t *testing.T, page, id string) (address, part string) {
	t.Helper()
	tag := regexp.MustCompile(`<a id="` + id + `"[^>]*>`).FindString(page)
	href, get := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(tag), regexp.MustCompile(`hx-get="([^"]*)"`).FindStringSubmatch(tag)
	if href == nil || get == nil {
		t.Fatalf("the link %s is %q", id, tag)
	}
	return html.UnescapeString(href[1]), html.UnescapeString(get[1])
}

// Older trials, older entries and other axes come in place on the board, at its moment; the
// browser's address then says all that is shown, and opens the same without scripts. A change of
// the study leaves them as they are.
func TestTheBoardShowsMoreInPlace(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	var rows strings.Builder
	rows.WriteString("temperature,catalyst,yield,impurity\n")
	for i := range 70 {
		fmt.Fprintf(&rows, "%d,A,%d,0.3\n", 20+i%40, 50+i%7)
	}
	s.API("POST", study+"/import", rows.String(), "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/ask", nil).Want(201)
	at := fmt.Sprint(int(s.API("GET", study, nil).Want(200).JSON()["version"].(float64)) - 1)
	s.API("POST", study+"/ask", nil).Want(201)
	page := s.Page(study + "/board?at=" + at)
	address, part := linkOf(t, page, "trials-older")
	if !strings.HasPrefix(part, study+"/board/trials?at="+at+"&below=") || !strings.HasPrefix(address, study+"/board?at="+at+"&below=") || !strings.HasSuffix(address, "#trials") {
		t.Fatalf("older trials are at %s, %s", address, part)
	}
	shown := s.URL + study + "/board?at=" + at + "&metric=impurity&before=40"
	older := s.Call("GET", part, s.Admin, nil, "HX-Request", "true", "HX-Current-URL", shown).Want(200)
	older.Says(`id="trials-newest"`).Lacks("<html", `id="beliefs`, ">72</a>")
	below := regexp.MustCompile(`below=\d+`).FindString(part)
	sitetest.Same(t, "the address becomes", older.Header.Get("HX-Replace-Url"), study+"/board?at="+at+"&before=40&"+below+"&metric=impurity")
	whole := s.Page(older.Header.Get("HX-Replace-Url"))
	sitetest.Says(t, whole, string(older.Body), `data-at="`+at+`"`, `<option value="impurity" selected`)
	redrawn := s.Call("GET", study+"/board/beliefs?at="+at+"&metric=impurity", s.Admin, nil, "HX-Request", "true", "HX-Current-URL", s.URL+study+"/board?at="+at+"&show=feasible").Want(200)
	sitetest.Same(t, "redrawn, the address becomes", redrawn.Header.Get("HX-Replace-Url"), study+"/board?at="+at+"&metric=impurity&show=feasible")
	if open := regexp.MustCompile(`(?s)<details id="beliefs-choose" open>\s*<summary>Show another metric`); !open.MatchString(whole) || open.MatchString(page) {
		t.Error("the choice of charts is not open just where somebody has chosen")
	}
	sitetest.Says(t, whole, `hx-get="`+study+`/board/beliefs" hx-swap="innerHTML" hx-target="#beliefs"`)
	changed := string(s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true", "HX-Trigger", "board-moment", "HX-Current-URL", s.URL+study+"/board?"+below).Want(200).Body)
	sitetest.Says(t, changed, `id="trials-newest"`)
	s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true", "HX-Current-URL", shown).Want(200).Lacks(`id="trials-newest"`)
	s.Call("GET", study+"/board/nothing", s.Admin, nil).Want(404)
	s.Call("GET", study+"/board/trials?at=9999", s.Admin, nil).Want(422)
	s.Call("GET", study+"/board/trials?below=x", s.Admin, nil).Want(422)
}

// TestACorrectionStandsBesideWhatWasBefore it, which is not what was told first where it was the
// second.
func TestACorrectionStandsBesideWhatWasBefore(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 71}}`).Want(200)
	for _, value := range []int{72, 73} {
		s.API("POST", study+"/trials/1/corrections", fmt.Sprintf(`{"metrics": {"yield": %d}, "reason": "typo"}`, value)).Want(200)
	}
	for _, page := range []string{"/board", "/report"} {
		table := s.Page(study + page)
		sitetest.Says(t, table, ">Before<", ">After<", `<s class="was">72`, "<b>73", `<s class="was">71`, "<b>72")
		sitetest.Lacks(t, table, "As first told", ">Now<")
	}
}

// TestATableTakenBackIsOneLineOfTheBoard, and of the report: who took back what of which trials, and
// why. A few corrections stand beside what was before them, also of one request.
func TestATableTakenBackIsOneLineOfTheBoard(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	version := func() int { return int(s.API("GET", study, nil).Want(200).JSON()["version"].(float64)) }
	rows := "temperature,catalyst,yield,impurity\n"
	for i := range 96 {
		rows += fmt.Sprintf("%d,A,%d,0.3\n", 20+i%40, 50+i%7)
	}
	few := len(regexp.MustCompile(`data-label="When"`).FindAllString(s.Page(study+"/board"), -1))
	s.API("POST", study+"/import", rows, "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/undo", fmt.Sprintf(`{"event": %d, "reason": "wrong file"}`, version())).Want(200)
	for _, page := range []string{"/board", "/report"} {
		table := s.Page(study + page)
		sitetest.Says(t, table, "yield and impurity of trials 4, 5, 6, 7 and 92 more", "<b>taken back</b>", "wrong file")
		if lines := len(regexp.MustCompile(`data-label="When"`).FindAllString(table, -1)); lines != few+1 {
			t.Errorf("%s has %d lines of corrections, not %d", page, lines, few+1)
		}
		sitetest.Lacks(t, table, "not shown; the")
	}
	s.API("POST", study+"/undo", fmt.Sprintf(`{"event": %d, "reason": "the right one after all"}`, version())).Want(200)
	s.API("POST", study+"/import?by_number=true&reason=misread", "number,yield\n4,61.25\n5,62.25\n", "Content-Type", "text/csv").Want(200)
	sitetest.Says(t, s.Page(study+"/board"), "taken back</b>", "<b>61.25", "<b>62.25")
}

// busySite is a site whose one place to compute can be taken: nothing is worked out until it is
// given back.
func busySite(t *testing.T) (s *sitetest.Site, take func() (giveBack func())) {
	t.Helper()
	var service *study.Service
	s = sitetest.New(t, func(o *server.Options) {
		service = study.NewService(o.Database.(*db.DB).Studies, study.Options{Replays: 1})
		t.Cleanup(service.Stop)
		o.Studies, o.ModelPatience = service, time.Millisecond
	})
	return s, func() func() {
		taken, back := make(chan struct{}), make(chan struct{})
		go service.Derived.Compute(context.Background(), "another", func(context.Context) error {
			close(taken)
			<-back
			return nil
		})
		<-taken
		return func() { close(back) }
	}
}

// TestALongStudy is of one so long that its pages do not wait for its model. It has one more trial each
// time, whose model is to be made.
func TestALongStudy(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	id := s.NewStudy(strings.NewReplacer("log-cei", "random", `"seed"`, `"model": {"fit": "fixed"}, "seed"`).Replace(screened))
	curve(s, id, 1999, 0, "yield", "impurity", "pressure")
	for _, test := range []func(*testing.T, *sitetest.Site, string, func() func()){
		aLongStudyShowsBeforeItsModel, aLongBoardShowsBeforeItsModel, aBoardKeepsItsChartsWhileTheModelFollows,
		withoutScriptsALongStudyIsWaitedFor, theReportOfALongStudySaysThatItIsBeingMade,
	} {
		curveOn(s, "/studies/"+id, 1)
		test(t, s, "/studies/"+id, take)
	}
}

const worked = "is being worked out"

// arrived waits until the model of a page is there, and wants the sections that wait for it to be
// told.
func arrived(t *testing.T, s *sitetest.Site, part string) {
	t.Helper()
	testwait.Eventually(t, "the model is there", func() bool {
		answer := s.Call("GET", part, s.Admin, nil, "HX-Request", "true").Want(200)
		there := !strings.Contains(string(answer.Body), worked)
		if told := answer.Header.Get("HX-Trigger") == "model-ready"; told != there {
			t.Fatalf("the model being there is %t, the sections are told: %t", there, told)
		}
		return there
	})
}

// waits fails unless a part is not there yet, and will be told when it is: it does not ask again.
func waits(t *testing.T, s *sitetest.Site, part string) {
	t.Helper()
	if again := s.Call("GET", part, s.Admin, nil, "HX-Request", "true").Want(204).Header.Get("Retry-After"); again != "" {
		t.Errorf("%s, which waits for the model, is asked for again in %s s", part, again)
	}
}

// fetched is a part as it comes once it is drawn, which may be after the page was told to ask
// again.
func fetched(t *testing.T, s *sitetest.Site, part string) (answer sitetest.Answer) {
	t.Helper()
	testwait.Eventually(t, part+" comes", func() bool {
		answer = s.Call("GET", part, s.Admin, nil, "HX-Request", "true")
		if again := answer.Header.Get("Retry-After") != ""; again != (answer.Status == 204) {
			t.Fatalf("%s answers %d, to be asked for again: %t", part, answer.Status, again)
		}
		return answer.Status == 200
	})
	return answer
}

// aLongStudyShowsBeforeItsModel: a page does not wait for thousands of trials to be worked out;
// what needs them comes once they are.
func aLongStudyShowsBeforeItsModel(t *testing.T, s *sitetest.Site, study string, take func() func()) {
	giveBack := take()
	shown := s.Page(study)
	sitetest.Says(t, shown, worked, "broken in", `hx-get="`+study+`/parts/model" hx-trigger="changed from:body, every 1s"`, "model-ready from:body")
	for _, part := range []string{"verdict", "gain", "progress", "progress-table", "beliefs"} {
		waits(t, s, study+"/parts/"+part)
	}
	for part, want := range map[string]string{"trials": "of 2000 trials", "status": "trial 2000, 20 planned", "ledger": "entries written with it", "next": "Ask", "model": worked} {
		s.Call("GET", study+"/parts/"+part, s.Admin, nil, "HX-Request", "true").Want(200).Says(want)
	}
	s.Call("GET", study+"/parts/ledger?before=3999", s.Admin, nil, "HX-Request", "true").Want(200).Says("Older entries").Lacks("written with it")
	giveBack()
	arrived(t, s, study+"/parts/model")
	for part, want := range map[string]string{"verdict": " beyond it", "progress": "chart-progress", "progress-table": "<table", "beliefs": "beliefs-title"} {
		fetched(t, s, study+"/parts/"+part).Says(want).Lacks(worked)
	}
	sitetest.Lacks(t, s.Page(study), worked)
}

// aLongBoardShowsBeforeItsModel, at present and at a moment of the past: the frame and all that
// the ledger alone says.
func aLongBoardShowsBeforeItsModel(t *testing.T, s *sitetest.Site, study string, take func() func()) {
	for _, at := range []string{"", "?at=4002"} {
		hash := s.API("GET", study+at, nil).Want(200).JSON()["hash"].(string)
		giveBack := take()
		for _, headers := range [][]string{{"Accept", "text/html"}, {"HX-Request", "true"}} {
			board := string(s.Call("GET", study+"/board"+at, s.Admin, nil, headers...).Want(200).Body)
			for _, want := range []string{worked, hash, "broken in", "of 20", "imported trial", `hx-get="` + study + "/board/model" + at + `" hx-trigger="every 1s"`,
				`hx-get="` + study + "/board/progress" + at + `"`, study + "/board" + strings.Replace(at+"&whole=yes", "&", map[bool]string{true: "?", false: "&amp;"}[at == ""], 1)} {
				sitetest.Says(t, board, want)
			}
		}
		for _, part := range []string{"verdict", "gain", "progress", "progress-table", "beliefs"} {
			waits(t, s, study+"/board/"+part+at)
		}
		giveBack()
		arrived(t, s, study+"/board/model"+at)
		for part, want := range map[string]string{"verdict": " beyond it", "progress": "chart-progress", "progress-table": "<table", "beliefs": "beliefs-title", "status": "<h1"} {
			answer := fetched(t, s, study+"/board/"+part+at)
			answer.Says(want).Lacks(worked)
			if moved := answer.Header.Get("HX-Replace-Url"); part != "beliefs" && moved != "" {
				t.Errorf("%s, which nobody chose, moves the browser to %s", part, moved)
			}
		}
		if whole := s.Page(study + "/board" + at); strings.Contains(whole, worked) || !strings.Contains(whole, "chart-progress") {
			t.Errorf("at %q the board does not show the model when it is there", at)
		}
		curveOn(s, study, 1)
	}
}

// curveOn adds results, so that the model is another.
func curveOn(s *sitetest.Site, study string, n int) {
	curve(s, strings.TrimPrefix(study, "/studies/"), n, 0, "yield", "impurity", "pressure")
}

// aBoardKeepsItsChartsWhileTheModelFollows: a new result leaves what a long study's board shows
// of the model until the next is there.
func aBoardKeepsItsChartsWhileTheModelFollows(t *testing.T, s *sitetest.Site, study string, take func() func()) {
	arrived(t, s, study+"/board/model")
	curveOn(s, study, 1)
	defer take()()
	following := string(s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true", "HX-Trigger", "board-moment").Want(200).Body)
	for _, section := range []string{"verdict", "progress", "beliefs"} {
		if !strings.Contains(following, fmt.Sprintf(`<section class="block" id="%s"`, section)) || strings.Count(following, `hx-preserve="true"`) != 3 {
			t.Errorf("%s is not kept: %.2000s", section, following)
		}
	}
	s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true").Want(200).Lacks("hx-preserve")
}

// withoutScriptsALongStudyIsWaitedFor: the page that fetches nothing has all, as soon as the
// model is there; a short study never does without.
func withoutScriptsALongStudyIsWaitedFor(t *testing.T, s *sitetest.Site, study string, take func() func()) {
	giveBack := take()
	time.AfterFunc(50*time.Millisecond, giveBack)
	for _, path := range []string{"?whole=yes", "/board?whole=yes"} {
		if whole := s.Page(study + path); strings.Contains(whole, worked) || !strings.Contains(whole, "chart-progress") || strings.Contains(whole, "progress-table") {
			t.Errorf("%s, which fetches nothing, is shown without the model", path)
		}
	}
	short := s.NewStudy(strings.Replace(screened, "log-cei", "random", 1))
	curve(s, short, 30, 0, "yield", "impurity", "pressure")
	sitetest.Lacks(t, s.Page("/studies/"+short+"/board"), worked, "board/model")
}

// theReportOfALongStudySaysThatItIsBeingMade to whoever looks on; a program waits for it.
func theReportOfALongStudySaysThatItIsBeingMade(t *testing.T, s *sitetest.Site, study string, take func() func()) {
	giveBack := take()
	for _, path := range []string{"/report", "/report?at=4000"} {
		waiting := s.Call("GET", study+path, s.Admin, nil, "Accept", "text/html").Want(202)
		if text := string(waiting.Body); waiting.Header.Get("Refresh") == "" || !strings.Contains(text, "is being made") || strings.Contains(text, "<figure ") {
			t.Errorf("%s, which is not there yet: %.300s", path, text)
		}
	}
	giveBack()
	var made string
	testwait.Eventually(t, "the report is made", func() bool {
		answer := s.Call("GET", study+"/report", s.Admin, nil, "Accept", "text/html")
		made = string(answer.Body)
		return answer.Status == 200
	})
	for _, direct := range []string{made, string(s.Call("GET", study+"/report", s.Admin, nil).Want(200).Body)} {
		sitetest.Says(t, direct, "<figure ", "of 2007 trials")
	}
}
