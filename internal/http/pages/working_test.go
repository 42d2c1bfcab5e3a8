package pages_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"headroom/internal/db"
	server "headroom/internal/http"
	"headroom/internal/http/sitetest"
	"headroom/internal/study"
)

// busySite is a site whose one place to compute can be taken: nothing is worked out until it is given back.
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
		go service.Derived.Draw(context.Background(), "another", func() error {
			close(taken)
			<-back
			return nil
		})
		<-taken
		return func() { close(back) }
	}
}

// longStudy is a study so long that its pages do not wait for its model.
func longStudy(s *sitetest.Site) string {
	id := s.NewStudy(strings.Replace(screened, "log-cei", "random", 1))
	curve(s, id, 2000, 0, "yield", "impurity", "pressure")
	return "/studies/" + id
}

const worked = "is being worked out"

// arrived waits until the model of a page is there, and wants the sections that wait for it to be told.
func arrived(t *testing.T, s *sitetest.Site, part string) {
	t.Helper()
	sitetest.Eventually(t, "the model is there", func() bool {
		answer := s.Call("GET", part, s.Admin, nil, "HX-Request", "true").Want(200)
		there := !strings.Contains(string(answer.Body), worked)
		if told := answer.Header.Get("HX-Trigger") == "model-ready"; told != there {
			t.Fatalf("the model being there is %t, the sections are told: %t", there, told)
		}
		return there
	})
}

// fetched is a part as it comes once it is drawn, which may be after the page was told to ask again.
func fetched(t *testing.T, s *sitetest.Site, part string) (answer sitetest.Answer) {
	t.Helper()
	sitetest.Eventually(t, part+" comes", func() bool {
		answer = s.Call("GET", part, s.Admin, nil, "HX-Request", "true")
		if again := answer.Header.Get("Retry-After") != ""; again != (answer.Status == 204) {
			t.Fatalf("%s answers %d, to be asked for again: %t", part, answer.Status, again)
		}
		return answer.Status == 200
	})
	return answer
}

// TestALongStudyShowsBeforeItsModel: a page does not wait for thousands of trials to be worked out; what needs them comes once they are.
func TestALongStudyShowsBeforeItsModel(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	study := longStudy(s)
	giveBack := take()
	shown := page(s, study)
	for _, want := range []string{worked, "broken in", `hx-get="` + study + `/parts/model" hx-trigger="changed from:body, every 1s"`, "model-ready from:body"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page waits for the model, or lacks what is known without: no %s", want)
		}
	}
	for _, part := range []string{"verdict", "gain", "progress", "progress-table", "beliefs"} {
		s.Call("GET", study+"/parts/"+part, s.Admin, nil, "HX-Request", "true").Want(204)
	}
	for part, want := range map[string]string{"trials": "of 2000 trials", "status": "trial 2000 of", "ledger": "Older entries", "next": "Ask", "model": worked} {
		if text := string(s.Call("GET", study+"/parts/"+part, s.Admin, nil, "HX-Request", "true").Want(200).Body); !strings.Contains(text, want) {
			t.Errorf("the part %s waits for the model: %.300s", part, text)
		}
	}
	giveBack()
	arrived(t, s, study+"/parts/model")
	for part, want := range map[string]string{"verdict": " beyond it", "progress": "chart-progress", "progress-table": "<table", "beliefs": "beliefs-title"} {
		if text := string(fetched(t, s, study+"/parts/"+part).Body); !strings.Contains(text, want) || strings.Contains(text, worked) {
			t.Errorf("%s never comes: %.300s", part, text)
		}
	}
	if strings.Contains(page(s, study), worked) {
		t.Error("the page says that the model is being worked out when it is there")
	}
}

