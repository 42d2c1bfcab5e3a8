package lab

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/files"
)

// csvOf is rows as CSV.
func csvOf(rows [][]string) []byte {
	var out bytes.Buffer
	_ = csv.NewWriter(&out).WriteAll(rows) // a buffer never fails
	return out.Bytes()
}

// aligned is rows as text, so many spaces between them: the first column flush left and the others
// right. In the first row a heading takes the room of those without one behind it.
func aligned(gap int, rows [][]string) []byte {
	widths := make([]int, len(rows[0]))
	for n, row := range rows {
		for i, cell := range row {
			if n > 0 || i+1 == len(row) || row[i+1] != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell)+gap)
			}
		}
	}
	var out bytes.Buffer
	for n, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0]-gap, row[0])
		for i := 1; i < len(row); i++ {
			cell, width := row[i], widths[i]
			for ; n == 0 && i+1 < len(row) && row[i+1] == ""; i++ {
				width += widths[i+1]
			}
			line += fmt.Sprintf("%*s", width, cell)
		}
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
	}
	return out.Bytes()
}

// markdown is rows as a table in Markdown, the first of them its heading.
func markdown(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		line := "|"
		for _, cell := range row {
			line += strings.TrimRight(" "+cell, " ") + " |"
		}
		fmt.Fprintln(&out, line)
		if i == 0 {
			fmt.Fprintln(&out, strings.Repeat("|---", len(row))+"|")
		}
	}
	return out.String()
}

// nothing stands in tables where a figure has no meaning.
const nothing = "–"

func indented(object any) ([]byte, error) {
	content, err := json.MarshalIndent(object, "", "  ")
	return append(content, '\n'), err
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// written is a number of a quantity, nothing of one that has no meaning.
func written(v float64, digits int) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

func finiteOnly(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// plusMinus is nothing for a single game, which has no error.
func plusMinus(deviation float64) string {
	if math.IsNaN(deviation) {
		return ""
	}
	return fmt.Sprintf(" ± %.2g", deviation)
}

// Write writes a file whole or not at all, for everybody to read.
func Write(path string, content []byte) error {
	err := files.CreateWhole(path, func(draft io.Writer) error { _, err := draft.Write(content); return err })
	return errors.Join(err, os.Chmod(path, 0o644))
}
