package view

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// descriptions turns Markdown into HTML. Raw HTML and dangerous addresses are left out by goldmark
// itself, pictures by withoutImages: nothing in a description can reach another host.
var descriptions = goldmark.New(goldmark.WithParserOptions(
	parser.WithASTTransformers(util.Prioritized(withoutImages{}, 100)),
))

// Markdown returns safe HTML.
func Markdown(source string) string {
	var out bytes.Buffer
	if err := descriptions.Convert([]byte(source), &out); err != nil {
		return "" // a bytes.Buffer takes everything, so there is no such error
	}
	return out.String()
}

// withoutImages replaces each picture by its words.
type withoutImages struct{}

func (withoutImages) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	var images []ast.Node
	ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && node.Kind() == ast.KindImage {
			images = append(images, node)
		}
		return ast.WalkContinue, nil
	})
	for _, image := range images {
		for child := image.FirstChild(); child != nil; child = image.FirstChild() {
			image.Parent().InsertBefore(image.Parent(), image, child)
		}
		image.Parent().RemoveChild(image.Parent(), image)
	}
}
