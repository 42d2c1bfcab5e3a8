package templates

// SheetPage is a trial on paper.
type SheetPage struct {
	Page
	Study   StudyHead
	Card    Card
	Lines   []SheetLine
	Address string // of the trial's page
	Code    string // the address as the path of a QR code, Size modules wide
	Size    int
	Printed string
}

// BenchPage is what is waiting, and nothing else.
type BenchPage struct {
	Page
	Study StudyHead
	Next  Next
}

// SheetLine is a metric to be written down; Value is there, with a note on it, when it was saved already or is known beforehand.
type SheetLine struct{ Name, Unit, Limit, Value, Note string }
