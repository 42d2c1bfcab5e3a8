package templates

// Report is a study in one file: nothing in it needs a script, another file or a network.
type Report struct {
	Name, Description string // Description is HTML made from Markdown, safe
	State             string
	Notes             []string
	Entry, Entries    int64  // of the ledger: the one reported, and the last
	Moment            string // of Entry, exactly
	Event             string // what Entry was
	Hash              string // of Entry
	Made, For         string // when the report was made, and for whom
	Verification      []string
	Verdict           ReportVerdict
	Limits            Table
	Parameters        Table
	Facts             []Fact
	Figures           []ReportFigure
	FiguresNote       string
	Trials            Table
	TrialsNote        string
	Amends            Table
	Ledger            Table
	LedgerNote        string
	Trust             []string // of the model's bands, and of a drift
	Theorem           *Theorem // nil where no bound is drawn
}

// ReportVerdict is the answer of the study.
type ReportVerdict struct {
	Heading  string
	Settings []Setting
	Expected Table
	Words    []string
}

// ReportFigure is a chart that is drawn already.
type ReportFigure struct {
	ID, Title, Chart, Caption string
	Table                     Table // the numbers behind it; without rows where another table has them
}
