package server

// operation describes a route of the API in its OpenAPI document.
type operation struct {
	Summary string
	Tag     string
	Query   []queryParameter
	// Body is a value of the type that the body is read into, nil when there is none. BodyType is its media type when that is not JSON.
	Body         any
	BodyType     string
	BodyOptional bool
	// Status and Answer are those of success; AnswerType is the media type when that is not JSON.
	Status     int
	Answer     any
	AnswerType string
	// Writes marks what changes something: it takes Idempotency-Key.
	Writes bool
}

// queryParameter describes one query parameter.
type queryParameter struct {
	Name    string
	Meaning string
	Type    any
}
