// Command generate turns the templates into Go, as “templ generate” does, by templ's own parser and
// generator: templ's command also serves editors and watches files, and takes longer to build than
// all else that a check needs.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/a-h/templ"
	"github.com/a-h/templ/generator"
	parser "github.com/a-h/templ/parser/v2"
)

func main() {
	log.SetFlags(0)
	files, err := filepath.Glob("web/templates/*.templ")
	if err != nil || len(files) == 0 {
		log.Fatal("generate: no web/templates/*.templ: run it at the top of the repository")
	}
	for _, file := range files {
		if err := generate(file); err != nil {
			log.Fatalf("%s: %v", file, err)
		}
	}
}

// generate writes x_templ.go for x.templ.
func generate(file string) error {
	parsed, err := parser.Parse(file)
	if err != nil {
		return err
	}
	var code bytes.Buffer
	if _, err := generator.Generate(parsed, &code, generator.WithVersion(templ.Version()), generator.WithFileName(filepath.ToSlash(file))); err != nil {
		return err
	}
	formatted, err := format.Source(code.Bytes())
	if err != nil {
		return fmt.Errorf("an expression is no Go: %w", err)
	}
	return os.WriteFile(strings.TrimSuffix(file, ".templ")+"_templ.go", formatted, 0o644)
}
