package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"headroom/internal/http/problem"
	"headroom/internal/study/design"
)

// endedEarly is said of a body that did not come whole.
const endedEarly = "The body ended early or could not be read."

// readBody returns the whole body, which must be of one of the given media types; the router limits
// its size. An empty body has no type.
func readBody(r *http.Request, mediaTypes ...string) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, problem.Unread(err, endedEarly)
	}
	if len(body) == 0 {
		return body, nil
	}
	return body, checkMediaType(r.Header, mediaTypes)
}

func checkMediaType(h http.Header, allowed []string) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return problem.New(http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding %q is not understood; send the body as it is.", encoding))
	}
	got, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := parameters["charset"]
	for _, want := range allowed {
		if err == nil && got == want && (charset == "" || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return problem.New(http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Type is %q; it must be %s in UTF-8.", h.Get("Content-Type"), strings.Join(allowed, " or ")))
}

// readJSON reads a request's body into the value that into points to and returns the body's bytes.
// An empty body stands for {}.
func readJSON(r *http.Request, into any) ([]byte, error) {
	body, err := readBody(r, "application/json")
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return body, decodeJSON(r.Context(), []byte("{}"), into)
	}
	return body, decodeJSON(r.Context(), body, into)
}

// decodeJSON is encoding/json made strict: one value in UTF-8, no unknown or differently cased
// fields, no key twice, no null where there must be a value, no number too large to compute with.
// It names faults by their path.
func decodeJSON(ctx context.Context, text []byte, into any) error {
	if !utf8.Valid(text) {
		return problem.Malformed("body", "", "The body is not UTF-8.")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return problem.Malformed("body", "", "The body is not JSON: "+placed(err, text)+".")
	}
	check := jsonCheck{ctx: ctx, read: json.NewDecoder(bytes.NewReader(text))}
	check.read.UseNumber()
	check.value(reflect.TypeOf(into).Elem(), false)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(check.duplicates) > 0 {
		return problem.New(http.StatusBadRequest, "A key stands twice in one object.", check.duplicates...)
	}
	if err := check.faults.Err(); err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return design.NewInvalid("", err.Error(), nil)
	}
	return nil
}

// placed adds line and column to what a JSON syntax error says.
func placed(err error, text []byte) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err.Error()
	}
	before := text[:min(int(syntax.Offset), len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d, column %d: %s", line, max(column, 1), syntax.Error())
}
