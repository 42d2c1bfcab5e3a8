package study

import "io"

// importRow is one row of an imported table: a round, and what was read in it.
type importRow struct {
	Line     int // in the file, from 1
	Settings Settings
	Arm      int // candidate, −1 without candidates
	Point    []float64
	Readings map[string]Reading // by metric; only told ones
	Known    map[string]float64 // values in columns of known-form or sampled metrics, by metric
	Note     string
}

// parseCSV reads an imported table. The error is *Invalid with every bad cell by line and column (locations like
// "body.lines[12].yield"); unknown columns are a fault unless ignoreUnknown, and are listed either way.
func (c *compiled) parseCSV(file io.Reader, ignoreUnknown bool) (rows []importRow, unknown []string, err error) {
	panic("unwritten")
}

// WriteCSV writes the trials as a table that can be imported again.
func WriteCSV(w io.Writer, d Definition, trials []Trial) error { panic("unwritten") }
