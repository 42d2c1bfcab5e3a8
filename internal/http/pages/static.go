package pages

import (
	"bytes"
	"compress/gzip"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"headroom/internal/http/problem"
	"headroom/web/static"
)

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
	h.Set("Content-Type", mediaType(name))
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

// mediaType does not ask the operating system, whose table may say anything.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}
