package static

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// browsers is what scripts may use that none of them declares: what browsers have, and htmx.
const browsers = `AbortController AbortSignal Array Blob Boolean Date Error EventSource Image IntersectionObserver Intl JSON Map Math Number Object Promise RadioNodeList Set String URL
	addEventListener clearTimeout document fetch getComputedStyle history htmx innerHeight localStorage location navigator parseFloat performance print scrollBy sessionStorage setInterval
	setTimeout undefined`

// TestScriptsNameWhatIsThere: every script parses, uses no name that nothing declares and declares
// none that nothing uses; and of the objects that they share (headroom, drafts) they use what those
// have.
func TestScriptsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	paths, err := fs.Glob(files, "*.js")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		texts[path] = Text(path)
	}
	for _, fault := range faults(texts) {
		t.Error(fault)
	}
}

// TestFaultsAreFound breaks a script in each of the ways.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	const shared = "const shared = { say() {} };\nshared.more = 1;\n"
	for text, want := range map[string]string{
		"shared.say(shared.more);":                          "",
		"const { a, b } = shared; shared.say(a, () => b);":  "",
		"shared.say(1;":                                     "expected",
		"shared.say(misspelt);":                             "misspelt is declared nowhere",
		"shared.say((a) => { const b = a; });":              "b is never used",
		"shared.say((a) => 1);":                             "a is never used",
		"function idle() {} shared.say(1);":                 "idle is never used",
		"try { shared.say(1) } catch (e) { shared.say(2) }": "e is never used",
		"for (const one of [1]) shared.say(2);":             "one is never used",
		"shared.say(shared.les);":                           "shared has no les",
		"shared?.sya(1);":                                   "shared has no sya",
	} {
		got := strings.Join(faults(map[string]string{"a.js": shared, "b.js": text}), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
}

// faults are what is wrong with scripts that one page loads.
func faults(texts map[string]string) []string {
	n := &names{members: map[string][]string{}}
	for path, text := range texts {
		script, err := js.Parse(parse.NewInputString(text), js.Options{})
		if err != nil {
			n.fault("%s: %v", path, err)
			continue
		}
		n.script = path
		for _, v := range script.Undeclared {
			n.free = append(n.free, v.String())
		}
		js.Walk(n, script)
	}
	return n.judged()
}

// names are those of several scripts.
type names struct {
	script  string              // that is looked at
	shared  js.VarArray         // declared for all scripts
	free    []string            // used, and declared nowhere in their script
	members map[string][]string // what objects have that are made as {…}
	asked   [][2]string         // an object, and what it was asked for
	faults  []string
}

func (n *names) fault(format string, args ...any) {
	n.faults = append(n.faults, fmt.Sprintf(format, args...))
}

// Enter takes up what a part of a script declares and uses.
func (n *names) Enter(node js.INode) js.IVisitor {
	switch node := node.(type) {
	case *js.BlockStmt:
		n.declared(node.Scope)
	case *js.SwitchStmt:
		n.declared(node.Scope)
	case *js.BindingElement:
		if object, is := node.Default.(*js.ObjectExpr); is {
			n.members[fmt.Sprint(node.Binding)] = keys(object)
		}
	case *js.BinaryExpr:
		if to, is := node.X.(*js.DotExpr); is && node.Op == js.EqToken {
			object := fmt.Sprint(to.X)
			n.members[object] = append(n.members[object], to.Y.String())
		}
	case *js.DotExpr:
		n.asked = append(n.asked, [2]string{fmt.Sprint(node.X), node.Y.String()})
	}
	return n
}

// Exit has nothing to do.
func (*names) Exit(js.INode) {}

func (n *names) declared(s js.Scope) {
	if s.Parent == nil {
		n.shared = append(n.shared, s.Declared...)
		return
	}
	for _, v := range s.Declared {
		if v.Uses < 2 && v.String() != "_" { // the first is the declaration
			n.fault("%s: %s is never used", n.script, v)
		}
	}
}

// keys are the names of what an object is made of.
func keys(object *js.ObjectExpr) (of []string) {
	for _, property := range object.List {
		if method, is := property.Value.(*js.MethodDecl); is {
			of = append(of, method.Name.String())
		} else if property.Name != nil {
			of = append(of, property.Name.String())
		}
	}
	return of
}

// judged are the faults, when all scripts were looked at.
func (n *names) judged() []string {
	there := strings.Fields(browsers)
	for _, v := range n.shared {
		if v.Uses < 2 && !slices.Contains(n.free, v.String()) {
			n.fault("%s is never used", v)
		}
		there = append(there, v.String())
	}
	for _, name := range n.free {
		if !slices.Contains(there, name) {
			n.fault("%s is declared nowhere", name)
		}
	}
	for _, a := range n.asked {
		if slices.ContainsFunc(n.shared, func(v *js.Var) bool { return v.String() == a[0] }) && n.members[a[0]] != nil && !slices.Contains(n.members[a[0]], a[1]) {
			n.fault("%s has no %s", a[0], a[1])
		}
	}
	return n.faults
}
