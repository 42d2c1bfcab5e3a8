package request

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"headroom/internal/memory/memorytest"
)

// TestTheLongestQueryIsReadInLittleMore: a query as long as a header may be takes little more than its bytes.
func TestTheLongestQueryIsReadInLittleMore(t *testing.T) {
	const longest = 64 << 10 // headers, in the program
	var names strings.Builder
	for i := 0; names.Len() < longest-8; i++ {
		fmt.Fprintf(&names, "%x&", i)
	}
	for shape, text := range map[string]string{
		"many names":    names.String(),
		"one name":      strings.Repeat("a&", longest/2),
		"empty":         strings.Repeat("&", longest),
		"many statuses": "status=" + strings.Repeat("a,", longest/2-4),
		"escapes":       "at=" + strings.Repeat("%31", longest/3-1),
	} {
		allocated := memorytest.Allocated(func() {
			if q, err := ReadQuery(&url.URL{RawQuery: text}); err == nil {
				readAll(q)
				_ = q.Err()
			}
		})
		t.Logf("%s: %.1f times its size", shape, float64(allocated)/float64(len(text)))
		if allocated > 64*len(text) {
			t.Errorf("%s: %d bytes took %d", shape, len(text), allocated)
		}
	}
}
