package pages_test

import (
	"net/http"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
)

// TestADeviceIsCalledWhatItIs: an iPad says that it is a Mac, unless somebody told it not to.
func TestADeviceIsCalledWhatItIs(t *testing.T) {
	s := sitetest.Beside(t)
	const apple = " AppleWebKit/605.1.15 (KHTML, like Gecko) "
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)" + apple + "Version/17.1 Safari/605.1.15":                              "Safari on a Mac or an iPad",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X)" + apple + "Version/17.1 Mobile/15E148 Safari/604.1":            "Safari on an iPhone",
		"Mozilla/5.0 (iPad; CPU OS 17_1 like Mac OS X)" + apple + "CriOS/119.0.6045.109 Mobile/15E148 Safari/604.1":             "Chrome on an iPad",
		"Mozilla/5.0 (iPad; CPU OS 17_1 like Mac OS X)" + apple + "FxiOS/119.0 Mobile/15E148 Safari/605.1.15":                   "Firefox on an iPad",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)" + apple + "Chrome/119.0.0.0 Safari/537.36":                            "Chrome on a Mac",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0 Safari/537.36 Edg/119.0": "Edge on Windows",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                "Firefox on Linux",
	} {
		signedIn := s.Call("POST", "/sign-in/"+s.Invite(want, account.Operator), "", "", "User-Agent", agent).Want(http.StatusSeeOther)
		cookie := must.Get(http.ParseSetCookie(signedIn.Header.Get("Set-Cookie")))(t)
		page := s.Call("GET", "/account", "", nil, "Cookie", cookie.Name+"="+cookie.Value, "Accept", "text/html").Want(http.StatusOK)
		sitetest.Says(t, string(page.Body), "<td>"+want)
	}
}
