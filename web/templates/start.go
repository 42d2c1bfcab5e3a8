package templates

// Start is what the list of studies offers to begin with.
type Start struct {
	Key      string // Idempotency-Key of the demo
	Examples []Example
	Problems []Option // of the simulator
}

// Example is a template of a study.
type Example struct{ Title, Text, URL string }

// Lab is a study's simulated laboratory; Problem is empty where a real one measures.
type Lab struct {
	Study            StudyHead
	Problem, Summary string
	Noise            []string // what a reading adds, by metric
	Going            bool
	Text             string // how far it is, or how it ended
	Fault            string
}
