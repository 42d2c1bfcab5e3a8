package pages_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
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

// Older trials, older entries and other axes come in place on the board, at its moment; the browser's address then says all that is shown, and opens the
// same without scripts. A change of the study leaves them as they are.
func TestTheBoardShowsMoreInPlace(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
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
	page := string(s.Call("GET", study+"/board?at="+at, s.Admin, nil).Want(200).Body)
	address, part := linkOf(t, page, "trials-older")
	if !strings.HasPrefix(part, study+"/board/trials?at="+at+"&below=") || !strings.HasPrefix(address, study+"/board?at="+at+"&below=") || !strings.HasSuffix(address, "#trials") {
		t.Fatalf("older trials are at %s, %s", address, part)
	}
	shown := s.URL + study + "/board?at=" + at + "&metric=impurity&before=40"
	older := s.Call("GET", part, s.Admin, nil, "HX-Request", "true", "HX-Current-URL", shown).Want(200)
	if text := string(older.Body); strings.Contains(text, "<html") || strings.Contains(text, `id="beliefs`) || !strings.Contains(text, `id="trials-newest"`) || strings.Contains(text, ">72</a>") {
		t.Errorf("older trials in place: %.300s", text)
	}
	below := regexp.MustCompile(`below=\d+`).FindString(part)
	if got, want := older.Header.Get("HX-Replace-Url"), study+"/board?at="+at+"&before=40&"+below+"&metric=impurity"; got != want {
		t.Errorf("the address becomes %s, want %s", got, want)
	}
	whole := string(s.Call("GET", older.Header.Get("HX-Replace-Url"), s.Admin, nil).Want(200).Body)
	for _, want := range []string{string(older.Body), `data-at="` + at + `"`, `<option value="impurity" selected`} {
		if !strings.Contains(whole, want) {
			t.Errorf("the address opens without %.100q", want)
		}
	}
	redrawn := s.Call("GET", study+"/board/beliefs?at="+at+"&metric=impurity", s.Admin, nil, "HX-Request", "true", "HX-Current-URL", s.URL+study+"/board?at="+at+"&show=feasible").Want(200)
	if got, want := redrawn.Header.Get("HX-Replace-Url"), study+"/board?at="+at+"&metric=impurity&show=feasible"; got != want {
		t.Errorf("redrawn, the address becomes %s, want %s", got, want)
	}
	if open := regexp.MustCompile(`(?s)<details id="beliefs-choose" open>\s*<summary>Show another metric`); !open.MatchString(whole) || open.MatchString(page) {
		t.Error("the choice of charts is not open just where somebody has chosen")
	}
	if !strings.Contains(whole, `hx-get="`+study+`/board/beliefs" hx-swap="innerHTML" hx-target="#beliefs"`) {
		t.Error("a redraw is not made in place")
	}
	changed := string(s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true", "HX-Trigger", "board-moment", "HX-Current-URL", s.URL+study+"/board?"+below).Want(200).Body)
	if !strings.Contains(changed, `id="trials-newest"`) {
		t.Error("a change of the study brings the newest trials back")
	}
	if back := string(s.Call("GET", study+"/board", s.Admin, nil, "HX-Request", "true", "HX-Current-URL", shown).Want(200).Body); strings.Contains(back, `id="trials-newest"`) {
		t.Error("the way back to now stays with older trials")
	}
	s.Call("GET", study+"/board/nothing", s.Admin, nil).Want(404)
	s.Call("GET", study+"/board/trials?at=9999", s.Admin, nil).Want(422)
	s.Call("GET", study+"/board/trials?below=x", s.Admin, nil).Want(422)
}
