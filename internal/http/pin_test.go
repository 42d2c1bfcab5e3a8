package http_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
)

// browser keeps the cookies that a browser would.
type browser struct {
	t       *testing.T
	s       *sitetest.Site
	cookies map[string]string
}

// send makes a request as the browser, with a form when there is one.
func (b *browser) send(method, path string, form url.Values) sitetest.Answer {
	b.t.Helper()
	var sent []string
	for name, value := range b.cookies {
		sent = append(sent, name+"="+value)
	}
	answer := b.s.Call(method, path, "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "Cookie", strings.Join(sent, "; "))
	for _, line := range answer.Header.Values("Set-Cookie") {
		cookie, err := http.ParseSetCookie(line)
		if err != nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
			b.t.Errorf("cookie %q: %v", line, err)
		}
		b.cookies[cookie.Name] = cookie.Value
	}
	return answer
}

// browserOf is a new browser in which a new person has signed in.
func browserOf(t *testing.T, s *sitetest.Site, name string, role account.Role) *browser {
	t.Helper()
	_, secret, err := s.DB.Accounts.CreateInvite(t.Context(), account.Identity{Name: "Setup", Role: account.Admin}, account.NewInvite{Name: name, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, s, map[string]string{}}
	b.send("POST", "/sign-in/"+secret, nil).Want(303)
	return b
}

// id is the person who is signed in.
func (b *browser) id() string {
	b.t.Helper()
	who, err := b.s.DB.Accounts.Authenticate(b.t.Context(), b.cookies["headroom"])
	if err != nil {
		b.t.Fatal(err)
	}
	return who.PersonID
}

func TestPINOpensItsBrowserAndNoMore(t *testing.T) {
	s := sitetest.Beside(t)
	tablet := browserOf(t, s, "Ada", account.Admin)
	ada, left := tablet.id(), tablet.cookies["headroom"]
	tablet.send("GET", "/people", nil).Want(200)
	tablet.send("POST", "/account/pin", url.Values{"pin": {"1234"}}).Want(422)
	tablet.send("POST", "/account/pin", url.Values{"pin": {"4711"}}).Want(303)
	pin := url.Values{"person": {ada}, "pin": {"4711"}, "to": {"/studies/7/bench"}}

	elsewhere := &browser{t, s, map[string]string{}}
	elsewhere.send("POST", "/switch", pin).Want(422)
	elsewhere.cookies["headroom-device"] = account.NewSecret()
	elsewhere.send("POST", "/switch", pin).Want(422)
	if elsewhere.cookies["headroom"] != "" {
		t.Fatal("a PIN signed in on another device")
	}

	if to := tablet.send("POST", "/switch", pin).Want(303).Header.Get("Location"); to != "/studies/7/bench" {
		t.Errorf("the way back is %q", to)
	}
	if tablet.id() != ada || tablet.cookies["headroom"] == left {
		t.Fatal("the PIN did not begin a session")
	}
	(&browser{t, s, map[string]string{"headroom": left}}).send("GET", "/studies", nil).Want(401)
	// Four digits are no admin, and lead nowhere else.
	tablet.send("GET", "/studies", nil).Want(200)
	tablet.send("GET", "/people", nil).Want(403)
	tablet.send("POST", "/account/link", nil).Want(403)
	tablet.send("POST", "/account/pin", url.Values{"pin": {"2047"}}).Want(403)
	for _, to := range []string{"https://evil.test", "//evil.test", `/\evil.test`, "/sign-out", ""} {
		pin.Set("to", to)
		if got := tablet.send("POST", "/switch", pin).Want(303).Header.Get("Location"); got != "/studies" {
			t.Errorf("%q leads to %q", to, got)
		}
	}
	tablet.send("POST", "/account/pin/forget", nil).Want(303)
	tablet.send("POST", "/switch", pin).Want(422)
	s.Call("POST", "/account/pin", s.Admin, "pin=4711", "Content-Type", "application/x-www-form-urlencoded").Want(403)
}

// What a page asks for, and a form sends, in another's name than it was made for, is refused.
func TestAPageIsOfWhomItWasMadeFor(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", `{"count": 1}`).Want(201)
	ada, bo := browserOf(t, s, "Ada", account.Operator), browserOf(t, s, "Bo", account.Operator)
	header := func(of string) sitetest.Answer {
		return s.Call("GET", "/studies/"+id+"/parts/next", "", nil, "Cookie", "headroom="+bo.cookies["headroom"], "X-Page-Of", of, "HX-Request", "true")
	}
	header("person:" + bo.id()).Want(200)
	if got := header("person:" + ada.id()).Want(409).Header.Get("HX-Refresh"); got != "true" {
		t.Errorf("the page of another is not loaded again: %q", got)
	}
	for _, form := range []struct {
		path string
		url.Values
	}{
		{"/trials/1/tell", url.Values{"metric.0": {"71"}}}, {"/trials/1/close", url.Values{"kind": {"abandoned"}, "reason": {"no time"}}}, {"/trials/1/replicate", url.Values{}},
		{"/ask", url.Values{"count": {"1"}}}, {"/own", url.Values{"used.0": {"30"}, "used.1": {"A"}}}, {"/edit", url.Values{"name": {"Other"}, "state": {"open"}}},
	} {
		form.Set("key", "person:"+ada.id()+" KEY")
		page := bo.send("POST", "/studies/"+id+form.path, form.Values).Want(422)
		page.Says("opened under another sign-in, and you are signed in as Bo")
	}
	if version := s.API("GET", "/studies/"+id, nil).Want(200).JSON()["version"]; version != 2.0 {
		t.Errorf("version %v: something was stored in another's name", version)
	}
}
