package design

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// maxExpressionLength, in characters, limits what the server has to compute for every candidate
// point.
const maxExpressionLength = 1000

// formula is arithmetic on a row of numbers. It is pure, allocates nothing and is safe for
// concurrent use. Where it has no value (division by zero, overflow) the result is not finite.
type formula func(x []float64) float64

// variables are the names that a formula may use, with the indices of their values in the row.
type variables struct {
	index   map[string]int
	choices map[string]bool // parameters that have no number
}

func (v variables) names() []string {
	all := slices.SortedFunc(maps.Keys(v.index), func(a, b string) int { return cmp.Compare(v.index[a], v.index[b]) })
	return slices.DeleteFunc(all, func(name string) bool { return !isIdentifier(name) })
}

// nameInvalid adds to an error of a formula the variable in it whose name is not valid in formulas,
// if any.
func (v variables) nameInvalid(text string, err error) error {
	if err == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v.index)) {
		if !isIdentifier(name) && strings.Contains(text, name) {
			return fmt.Errorf("%w; "+noIdentifier, err, name)
		}
	}
	return err
}

// comparison is one limit on settings: left ≤ right, or left < right if strict.
type comparison struct {
	number      int // in the study's list
	text        string
	left, right formula
	strict      bool
	turned      bool    // it is written with > or >=, right before left
	scale       float64 // size of the numbers that it compares, for its slack
}

// sides returns both values; defined is false if either has none.
func (c comparison) sides(x []float64) (left, right float64, defined bool) {
	left, right = c.left(x), c.right(x)
	return left, right, Finite(left) && Finite(right)
}

// holds reports whether the comparison holds at x, with slack for rounding. It does not hold where
// a side has no value.
func (c comparison) holds(x []float64, slack float64) bool {
	left, right, defined := c.sides(x)
	switch {
	case !defined:
		return false
	case c.strict:
		return left < right
	default:
		return left <= right+slack
	}
}

// explain quotes the comparison with the values of its sides at x.
func (c comparison) explain(x []float64) string {
	left, right, defined := c.sides(x)
	if !defined {
		return fmt.Sprintf("%q, which has no finite value there", c.text)
	}
	sign := "≤"
	if c.turned {
		left, right, sign = right, left, "≥"
	}
	if c.strict {
		sign = strings.NewReplacer("≤", "<", "≥", ">").Replace(sign)
	}
	return fmt.Sprintf("%q: %.10g is not %s %.10g", c.text, left, sign, right)
}

func parseFormula(text string, v variables) (value formula, err error) {
	defer func() { err = v.nameInvalid(text, err) }()
	node, err := parseExpression(text)
	if err != nil {
		return nil, err
	}
	if b, ok := node.(*ast.BinaryNode); ok && slices.Contains(comparisonSigns, b.Operator) {
		return nil, fmt.Errorf("it must be the metric's value, not a comparison; the limit goes in op and threshold")
	}
	return compileNode(node, v)
}

var comparisonSigns = []string{"<=", ">=", "<", ">"}

func parseComparison(text string, v variables) (limit comparison, err error) {
	defer func() { err = v.nameInvalid(text, err) }()
	node, err := parseExpression(text)
	if err != nil {
		return comparison{}, err
	}
	b, ok := node.(*ast.BinaryNode)
	if ok && b.Operator == "==" {
		return comparison{}, operatorError(b.Operator)
	}
	if !ok || !slices.Contains(comparisonSigns, b.Operator) {
		return comparison{}, errors.New(`it must compare two sides with one of <= >= < >, like "a + 2*b <= 70"; give each comparison an entry of its own`)
	}
	left, err := compileNode(b.Left, v)
	if err != nil {
		return comparison{}, err
	}
	right, err := compileNode(b.Right, v)
	if err != nil {
		return comparison{}, err
	}
	turned := b.Operator[0] == '>'
	if turned {
		left, right = right, left
	}
	return comparison{text: text, left: left, right: right, strict: len(b.Operator) == 1, turned: turned}, nil
}

