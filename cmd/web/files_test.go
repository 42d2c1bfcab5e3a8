package main

import (
	"errors"
	"go/ast"
	"go/parser"
	source "go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
)

// floors are the files of the larger packages, from the ground up: each knows those before it, and
// of those after it what stands in except, a name or two each.
var floors = []struct {
	path   string
	files  []string
	except []string
}{
	{"internal/optimizer", []string{
		"lists", "optimizer", "space", "history", "models", "evidence", "regressions", "view", "estimate", "posterior", "incumbent", "works",
		"acquisition", "ascend", "drawing", "search", "price", "shift", "account", "suggest", "replay", "hyperparameters", "paths", "gain",
	}, []string{
		"evidence -> view: view", "view -> estimate: estimate", "view -> estimate: outcome", "view -> incumbent: findPriorMeans", "view -> incumbent: knownMeans",
		"view -> incumbent: incumbent", "view -> incumbent: shortlist", "works -> acquisition: decision", "acquisition -> suggest: designPoint",
	}},
	{"internal/study", []string{
		"store", "models", "service", "tell", "trust", "explain", "ask", "readout", "slices", "table", "gain", "change", "simulate", "verify", "compare", "results", "import", "undo",
	}, []string{
		"models -> readout: StateOf", "store -> verify: Verified", "tell -> table: maxRows", "trust -> readout: Readout",
		"verify -> compare: comparison", "verify -> compare: run",
	}},
	{"internal/study/ledger", []string{"canonical", "event", "snapshot", "doubt", "chain", "fold", "bundle"}, []string{"snapshot -> doubt: Doubted", "snapshot -> doubt: Range"}},
	{"internal/view", []string{
		"study", "facts", "ledger", "marks", "sums", "trust", "cards", "slices", "map", "progress", "verdict", "trials", "board",
	}, nil},
	{"internal/http/api", []string{"decode", "operations", "accounts", "trials", "studies", "openapi"}, nil},
}

func TestFilesKnowThoseBelowThem(t *testing.T) {
	t.Parallel()
	for _, floor := range floors {
		known, files := ascending(t, filepath.Join("../..", floor.path))
		slices.Sort(files)
		if listed := slices.Sorted(slices.Values(floor.files)); !slices.Equal(files, listed) {
			t.Errorf("%s has the files %v, and %v are listed", floor.path, files, listed)
			continue
		}
		up := lists.Pick(known, func(use use) (string, bool) {
			return use.by + " -> " + use.of + ": " + use.name, slices.Index(floor.files, use.of) > slices.Index(floor.files, use.by)
		})
		slices.Sort(up)
		if up = slices.Compact(up); !slices.Equal(up, slices.Sorted(slices.Values(floor.except))) {
			t.Errorf("%s: what files use of those above them is %q, and %q stands here", floor.path, up, floor.except)
		}
	}
}

// use is that a file uses what another declares.
type use struct{ by, of, name string }

// ascending are the files of a package, without tests, and what they use of each other: its
// functions, methods, types and values. What is imported is not looked at, so that what stands in
// the brackets of somebody else's generic type is not seen.
func ascending(t *testing.T, folder string) (uses []use, files []string) {
	t.Helper()
	positions := source.NewFileSet()
	named := func(at source.Pos) string {
		return strings.TrimSuffix(filepath.Base(positions.Position(at).Filename), ".go")
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	var syntax []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(positions, path, nil, parser.SkipObjectResolution))(t)
		syntax, files = append(syntax, file), append(files, named(file.Pos()))
	}
	found := types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, _ := (&types.Config{Importer: stranger{}, Error: func(error) {}}).Check(folder, positions, syntax, &found)
	for name, object := range found.Uses {
		function, isFunction := object.(*types.Func)
		if object.Pkg() != checked || object.Parent() != checked.Scope() && !(isFunction && function.Signature().Recv() != nil) {
			continue
		}
		if by, of := named(name.Pos()), named(object.Pos()); by != of {
			uses = append(uses, use{by, of, object.Name()})
		}
	}
	return uses, files
}

// stranger knows no package.
type stranger struct{}

func (stranger) Import(string) (*types.Package, error) { return nil, errors.New("not looked at") }
