package pages_test

import (
	"net/url"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
)

func wideForm(scale string) url.Values {
	return url.Values{"key": {"k" + scale}, "name": {"Flow screen"}, "description": {"half a sentence"}, "parameters.0.name": {"flow"}, "parameters.0.type": {"real"}, "parameters.0.low": {"0,1"}, "parameters.0.high": {"100"},
		"parameters.0.scale": {scale}, "objective.metric": {"y"}, "objective.direction": {"maximize"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"20"}}
}

// TestTheFormSaysWhichScaleSuits while it is filled in, and a button beside the scale does what it says and leaves the rest as it was typed.
func TestTheFormSaysWhichScaleSuits(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	press := func(form url.Values, do string) string {
		t.Helper()
		form.Set("do", do)
		return string(post(s, "/studies/new", form).Want(200).Body)
	}
	const will, should = "This will be on a logarithmic scale: 100 is 1000 times 0.1.", "This belongs on a logarithmic scale: 100 is 1000 times 0.1."
	for name, c := range map[string]struct {
		form url.Values
		do   string
		says string
		now  string // the scale chosen
	}{
		"nothing said":      {wideForm(""), "refresh", will, ""},
		"linear":            {wideForm("linear"), "refresh", should, "linear"},
		"log":               {wideForm("log"), "refresh", "", "log"},
		"made logarithmic":  {wideForm("linear"), "log-parameters.0", "", "log"},
		"kept linear":       {wideForm(""), "linear-parameters.0", should, "linear"},
		"with a model":      {with(wideForm(""), "model.kernel", "se"), "refresh", should, ""},
		"fixed":             {with(wideForm(""), "model.fit", "fixed"), "refresh", "", ""},
		"a narrow one":      {with(wideForm(""), "parameters.0.high", "9"), "refresh", "", ""},
		"levels by factors": {with(with(wideForm(""), "candidates", "flow\n1\n3\n9\n27"), "parameters.0.high", "27"), "refresh", "This will be on a logarithmic scale: its 4 values from 1 to 27 are spaced by factors", ""},
	} {
		page := press(c.form, c.do)
		if !strings.Contains(page, c.says) || c.says == "" && strings.Contains(page, "on a logarithmic scale:") {
			t.Errorf("%s: the form does not say %q", name, c.says)
		}
		if !strings.Contains(page, `<option value="`+c.now+`" selected>`+map[string]string{"": "as suits it", "linear": "linear", "log": "logarithmic"}[c.now]) {
			t.Errorf("%s: the scale is not %q", name, c.now)
		}
		if !strings.Contains(page, "half a sentence") || !strings.Contains(page, `value="0,1"`) {
			t.Errorf("%s: what was typed has gone", name)
		}
	}
}

func with(form url.Values, name, value string) url.Values {
	form.Set(name, value)
	return form
}

// TestAScaleIsPutRight: a study whose scale does not suit says so on top, to those who can change it; the way from there leads to a form that is filled in.
func TestAScaleIsPutRight(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	made := func(scale string) string {
		path, _, _ := strings.Cut(post(s, "/studies/new", wideForm(scale)).Want(303).Header.Get("Location"), "?")
		return path
	}
	scaleOf := func(study string) any {
		return s.API("GET", study, nil).Want(200).JSON()["parameters"].([]any)[0].(map[string]any)["scale"]
	}
	page := func(path, token string) string { return string(s.Call("GET", path, token, nil).Want(200).Body) }
	if study := made(""); scaleOf(study) != "log" || strings.Contains(page(study, s.Admin), "on a linear scale") {
		t.Errorf("the scale is %v", scaleOf(study))
	}
	study := made("linear")
	const says = "flow is on a linear scale, but 100 is 1000 times 0.1"
	if scaleOf(study) != "linear" || strings.Count(page(study, s.Admin), says) != 1 {
		t.Errorf("linear as said: %v, said %d times", scaleOf(study), strings.Count(page(study, s.Admin), says))
	}
	if strings.Contains(page(study, s.Token(account.Viewer, "")), says) {
		t.Error("those who cannot change it are told as well")
	}
	if check := post(s, study+"/import", url.Values{"text": {"flow,y\n1,2\n"}, "do": {"check"}}).Want(200); !strings.Contains(string(check.Body), says) {
		t.Error("the check of an import does not say it")
	}
	form := page(study+"/reconfigure?log=flow", s.Admin)
	if !strings.Contains(form, `<option value="log" selected>`) || !strings.Contains(form, "Filled in below, and not changed yet: flow") || !strings.Contains(form, `value="`+says) {
		t.Error("the form is not filled in")
	}
	if strings.Contains(page(study+"/reconfigure?log=none", s.Admin), "Filled in below") {
		t.Error("something is offered for a parameter that is none")
	}
	twice(t, s, study+"/reconfigure", url.Values{"parameters.0.low": {"0.1"}, "parameters.0.high": {"100"}, "parameters.0.scale": {"log"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"20"}, "reason": {"decades"}}).Want(303)
	if scaleOf(study) != "log" || strings.Contains(page(study, s.Admin), says) {
		t.Errorf("after it was put right: %v", scaleOf(study))
	}
}
