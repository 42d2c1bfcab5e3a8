// Package static holds what browsers fetch besides pages: styles, scripts and the vendored
// libraries listed, with versions and checksums, in vendor/manifest.json.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"strings"
)

//go:embed *.css *.js *.svg vendor
var files embed.FS

// Paths lists the paths of all assets, as URL takes them.
func Paths() iter.Seq[string] { return maps.Keys(stamps) }

// Text is the content of an asset, for a page that loads nothing.
func Text(path string) string {
	content, err := files.ReadFile(path)
	if err != nil {
		panic("static: no asset " + path)
	}
	return string(content)
}

// Icon is the icon as a data URL, for a page that loads nothing.
func Icon() string { return "data:image/svg+xml," + url.PathEscape(Text("icon.svg")) }

// LightColours is the CSS rule with the colours of light pages.
func LightColours() string {
	_, rest, _ := strings.Cut(Text("app.css"), ":root {")
	colours, _, _ := strings.Cut(rest, "}")
	return ":root {" + colours + "}\n"
}

var stamps = stampAll()

// URL is the address of an asset. It changes with the content, so browsers may cache the answer
// forever.
func URL(path string) string {
	stamp, ok := stamps[path]
	if !ok {
		panic("static: no asset " + path)
	}
	return "/static/" + path + "?v=" + stamp
}

// Stamp is the v in an asset's URL with which the answer may be cached, "" if there is no such
// asset.
func Stamp(path string) string { return stamps[path] }

func stampAll() map[string]string {
	stamps := make(map[string]string)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			sum := sha256.Sum256([]byte(Text(path)))
			stamps[path] = hex.EncodeToString(sum[:8])
		}
		return err
	})
	if err != nil {
		panic("static: " + err.Error()) // the embedded tree cannot fail to be read
	}
	return stamps
}
