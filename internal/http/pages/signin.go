package pages

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/view/words"
	"headroom/web/static"
	"headroom/web/templates"
)

// Home leads to what the caller may see.
func (s *Site) Home(w http.ResponseWriter, r *http.Request) error {
	if who, _ := request.Caller(r); who.StudyID != "" {
		return GoTo(w, r, "/studies/"+who.StudyID)
	}
	return GoTo(w, r, "/studies")
}

// SignIn says how people sign in.
func SignIn(w http.ResponseWriter, r *http.Request, status int) error {
	return show(w, r, status, templates.SignInView(newPage(r, "Sign in", "narrow")))
}

// Switch shows who can come back in this browser by their PIN; wrong is what became of the last
// one.
func Switch(w http.ResponseWriter, r *http.Request, status int, here []account.OnDevice, to string, wrong *account.WrongPIN) error {
	page := templates.SwitchPage{Page: newPage(r, "Who is here?", "narrow"), To: to, Chosen: r.PostFormValue("person")}
	page.Switch = ""
	who, _ := request.Caller(r)
	for _, person := range here {
		page.People = append(page.People, templates.SwitchLine{ID: person.PersonID, Name: person.Name, Initials: initials(person.Name), Now: person.PersonID == who.PersonID, Locked: person.Left == 0})
		if wrong != nil && person.PersonID == page.Chosen && person.Left > 0 {
			page.Error = "That is not the PIN of " + person.Name + ". " + words.Count(person.Left, "try is", "tries are") + " left."
		}
	}
	if wrong != nil && page.Error == "" {
		page.Error = "No PIN works here for this person now. Sign in with a link, and set one anew."
	}
	return show(w, r, status, templates.SwitchView(page))
}

// initials are the first letters of the first and the last word of a name.
func initials(name string) string {
	words := strings.Fields(name)
	letters := ""
	for i, word := range words {
		if first, _ := utf8.DecodeRuneInString(word); i == 0 || i == len(words)-1 {
			letters += string(unicode.ToUpper(first))
		}
	}
	return letters
}

// Link says what a single-use link would do. Only its button uses the link up, since mail programs
// open links unasked.
func Link(w http.ResponseWriter, r *http.Request, link account.Link) error {
	page := templates.LinkPage{Page: newPage(r, "Sign in", "narrow"), Usable: true, Action: r.URL.Path, Heading: "Sign in as " + link.Name, Button: "Sign in"}
	page.Text = "This link works once. Press the button in the browser that you want to use."
	if link.Kind == account.Invite {
		page.Heading = "Welcome, " + link.Name
		page.Text = link.By + " invited you to this Headroom as " + string(link.Role) + ". This link works once: press the button in the browser that you want to use."
		page.Button = "Join"
	}
	return show(w, r, http.StatusOK, templates.LinkView(page))
}

// DeadLink says what to do about a link that does not work any more; err is why.
func DeadLink(w http.ResponseWriter, r *http.Request, err error) error {
	page := templates.LinkPage{Page: newPage(r, "Sign in", "narrow")}
	switch {
	case errors.Is(err, account.ErrUsed):
		page.Heading, page.Text = "This link has been used", "A sign-in link works once, and this one has been used already."
	case errors.Is(err, account.ErrExpired):
		page.Heading, page.Text = "This link is too old", "Its time ran out, or somebody revoked it."
	case errors.Is(err, account.ErrNoCredentials):
		page.Heading, page.Text = "This link is not known here", "Perhaps a part of it is missing: it has to be copied whole."
	case errors.Is(err, account.ErrNameTaken):
		page.Heading, page.Text = "Somebody has that name already", "The name of this invite was taken meanwhile. Ask for an invite under another name."
	default:
		return err
	}
	return show(w, r, http.StatusUnauthorized, templates.LinkView(page))
}

// asset is something served to many, plain and compressed.
type asset struct{ plain, packed []byte }

// assets are compressed once, when the first is asked for.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	for name := range static.Paths() {
		plain := []byte(static.Text(name))
		all[name] = asset{plain, packed(plain)}
	}
	return all
})

func packed(plain []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(plain) // a bytes.Buffer takes everything
	w.Close()
	return out.Bytes()
}

// StaticFile serves an asset. Its address names its content, so browsers may keep it for good.
func (s *Site) StaticFile(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "*")
	file, there := assets()[name]
	if !there {
		return problem.NoSuchThing
	}
	h := w.Header()
	h.Set("Content-Type", cmp.Or(mediaTypes[path.Ext(name)], mime.TypeByExtension(path.Ext(name))))
	h.Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") == static.Stamp(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	return file.write(w, r)
}

// write answers with the form that the browser takes.
func (a asset) write(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept-Encoding")
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = a.packed
	}
	_, err := w.Write(body)
	return err
}

// mediaTypes are not asked of the operating system, whose table may say anything.
var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json",
}
