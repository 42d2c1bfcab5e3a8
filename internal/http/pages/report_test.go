package pages_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
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

// The report is one file that asks nobody for anything, names what it shows, and has the numbers of the API.
func TestReportIsOneFile(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	s.API("POST", study+"/verify", nil).Want(200)
	post(s, study+"/board/verify", nil).Want(303)
	answer := s.Call("GET", study+"/report", s.Admin, nil).Want(200)
	report := string(answer.Body)
	for _, policy := range []string{answer.Header.Get("Content-Security-Policy"), regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindString(report)} {
		if !strings.Contains(policy, "default-src") || !strings.Contains(policy, "none") {
			t.Errorf("the policy is %q", policy)
		}
	}
	if asks := regexp.MustCompile(`(?i)<(script|link|img|iframe|object|form|base)[\s>]|\ssrc=|url\([^#]|href="[^#d]|@import|\son\w+=`).FindString(report); asks != "" {
		t.Errorf("the report has %q", asks)
	}
	snap := s.API("GET", study, nil).Want(200).JSON()
	state := s.API("GET", study+"/state", nil).Want(200).JSON()
	for what, want := range map[string]string{
		"the head's hash": snap["hash"].(string), "the version": fmt.Sprintf("entry %v of %v", snap["version"], snap["version"]),
		"the verification": "verified ", "the first value": "(first told 71.2)", "the correction's reason": "digits &lt;swapped&gt;", "the exclusion": "the stirrer stood still",
		"the limit before": "before trial 9", "whose limits": "The results are by the limits as they are now.", "the change in words": "limit of impurity from 0.5 to 0.4",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not have %s: %q", what, want)
		}
	}
	if r, ok := state["recommendation"].(map[string]any); ok && !strings.Contains(report, fmt.Sprintf("the settings of trial %v", r["number"])) {
		t.Error("the report recommends something else")
	}
	drawings := regexp.MustCompile(`(?s)<div role="img".*?</div></div>`).FindAllString(report, -1)
	figures := strings.Count(report, "<figure")
	if figures < 5 || len(drawings) != figures {
		t.Errorf("%d figures, %d of them drawn", figures, len(drawings))
	}
	for i, drawing := range drawings {
		if !strings.Contains(drawing, "data-said=") || strings.Contains(drawing, "NaN") || strings.Contains(drawing, "Inf") {
			t.Errorf("figure %d is empty or broken", i+1)
		}
	}
	wantUniqueIDs(t, report)
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

// The report of a moment shows that moment: nothing that came later.
func TestReportOfAMoment(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	report := string(s.Call("GET", study+"/report?at=3", s.Admin, nil).Want(200).Body)
	if !strings.Contains(report, "after ledger entry 3 of ") || strings.Contains(report, "swapped") || strings.Contains(report, "stirrer") || strings.Contains(report, "17.2") {
		t.Error("the report of entry 3 knows what came after it")
	}
	for query, status := range map[string]int{"?at=999": 422, "?at=x": 422, "?at=1": 200} {
		s.Call("GET", study+"/report"+query, s.Admin, nil).Want(status)
	}
}

// Whoever reads the study gets its report: a viewer and a share link; the share of another study does not.
func TestReportForReviewers(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	s.Call("GET", study+"/report", s.Token(account.Viewer, ""), nil).Want(200)
	s.Call("GET", study+"/report", s.Share(strings.TrimPrefix(study, "/studies/")), nil).Want(200)
	s.Call("GET", study+"/report", s.Share(s.NewStudy(sitetest.Screen)), nil).Want(404)
	empty := "/studies/" + s.NewStudy(sitetest.Screen)
	if page := string(s.Call("GET", empty+"/report", s.Admin, nil).Want(200).Body); !strings.Contains(page, "Nothing has been tried yet.") || !strings.Contains(page, "No trial was made.") {
		t.Error("the report of a study without trials does not say so")
	}
}

// The board has what was corrected and taken out side by side, the head's hash, and follows the study; a moment of the past does not.
func TestBoardShowsWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	page := string(s.Call("GET", study+"/board", s.Admin, nil).Want(200).Body)
	hash := s.API("GET", study, nil).Want(200).JSON()["hash"].(string)
	for _, want := range []string{hash, "71.2", "17.2", "digits &lt;swapped&gt;", "taken out", "the stirrer stood still", `data-name="as first told"`, "yield first told as 71.2", `sse-connect`, `hx-trigger="changed from:body"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the board does not have %q", want)
		}
	}
	wantUniqueIDs(t, page)
	part := string(s.Call("GET", study+"/board?at=3", s.Admin, nil, "HX-Request", "true").Want(200).Body)
	if strings.Contains(part, "<html") || strings.Contains(part, "swapped") || strings.Contains(part, "changed from:body") || !strings.Contains(part, `data-at="3"`) || !strings.Contains(part, "Hash of entry 3:") {
		t.Errorf("the part of entry 3: %.400s", part)
	}
}

// A verification behind the page says how far it is, then what came of it, with the hash it came to; a new entry is told of.
func TestVerifyingShowsItsProgress(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	started := string(post(s, study+"/board/verify", url.Values{}, "HX-Request", "true").Want(200).Body)
	if !strings.Contains(started, "<progress") && !strings.Contains(started, "✓") {
		t.Errorf("neither progress nor an outcome: %s", started)
	}
	var line string
	sitetest.Eventually(t, "the verification ends", func() bool {
		line = string(s.Call("GET", study+"/board/verify", s.Admin, nil).Want(200).Body)
		return !strings.Contains(line, "<progress")
	})
	snap := s.API("GET", study, nil).Want(200).JSON()
	if !strings.Contains(line, "✓") || !strings.Contains(line, snap["hash"].(string)) || !strings.Contains(line, "up to ledger entry "+strconv.Itoa(int(snap["version"].(float64)))) {
		t.Errorf("it ended with %s", line)
	}
	s.API("POST", study+"/ask", nil).Want(201)
	line = string(s.Call("GET", study+"/board/verify", s.Admin, nil).Want(200).Body)
	if !strings.Contains(line, "1 entry has been added since") && !strings.Contains(line, "2 entries have been added since") || !strings.Contains(line, snap["hash"].(string)) {
		t.Errorf("after a new entry: %s", line)
	}
}

// A long study's report stays a file that can be opened, and says what it leaves out.
func TestReportOfALongStudyIsBounded(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
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
	for _, said := range []string{"of 1600 trials: the newest", "The newest 1500 of 32", "each grey bar spans all readings of 8 trials, lowest to highest"} {
		if !strings.Contains(report, said) {
			t.Errorf("the report does not say %q", said)
		}
	}
	t.Logf("%d bytes", len(report))
}
