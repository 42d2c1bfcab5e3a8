package main

import (
	"go/ast"
	"go/parser"
	source "go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"headroom/internal/must"
)

// layers says which of our packages each of ours may import, most special first. A path stands for
// itself and all below it.
var layers = []struct {
	path string
	may  []string
}{
	{"headroom/internal/optimizer", []string{"headroom/internal/optimizer"}},
	{"headroom/internal/account", nil},
	{"headroom/internal/study/design", []string{"headroom/internal/study/design", "headroom/internal/optimizer"}},
	{"headroom/internal/study/ledger", []string{"headroom/internal/study/ledger", "headroom/internal/study/design", "headroom/internal/optimizer", "headroom/internal/memory"}},
	{"headroom/internal/files", nil},
	{"headroom/internal/lists", nil}, // everybody may import it
	{"headroom/internal/memory", nil},
	{"headroom/internal/must", nil},
	{"headroom/internal/mutation", nil},
	{"headroom/internal/testwait", nil},
	{"headroom/internal/scheduler", []string{"headroom/internal/optimizer/checkpoint"}},
	{"headroom/internal/supervisor", nil},
	{"headroom/internal/derived", []string{"headroom/internal/memory", "headroom/internal/scheduler", "headroom/internal/supervisor"}},
	{"headroom/internal/study", []string{"headroom/internal/study", "headroom/internal/optimizer", "headroom/internal/derived", "headroom/internal/scheduler", "headroom/internal/supervisor", "headroom/internal/memory"}},
	{"headroom/internal/lab/problems", []string{"headroom/internal/optimizer"}},
	{"headroom/internal/lab", []string{"headroom/internal/lab", "headroom/internal/study", "headroom/internal/optimizer", "headroom/internal/files", "headroom/internal/view/chart"}},
	{"headroom/migrations", nil},
	{"headroom/internal/db/dbtest", []string{"headroom/internal/db", "headroom/internal/must", "headroom/internal/testwait"}},
	{"headroom/internal/db", []string{"headroom/internal/db", "headroom/internal/study", "headroom/internal/account", "headroom/internal/files", "headroom/internal/scheduler", "headroom/migrations"}},
	{"headroom/web/static", nil},
	{"headroom/web/templates", []string{"headroom/web", "headroom/internal/view/chart", "headroom/internal/study", "headroom/internal/account"}},
	{"headroom/internal/view/chart", []string{"headroom/internal/view/words", "headroom/web/static", "headroom/internal/study/design"}},
	{"headroom/internal/view/words", []string{"headroom/internal/study/design"}},
	{"headroom/internal/view", []string{"headroom/internal/view", "headroom/web/templates", "headroom/internal/study", "headroom/internal/account", "headroom/internal/optimizer"}},
	{"headroom/internal/http/problem", []string{"headroom/internal/study", "headroom/internal/account"}},
	{"headroom/internal/http/request", []string{"headroom/internal/http/problem", "headroom/internal/study", "headroom/internal/account"}},
	{"headroom/internal/http/api", []string{"headroom/internal/http/problem", "headroom/internal/http/request", "headroom/web/static", "headroom/internal/study", "headroom/internal/account", "headroom/internal/optimizer"}},
	{"headroom/internal/http/forms", []string{"headroom/internal/http/problem", "headroom/internal/http/request", "headroom/web/templates", "headroom/internal/study", "headroom/internal/account", "headroom/internal/optimizer", "headroom/internal/view"}},
	{"headroom/internal/http/pages", []string{"headroom/internal/http/forms", "headroom/internal/http/problem", "headroom/internal/http/request", "headroom/web", "headroom/internal/study", "headroom/internal/account", "headroom/internal/optimizer", "headroom/internal/view", "headroom/internal/derived"}},
	{"headroom/internal/http/sitetest", []string{"headroom/internal"}}, // the whole site, for tests
	{"headroom/internal/http", []string{"headroom/internal/http/api", "headroom/internal/http/pages", "headroom/internal/http/problem", "headroom/internal/http/request", "headroom/internal/study", "headroom/internal/scheduler", "headroom/internal/account"}},
	{"headroom/cmd", []string{"headroom"}},
	{"headroom/e2e", nil}, // its tests alone need others
}

// impure are packages by which requests, time limits, chance or the world outside come in.
var impure = []string{"context", "net/http", "os", "crypto/rand", "math/rand", "math/rand/v2", "database/sql", "sync"}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-f", `{{$from := .ImportPath}}{{range .Imports}}{{$from}} {{.}}{{"\n"}}{{end}}`, "headroom/...")
	list.Dir = "../.."
	said := must.Get(list.Output())(t)
	ours := 0
	for line := range strings.Lines(string(said)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		if within(from, "headroom/internal/view") && slices.Contains(impure, to) {
			t.Errorf("%s is pure and must not import %s", from, to)
		}
		if !within(to, "headroom") {
			continue
		}
		ours++
		if !allowed(t, from, to) {
			t.Errorf("%s must not import %s", from, to)
		}
	}
	if ours < 10 {
		t.Fatalf("only %d imports were looked at", ours)
	}
}

