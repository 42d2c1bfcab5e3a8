package pages_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"rsc.io/qr"

	"headroom/internal/http/sitetest"
)

// The sheet on paper has what to set, each metric with its limit and a blank or what was saved, and a code that opens the trial's page.
func TestThePrintSheet(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := toldStudy(s)
	trial := s.API("POST", study+"/ask", nil).Want(201).JSON()["trials"].([]any)[0].(map[string]any)
	path := fmt.Sprintf("%s/trials/%v", study, trial["number"])
	s.API("POST", path+"/tell", `{"metrics": {"impurity": 0.37}}`).Want(200)
	page := string(s.Call("GET", path+"/sheet", s.Admin, nil).Want(200).Body)
	for _, want := range []string{"Buffer screen", fmt.Sprintf("Trial %v", trial["number"]), "temperature", "catalyst", trial["parameters"].(map[string]any)["catalyst"].(string), "≤ 0.5", "0.37", "saved already", `<span class="line">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the sheet does not have %q", want)
		}
	}
	if blanks := regexp.MustCompile(`(?s)yield</th>.{0,200}<span class="line">`); !blanks.MatchString(page) {
		t.Error("there is no blank for the yield")
	}
	address := "http://headroom.test" + path
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		t.Fatal(err)
	}
	drawn := regexp.MustCompile(`(?s)class="qr".*?<path d="([^"]*)"`).FindStringSubmatch(page)
	if drawn == nil || !strings.Contains(page, fmt.Sprintf(`viewBox="0 0 %d %d"`, code.Size+8, code.Size+8)) {
		t.Fatal("no code is drawn with its white margin")
	}
	black := map[[2]int]bool{}
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-\d+z`).FindAllStringSubmatch(drawn[1], -1) {
		var x, y, length int
		if _, err := fmt.Sscan(run[1]+" "+run[2]+" "+run[3], &x, &y, &length); err != nil {
			t.Fatal(err)
		}
		for i := range length {
			black[[2]int{x + i, y}] = true
		}
	}
	for y := -4; y < code.Size+4; y++ {
		for x := -4; x < code.Size+4; x++ {
			if black[[2]int{x + 4, y + 4}] != code.Black(x, y) {
				t.Fatalf("module %d, %d of the code for %s is wrong", x, y, address)
			}
		}
	}
	if !strings.Contains(page, address) {
		t.Error("the address stands nowhere in words")
	}
}
