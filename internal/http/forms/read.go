package forms

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	localised "golang.org/x/text/number"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study/design"
)

const unreadable = "The form cannot be read."

// Read reads a posted form.
func Read(r *http.Request) (*Typed, error) {
	parse := r.ParseForm
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		parse = func() error { return r.ParseMultipartForm(request.MaxBody) }
	}
	if err := parse(); err != nil {
		return nil, problem.Unread(err, unreadable)
	}
	return Of(r.PostForm, marksOf(r)), nil
}

// marksOf are the marks that whoever sent the request is known to write numbers with: pages show
// decimal points, and where the reader's language has decimal commas, these.
func marksOf(r *http.Request) design.Marks {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err == nil && len(tags) > 0 && strings.Contains(message.NewPrinter(tags[0]).Sprint(localised.Decimal(0.5)), ",") {
		return design.Marks{Decimal: ','}
	}
	return design.Marks{Decimal: '.'}
}

// Upload is the file that was sent, "" where none was, or an empty one.
func Upload(r *http.Request) (string, error) {
	file, _, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return "", nil
	}
	if err != nil {
		return "", problem.Unread(err, unreadable)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return "", problem.Unread(err, unreadable)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(content), "\ufffd"), "\ufeff"), nil
}
