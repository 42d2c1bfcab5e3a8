package e2e

import (
	"os"
	"testing"
)

// TestASavedPictureStandsAlone: it carries the study's name, the moment, the head of the ledger and its whole caption.
func TestASavedPictureStandsAlone(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Picture of <b>this</b> study"))
	site.play(t, id, 8)
	var made struct {
		Hash string `json:"hash"`
	}
	site.api(t, "GET", "/studies/"+id, nil, &made)
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	p.open("/studies/" + id)
	p.drawn()
	for _, chart := range []string{"chart-progress", "chart-slices"} {
		ask[any](p, `window.pic = ""; Plotly.downloadImage = (figure, options) => Plotly.toImage(figure, options).then((made) => { window.pic = made; }); 0`)
		p.click(`[data-save="` + chart + `"][data-format="svg"]`)
		p.until("the picture", `window.pic`)
		caption := ask[string](p, `JSON.parse(document.getElementById("`+chart+`-data").textContent).caption`)
		foot := ask[string](p, `JSON.parse(document.getElementById("`+chart+`-data").textContent).foot`)
		squeezed := `.replace(/\s+/g, "")`
		text := `new DOMParser().parseFromString(decodeURIComponent(window.pic.slice(window.pic.indexOf(",") + 1)), "image/svg+xml").documentElement.textContent` + squeezed
		for _, part := range []string{caption, foot, "Picture of <b>this</b> study"} {
			if !ask[bool](p, text+`.includes(`+quoted(part)+squeezed+`)`) {
				t.Errorf("%s saved lacks %q", chart, part)
			}
		}
		if os.Getenv("HEADROOM_SCREENSHOTS") != "" {
			picture := p.another()
			picture.open("/studies")
			ask[any](picture, `document.body.innerHTML = "<img alt='' style='background:#fff' src=\"" + `+quoted(ask[string](p, "window.pic"))+` + "\">"; 0`)
			picture.shot("saved-" + chart)
		}
	}
	if len(made.Hash) != 64 || !ask[bool](p, `JSON.parse(document.getElementById("chart-progress-data").textContent).foot.includes(`+quoted(made.Hash)+`)`) {
		t.Error("the foot lacks the head of the ledger")
	}
}
