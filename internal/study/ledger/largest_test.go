package ledger

import (
	"fmt"
	"strings"
	"testing"

	"headroom/internal/memory/memorytest"
)

// TestLargeMembersAreReadInLittleMore: whatever a bundle holds in a member of the largest size,
// reading it takes little more than its bytes.
func TestLargeMembersAreReadInLittleMore(t *testing.T) {
	const room = largestMember / 16 // who keeps too much of it does so of this too, and the race detector has less to watch
	var names strings.Builder
	for i := 0; names.Len() < room-20; i++ {
		fmt.Fprintf(&names, `"%x":1,`, i)
	}
	for shape, text := range map[string]string{
		"an event with a list":     `"events":[{"seq":1,"kind":"told","by":"","at":"2026-05-01T14:02:00Z","hash":"","data":[` + strings.Repeat("1,", room/2) + "1]}]",
		"an event with an object":  `"events":[{"seq":1,"kind":"told","by":"","at":"2026-05-01T14:02:00Z","hash":"","data":{` + names.String() + `"":1}}]`,
		"a definition with a list": `"definition":{"recorded_metrics":[` + strings.Repeat("{},", room/3) + "{}]}",
	} {
		bundle := `{"format":"` + BundleFormat + `",` + text + "}"
		var err error
		allocated := memorytest.Allocated(func() { _, err = readAll(strings.NewReader(bundle)) })
		t.Logf("%s: %.1f times its size, %v", shape, float64(allocated)/float64(len(bundle)), err)
		if err == nil || !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "longer than") || allocated > 10*len(bundle) {
			t.Errorf("%s: %d bytes took %d: %v", shape, len(bundle), allocated, err)
		}
	}
}
