package templates

// Report is a study in one file: the sections of its board, and how it is defined. Nothing in it
// needs a script, another file or a network.
type Report struct {
	Board
	Parameters Table
	Facts      []Fact
	Made, For  string // when the report was made, and for whom
}
