package view

import (
	"strings"
	"testing"
)

func TestDescriptionsReachNoOtherHost(t *testing.T) {
	t.Parallel()
	got := Markdown("![logo **x**](https://evil.example/a.png) <script>alert(1)</script> [link](javascript:alert(1))")
	for _, bad := range []string{"<img", "<script", "javascript:", "evil.example"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q holds %q", got, bad)
		}
	}
}
