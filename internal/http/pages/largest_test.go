package pages

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"headroom/internal/http/request"
	"headroom/internal/memory/memorytest"
	"headroom/internal/study/design"
)

// TestTheLargestFormIsReadInLittleMore: whatever a form of the largest size holds, reading it takes little more than its bytes; so do the sheets in it.
func TestTheLargestFormIsReadInLittleMore(t *testing.T) {
	upTo := func(before, text string) string {
		return before + strings.Repeat(text, (request.MaxBody-len(before))/len(text))
	}
	var names, parts bytes.Buffer
	for i := 0; names.Len() < request.MaxBody-20; i++ {
		fmt.Fprintf(&names, "%x=1&", i)
	}
	form := multipart.NewWriter(&parts)
	for i := 0; parts.Len() < request.MaxBody-200; i++ {
		form.WriteField(fmt.Sprintf("%x", i), "1")
	}
	form.Close()
	check := func(shape string, size int, read func() error) {
		var err error
		allocated := memorytest.Allocated(func() { err = read() })
		t.Logf("%s: %.1f times its size, %.200v", shape, float64(allocated)/float64(size), err)
		if allocated > 20*size {
			t.Errorf("%s: %d bytes took %d", shape, size, allocated)
		}
	}
	for shape, sent := range map[string]struct{ kind, text string }{
		"many names":   {"application/x-www-form-urlencoded", names.String()},
		"one name":     {"application/x-www-form-urlencoded", upTo("", "a=1&")},
		"a long value": {"application/x-www-form-urlencoded", upTo("text=", "1")},
		"escapes":      {"application/x-www-form-urlencoded", upTo("text=", "%00")},
		"many parts":   {form.FormDataContentType(), parts.String()},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(sent.text))
		r.Header.Set("Content-Type", sent.kind)
		check(shape, len(sent.text), func() error { _, err := readForm(r); return err })
	}
	for shape, text := range map[string]string{
		"a sheet of commas":               upTo("", "a,"),
		"a sheet of semicolons":           upTo("", "a;"),
		"a sheet of quotes":               upTo("", `"a"b",`),
		"a sheet whose record goes on":    upTo("", "a,\"\n\","),
		"a sheet of rows":                 upTo("a\n", "1\n"),
		"a sheet of empty rows":           upTo("a,b\n", ",\n"),
		"a sheet with a row that is long": upTo("a,b\n", "1,"),
	} {
		check(shape, len(text), func() error {
			s, err := readSheet(text, design.Marks{}, "")
			if err == nil {
				s.candidates()
			}
			return err
		})
	}
}