// TestALongBoardShowsBeforeItsModel, at present and at a moment of the past: the frame and all that the ledger alone says.
func TestALongBoardShowsBeforeItsModel(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	study := longStudy(s)
	hash := s.API("GET", study, nil).Want(200).JSON()["hash"].(string)
	for _, at := range []string{"", "?at=4002"} {
		giveBack := take()
		for _, headers := range [][]string{{"Accept", "text/html"}, {"HX-Request", "true"}} {
			board := string(s.Call("GET", study+"/board"+at, s.Admin, nil, headers...).Want(200).Body)
			for _, want := range []string{worked, hash, "broken in", "of 20", "imported trial", `hx-get="` + study + "/board/model" + at + `" hx-trigger="every 1s"`,
				`hx-get="` + study + "/board/progress" + at + `"`, study + "/board" + strings.Replace(at+"&whole=yes", "&", map[bool]string{true: "?", false: "&amp;"}[at == ""], 1)} {
				if !strings.Contains(board, want) {
					t.Errorf("at %q the board waits for the model, or lacks what is known without: no %s", at, want)
				}
			}
		}
		for _, part := range []string{"verdict", "gain", "progress", "progress-table", "beliefs"} {
			s.Call("GET", study+"/board/"+part+at, s.Admin, nil, "HX-Request", "true").Want(204)
		}
		giveBack()
		arrived(t, s, study+"/board/model"+at)
		for part, want := range map[string]string{"verdict": " beyond it", "progress": "chart-progress", "progress-table": "<table", "beliefs": "beliefs-title", "status": "<h1"} {
			answer := fetched(t, s, study+"/board/"+part+at)
			if text := string(answer.Body); !strings.Contains(text, want) || strings.Contains(text, worked) {
				t.Errorf("at %q %s never comes: %.300s", at, part, text)
			}
			if moved := answer.Header.Get("HX-Replace-Url"); part != "beliefs" && moved != "" {
				t.Errorf("%s, which nobody chose, moves the browser to %s", part, moved)
			}
		}
		if whole := page(s, study+"/board"+at); strings.Contains(whole, worked) || !strings.Contains(whole, "chart-progress") {
			t.Errorf("at %q the board does not show the model when it is there", at)
		}
		curveOn(s, study, 1)
	}
}

// curveOn adds results, so that the model is another.
func curveOn(s *sitetest.Site, study string, n int) {
	curve(s, strings.TrimPrefix(study, "/studies/"), n, 0, "yield", "impurity", "pressure")
}

// TestABoardKeepsItsChartsWhileTheModelFollows: a new result leaves what a long study's board shows of the model until the next is there.
func TestABoardKeepsItsChartsWhileTheModelFollows(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	study := longStudy(s)
	arrived(t, s, study+"/board/model")
	curveOn(s, study, 1)
	defer take()()
	following := string(s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true", "HX-Trigger", "board-moment").Want(200).Body)
	for _, section := range []string{"verdict", "progress", "beliefs"} {
		if !strings.Contains(following, fmt.Sprintf(`<section class="block" id="%s"`, section)) || strings.Count(following, `hx-preserve="true"`) != 3 {
			t.Errorf("%s is not kept: %.2000s", section, following)
		}
	}
	if back := string(s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true").Want(200).Body); strings.Contains(back, "hx-preserve") {
		t.Error("another moment keeps the charts of the one before")
	}
}

// TestWithoutScriptsALongStudyIsWaitedFor: the page that fetches nothing has all, as soon as the model is there; a short study never does without.
func TestWithoutScriptsALongStudyIsWaitedFor(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	study := longStudy(s)
	giveBack := take()
	time.AfterFunc(50*time.Millisecond, giveBack)
	for _, path := range []string{"?whole=yes", "/board?whole=yes"} {
		if whole := page(s, study+path); strings.Contains(whole, worked) || !strings.Contains(whole, "chart-progress") || strings.Contains(whole, "progress-table") {
			t.Errorf("%s, which fetches nothing, is shown without the model", path)
		}
	}
	short := s.NewStudy(strings.Replace(screened, "log-cei", "random", 1))
	curve(s, short, 30, 0, "yield", "impurity", "pressure")
	if shown := page(s, "/studies/"+short+"/board"); strings.Contains(shown, worked) || strings.Contains(shown, "board/model") {
		t.Error("a short study is shown without its model")
	}
}

// TestTheReportOfALongStudySaysThatItIsBeingMade to whoever looks on; a program waits for it.
func TestTheReportOfALongStudySaysThatItIsBeingMade(t *testing.T) {
	t.Parallel()
	s, take := busySite(t)
	study := longStudy(s)
	giveBack := take()
	for _, path := range []string{"/report", "/report?at=4000"} {
		waiting := s.Call("GET", study+path, s.Admin, nil, "Accept", "text/html").Want(202)
		if text := string(waiting.Body); waiting.Header.Get("Refresh") == "" || !strings.Contains(text, "is being made") || strings.Contains(text, "<figure ") {
			t.Errorf("%s, which is not there yet: %.300s", path, text)
		}
	}
	giveBack()
	var made string
	sitetest.Eventually(t, "the report is made", func() bool {
		answer := s.Call("GET", study+"/report", s.Admin, nil, "Accept", "text/html")
		made = string(answer.Body)
		return answer.Status == 200
	})
	for _, direct := range []string{made, string(s.Call("GET", study+"/report", s.Admin, nil).Want(200).Body)} {
		if !strings.Contains(direct, "<figure>") || !strings.Contains(direct, "of 2000 trials") {
			t.Errorf("the report that was waited for lacks its charts or trials: %.300s", direct)
		}
	}
}