func allowed(t *testing.T, from, to string) bool {
	if to == "headroom/internal/lists" {
		return true
	}
	for _, layer := range layers {
		if !within(from, layer.path) {
			continue
		}
		for _, may := range layer.may {
			if within(to, may) {
				return true
			}
		}
		return false
	}
	t.Errorf("%s has no place in the table", from)
	return true
}

// within says whether path is folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func TestImportTableForbids(t *testing.T) {
	t.Parallel()
	for from, tos := range map[string][]string{
		"headroom/internal/optimizer/gp": {"headroom/internal/study", "headroom/internal/study/design"},
		"headroom/internal/study/design": {"headroom/internal/study", "headroom/internal/study/ledger", "headroom/internal/lab/problems"},
		"headroom/internal/study/ledger": {"headroom/internal/study"},
		"headroom/internal/study":        {"headroom/internal/db", "headroom/internal/lab"},
		"headroom/internal/lab/problems": {"headroom/internal/lab", "headroom/internal/study/design"},
		"headroom/internal/http":         {"headroom/internal/db"},
		"headroom/internal/http/api":     {"headroom/web/templates", "headroom/internal/http/pages"},
		"headroom/internal/http/pages":   {"headroom/internal/http/api", "headroom/internal/http"},
		"headroom/internal/http/forms":   {"headroom/internal/http/pages", "headroom/internal/derived"},
		"headroom/internal/http/request": {"headroom/internal/http"},
		"headroom/internal/db":           {"headroom/internal/http"},
		"headroom/internal/account":      {"headroom/internal/study", "headroom/internal/study/design"},
		"headroom/web/templates":         {"headroom/internal/http", "headroom/internal/view"},
		"headroom/internal/view":         {"headroom/internal/http/pages", "headroom/internal/http/request", "headroom/internal/db"},
	} {
		for _, to := range tos {
			if allowed(t, from, to) {
				t.Errorf("%s may import %s", from, to)
			}
		}
	}
}

// TestUnwatchedPackagesShareNothing: what make test builds without the race detector starts no
// goroutine, locks nothing and counts nothing for several.
func TestUnwatchedPackagesShareNothing(t *testing.T) {
	t.Parallel()
	rules := must.Get(os.ReadFile("../../Makefile"))(t)
	lists := regexp.MustCompile(`(?m)^(?:UNWATCHED|ALONE) := .*\$\(addprefix headroom/(.+/),(.+)\)$`).FindAllSubmatch(rules, -1)
	if len(lists) != 2 {
		t.Fatal("the Makefile does not say what is not watched")
	}
	var unwatched []string
	for _, list := range lists {
		for name := range strings.FieldsSeq(string(list[2])) {
			unwatched = append(unwatched, string(list[1])+name)
		}
	}
	for _, name := range unwatched {
		files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(name, err)
		}
		for _, file := range files {
			parsed := must.Get(parser.ParseFile(source.NewFileSet(), file, nil, 0))(t)
			for _, imported := range parsed.Imports {
				if path := strings.Trim(imported.Path.Value, `"`); within(path, "sync") || path == "headroom/internal/optimizer/cores" {
					t.Errorf("%s imports %s", file, path)
				}
			}
			for node := range ast.Preorder(parsed) {
				if _, starts := node.(*ast.GoStmt); starts {
					t.Errorf("%s starts a goroutine", file)
				}
			}
		}
	}
}

// TestUnwatchedFunctionsShareNothing: a function that the race detector is told to pass over
// (go:norace), since it adds products up and does nothing else, starts and sends nothing, and calls
// of other packages math alone.
func TestUnwatchedFunctionsShareNothing(t *testing.T) {
	t.Parallel()
	unwatched := 0
	err := filepath.WalkDir("../../internal", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		parsed, err := parser.ParseFile(source.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, declared := range parsed.Decls {
			function, is := declared.(*ast.FuncDecl)
			if !is || function.Doc == nil || !slices.ContainsFunc(function.Doc.List, func(c *ast.Comment) bool { return c.Text == "//go:norace" }) {
				continue
			}
			unwatched++
			for node := range ast.Preorder(function.Body) {
				switch node := node.(type) {
				case *ast.GoStmt, *ast.SendStmt, *ast.SelectStmt:
					t.Errorf("%s: %s starts or sends something", file, function.Name)
				case *ast.SelectorExpr:
					if from, is := node.X.(*ast.Ident); is && from.Obj == nil && from.Name != "math" {
						t.Errorf("%s: %s uses %s.%s", file, function.Name, from.Name, node.Sel)
					}
				}
			}
		}
		return nil
	})
	if err != nil || unwatched == 0 {
		t.Fatal(unwatched, err)
	}
}