func parseExpression(text string) (ast.Node, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	if n := utf8.RuneCountInString(text); n > maxExpressionLength {
		return nil, fmt.Errorf("it has %d characters; at most %d are allowed", n, maxExpressionLength)
	}
	for _, mark := range []string{"//", "/*"} { // the parser would take a comment: x//2 would be x
		if before, _, found := strings.Cut(text, mark); found {
			return nil, fmt.Errorf("it cannot be read at character %d: %s begins a comment; / alone divides", utf8.RuneCountInString(before)+1, mark)
		}
	}
	tree, err := parser.Parse(text)
	if at, ok := errors.AsType[*file.Error](err); ok {
		return nil, unreadable(text, at)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return tree.Node, nil
}

// unreadable says where a formula cannot be read, instead of the parser's own message.
func unreadable(text string, at *file.Error) error {
	rest, advice := string([]rune(text)[at.From:]), ""
	switch {
	case strings.HasSuffix(at.Message, "EOF"):
		return errors.New("something is missing at its end")
	case strings.HasPrefix(rest, ","):
		advice = "; decimals have a point, as in 0.5"
	case strings.HasPrefix(rest, "="):
		advice = "; " + totalsAdvice
	case strings.HasPrefix(rest, "≤"), strings.HasPrefix(rest, "≥"):
		advice = "; at most is written <=, and at least >="
	}
	return fmt.Errorf("it cannot be read at character %d, from %q on%s", at.From+1, Shorten(rest), advice)
}

// compileNode compiles the kinds of nodes that are arithmetic and refuses all others.
func compileNode(node ast.Node, v variables) (formula, error) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return constant(float64(n.Value)), nil
	case *ast.FloatNode:
		if !Computable(n.Value) {
			return nil, fmt.Errorf("%g is too large; numbers up to 1e100 in size are possible", n.Value)
		}
		return constant(n.Value), nil
	case *ast.IdentifierNode:
		return compileName(n.Value, v)
	case *ast.UnaryNode:
		return compileSign(n, v)
	case *ast.BinaryNode:
		return compileOperator(n, v)
	case *ast.BuiltinNode:
		return compileCall(n.Name, n.Arguments, v)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return compileCall(callee.Value, n.Arguments, v)
		}
	}
	return nil, fmt.Errorf("only numbers, names, + - * / ^, parentheses and the functions %s are understood", functionNames)
}

func constant(value float64) formula { return func([]float64) float64 { return value } }

func compileName(name string, v variables) (formula, error) {
	if i, ok := v.index[name]; ok {
		return func(x []float64) float64 { return x[i] }, nil
	}
	if v.choices[name] {
		return nil, fmt.Errorf("%q is a choice, not a number, and cannot be computed with", name)
	}
	names := v.names()
	if len(names) == 0 {
		return nil, fmt.Errorf("the name %q is unknown; there are no numbers to compute with", name)
	}
	if meant := closest(name, names); meant != "" {
		return nil, fmt.Errorf("the name %q is unknown; did you mean %q?", name, meant)
	}
	return nil, fmt.Errorf("the name %q is unknown; it may use %s", name, listed(names))
}

func compileSign(n *ast.UnaryNode, v variables) (formula, error) {
	of, err := compileNode(n.Node, v)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "-":
		return func(x []float64) float64 { return -of(x) }, nil
	case "+":
		return of, nil
	}
	return nil, operatorError(n.Operator)
}

func compileOperator(n *ast.BinaryNode, v variables) (formula, error) {
	combine, possible := operators[n.Operator]
	if !possible {
		return nil, operatorError(n.Operator)
	}
	a, err := compileNode(n.Left, v)
	if err != nil {
		return nil, err
	}
	b, err := compileNode(n.Right, v)
	if err != nil {
		return nil, err
	}
	return func(x []float64) float64 { return combine(a(x), b(x)) }, nil
}

// totalsAdvice is the advice instead of equating a sum with its total.
const totalsAdvice = "for settings that must add up to a total, make one of them a remainder"

func operatorError(operator string) error {
	switch operator {
	case "**":
		return errors.New(`powers are written with ^, like "x^2"`)
	case "==", "!=":
		return fmt.Errorf("%s is not possible here; %s", operator, totalsAdvice)
	case "and", "or", "&&", "||":
		return fmt.Errorf("%q is not possible here; give each comparison an entry of its own", operator)
	case "<=", ">=", "<", ">":
		return fmt.Errorf("one comparison is possible, with arithmetic on both sides; %s is one too many", operator)
	}
	return fmt.Errorf("%q is not possible here; + - * / ^ are", operator)
}

var operators = map[string]func(a, b float64) float64{
	"+": func(a, b float64) float64 { return a + b },
	"-": func(a, b float64) float64 { return a - b },
	"*": func(a, b float64) float64 { return a * b },
	"/": func(a, b float64) float64 { return a / b },
	"^": math.Pow,
}

var unaryFunctions = map[string]func(float64) float64{
	"abs": math.Abs, "sqrt": math.Sqrt, "exp": math.Exp, "ln": math.Log, "log10": math.Log10,
}

var listFunctions = map[string]func(a, b float64) float64{"min": math.Min, "max": math.Max}

const functionNames = "abs, exp, ln, log10, max, min, sqrt"

func compileCall(name string, arguments []ast.Node, v variables) (formula, error) {
	single, isSingle := unaryFunctions[name]
	combine, isList := listFunctions[name]
	switch {
	case !isSingle && !isList:
		return nil, fmt.Errorf("there is no function %q; there are %s", name, functionNames)
	case isSingle && len(arguments) != 1:
		return nil, fmt.Errorf("%s takes one number, not %d", name, len(arguments))
	case len(arguments) == 0:
		return nil, fmt.Errorf("%s needs at least one number", name)
	}
	of := make([]formula, len(arguments))
	for i, argument := range arguments {
		var err error
		if of[i], err = compileNode(argument, v); err != nil {
			return nil, err
		}
	}
	if isSingle {
		return func(x []float64) float64 { return single(of[0](x)) }, nil
	}
	return func(x []float64) float64 {
		value := of[0](x)
		for _, f := range of[1:] {
			value = combine(value, f(x))
		}
		return value
	}, nil
}
