package pages

import (
	"net/url"
	"testing"

	"headroom/internal/study/design"
)

// TestADeclinedWarpStaysDeclined sends the form of a study's model, which does not show the warp.
func TestADeclinedWarpStaysDeclined(t *testing.T) {
	t.Parallel()
	sent := url.Values{"model.fit": {"fixed"}, "model.outputs": {"standardize"}, "model.inputs": {"unit"}}
	for before, want := range map[string]string{design.WarpNone: design.WarpNone, "yeo_johnson": "", "": ""} {
		d := design.Definition{Model: design.Model{Warp: before}}
		newTyped(sent).fill(&d, true)
		if got := d.Model.Warp; got != want {
			t.Errorf("after %q the form says %q, want %q", before, got, want)
		}
	}
}
