package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// SVG draws the figure on a transparent ground; words and axes follow the reader's light or dark scheme.
func (f Figure) SVG() []byte {
	width, height := f.size()
	s := &vectors{}
	fmt.Fprintf(&s.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12" role="img">`, width, height, width, height)
	s.out.WriteString("\n<style>.ink{stroke:#57606a}text{fill:#24292f}@media(prefers-color-scheme:dark){.ink{stroke:#8b949e}text{fill:#e6edf3}}</style>\n<title>")
	s.escape(f.Title)
	s.out.WriteString("</title>\n")
	f.draw(s)
	s.out.WriteString("</svg>\n")
	return s.out.Bytes()
}

type vectors struct{ out bytes.Buffer }

func (s *vectors) escape(words string) {
	_ = xml.EscapeText(&s.out, []byte(words)) // a buffer never fails
}

func (s *vectors) points(points []point) {
	for i, p := range points {
		if i > 0 {
			s.out.WriteByte(' ')
		}
		fmt.Fprintf(&s.out, "%.1f,%.1f", p.x, p.y)
	}
}

func (s *vectors) line(points []point, colour string, width float64, dashed bool) {
	s.out.WriteString(`<polyline fill="none" points="`)
	s.points(points)
	fmt.Fprintf(&s.out, `" stroke-width="%g"`, width)
	if colour == ink {
		s.out.WriteString(` class="ink"`)
	} else {
		fmt.Fprintf(&s.out, ` stroke="%s" stroke-linejoin="round"`, colour)
	}
	if dashed {
		s.out.WriteString(` stroke-dasharray="5 4"`)
	}
	s.out.WriteString("/>\n")
}

func (s *vectors) area(points []point, colour string) {
	s.out.WriteString(`<polygon points="`)
	s.points(points)
	fmt.Fprintf(&s.out, `" fill="%s" fill-opacity="0.2"/>`+"\n", colour)
}

func (s *vectors) text(at point, words string, anchor int) {
	names := map[int]string{-1: "start", 0: "middle", 1: "end"}
	fmt.Fprintf(&s.out, `<text x="%.1f" y="%.1f" text-anchor="%s">`, at.x, at.y, names[anchor])
	s.escape(words)
	s.out.WriteString("</text>\n")
}
