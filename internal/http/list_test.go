package http_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

func TestStudiesAreListedInPages(t *testing.T) {
	s := sitetest.Beside(t)
	for i := range 5 {
		s.NewStudy(strings.Replace(sitetest.Screen, "Buffer screen", fmt.Sprint("Study ", i), 1))
	}
	var names []string
	after := ""
	for range 3 {
		page := s.API("GET", "/studies?limit=2"+after, nil).Want(200).JSON()
		for _, one := range page["studies"].([]any) {
			names = append(names, one.(map[string]any)["name"].(string))
		}
		if next, more := page["next"].(string); more {
			after = "&after=" + next
		} else {
			after = ""
		}
	}
	if got := strings.Join(names, ", "); got != "Study 4, Study 3, Study 2, Study 1, Study 0" || after != "" {
		t.Fatalf("listed %s, next %q", got, after)
	}
	for query, location := range map[string]string{"limit=0": "query.limit", "limit=1001": "query.limit", "after=x": "query.after", "after=": "query.after"} {
		s.API("GET", "/studies?"+query, nil).Faults(422, location)
	}
}

func TestListCountsWithoutReadingTrials(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/import", "temperature,catalyst,yield,impurity\n30,A,71.2,0.3\n31,A,80,0.9\n32,B,60,0.4\n33,B,,\n", "Content-Type", "text/csv").Want(200)
	one := s.API("GET", "/studies", nil).Want(200).JSON()["studies"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(one["trials"], one["waiting"], one["feasible"], one["feasibility_known"], one["best"]); got != "4 1 2 3 map[metric:yield number:1 unit:% value:71.2]" {
		t.Fatalf("the list says %s", got)
	}
}

func TestStudiesPageGoesOn(t *testing.T) {
	s := sitetest.Beside(t)
	for i := range 101 {
		id := s.NewStudy(strings.Replace(sitetest.Screen, "Buffer screen", fmt.Sprintf("Study %03d", i), 1))
		if i == 0 {
			s.API("PATCH", "/studies/"+id, `{"state": "archived"}`).Want(200)
		}
	}
	s.NewStudy(strings.Replace(sitetest.Screen, "Buffer screen", "The last one", 1))
	page := func(path string) string {
		t.Helper()
		return s.Page(path)
	}
	first := page("/studies")
	on := regexp.MustCompile(`href="(/studies\?after=[^"]+)"`).FindStringSubmatch(first)
	if on == nil || !strings.Contains(first, "The last one") || strings.Contains(first, "Study 001") || !strings.Contains(first, "Show archived") {
		t.Fatalf("the first page: %s", first)
	}
	second := page(on[1])
	if !strings.Contains(second, "Study 001") || strings.Contains(second, "Study 000") || strings.Contains(second, "Study 002") || strings.Contains(second, "Changed earlier") {
		t.Fatalf("the second page: %s", second)
	}
	if all := page(strings.Replace(on[1], "?", "?archived=yes&", 1)); !strings.Contains(all, "Study 000") || strings.Contains(all, "Show archived") {
		t.Fatalf("with archived ones: %s", all)
	}
	s.Call("GET", "/studies?after=x", s.Admin, nil, "Accept", "text/html").Want(422)
}
