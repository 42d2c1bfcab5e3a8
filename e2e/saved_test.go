package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"headroom/internal/must"
)

// TestASavedPictureStandsAlone: it carries the study's name, the moment, the head of the ledger and
// its whole caption.
func TestASavedPictureStandsAlone(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Picture of <b>this</b> study"))
	site.play(t, id, 8)
	var made struct {
		Hash string `json:"hash"`
	}
	site.api(t, "GET", "/studies/"+id, nil, &made)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	for _, chart := range []string{"chart-progress", "chart-slices"} {
		ask[any](p, `window.pic = ""; window.wide = 0; HTMLAnchorElement.prototype.click = () => {}; window.address ??= URL.createObjectURL;
			URL.createObjectURL = (blob) => { blob.type === "image/png" ? createImageBitmap(blob).then((made) => { window.wide = made.width }) : blob.text().then((made) => { window.pic = made }); return address(blob) }; 0`)
		p.click(`[data-save="` + chart + `"][data-format="svg"]`)
		p.until("the picture", `window.pic`)
		caption, foot := p.text("#"+chart+"-caption"), ask[string](p, `document.getElementById("`+chart+`").dataset.foot`)
		squeezed := `.replace(/\s+/g, "")`
		text := `new DOMParser().parseFromString(window.pic, "image/svg+xml").documentElement.textContent` + squeezed
		for _, part := range []string{caption, foot, "Picture of <b>this</b> study", ask[string](p, `document.getElementById("`+chart+`-title").textContent`)} {
			if !ask[bool](p, text+`.includes(`+quoted(part)+squeezed+`)`) {
				t.Errorf("%s saved lacks %q", chart, part)
			}
		}
		const marks = `querySelectorAll("use, path, rect, image").length`
		if drawn, saved := ask[int](p, `[...document.querySelectorAll("#`+chart+` svg :is(use, path, rect, image)")].filter((mark) => mark.checkVisibility()).length`), ask[int](p, `new DOMParser().parseFromString(window.pic, "image/svg+xml").`+marks); drawn < 10 || saved < drawn {
			t.Errorf("%s saved has %d shapes, on the page it has %d", chart, saved, drawn)
		}
		if ask[bool](p, `/var\(|http/.test(window.pic.replaceAll("http://www.w3.org/2000/svg", ""))`) {
			t.Errorf("%s saved needs something outside of it", chart)
		}
		lines := `[...new DOMParser().parseFromString(window.pic, "image/svg+xml").querySelectorAll("[vector-effect]")].map((line) => [line.getAttribute("stroke-width"), line.getAttribute("stroke-dasharray")])`
		thin := ask[[][2]string](p, lines)
		p.click(`[data-save="` + chart + `"][data-format="png"]`)
		p.until("the picture in pixels", `window.wide >= 2000`)
		// Firefox draws lines as wide as they say, however large the picture is drawn.
		twice := func(one string) string { return fmt.Sprint(2 * must.Get(strconv.ParseFloat(one, 64))(t)) }
		thick := ask[[][2]string](p, lines)
		for i, line := range thin {
			for j := range line {
				line[j] = regexp.MustCompile(`[\d.]+`).ReplaceAllStringFunc(line[j], twice)
			}
			if i < len(thick) && thick[i] != line {
				t.Errorf("%s: line %d is %q in the picture in pixels, want %q", chart, i, thick[i], line)
			}
		}
		if len(thin) == 0 || len(thick) != len(thin) {
			t.Errorf("%s: %d lines, %d in the picture in pixels", chart, len(thin), len(thick))
		}
		if os.Getenv("HEADROOM_SCREENSHOTS") != "" {
			picture := p.another()
			picture.open("/studies")
			ask[any](picture, `document.body.innerHTML = "<img alt='' style='background:#fff' src=\"" + `+quoted("data:image/svg+xml,")+` + encodeURIComponent(`+quoted(ask[string](p, "window.pic"))+`) + "\">"; 0`)
			picture.shot("saved-" + chart)
		}
	}
	if len(made.Hash) != 64 || !ask[bool](p, `document.getElementById("chart-progress").dataset.foot.includes(`+quoted(made.Hash)+`)`) {
		t.Error("the foot lacks the head of the ledger")
	}
}

// TestCopyingTwiceSaysCopyAgain: whoever presses twice is not told "Copied" for good.
func TestCopyingTwiceSaysCopyAgain(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Copied"))
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.before(`const later = setTimeout; window.setTimeout = (act, wait) => { if (wait !== 3000) return later(act, wait); (window.ends ??= []).push(act); }`)
	p.open("/studies/" + id)
	for pressed := range 2 {
		p.click("#card-1 [data-copy]")
		p.until("its answer", fmt.Sprintf("window.ends?.length > %d", pressed)) // which may move the button
	}
	if label := ask[string](p, `ends.forEach((act) => act()), document.querySelector("#card-1 [data-copy]").textContent`); label != "Copy" {
		t.Errorf("in the end the button says %q", label)
	}
}

// TestCopyingWithoutAClipboard: pages that come by http have none. Where nothing else helps, the text stands in one field, however often the button is
// pressed.
func TestCopyingWithoutAClipboard(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Copied by hand"))
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.before(`Object.defineProperty(navigator, "clipboard", { value: undefined }); document.addEventListener("copy", () => { window.copied = String(document.activeElement.value); })`)
	p.open("/studies/" + id)
	const says = `document.querySelector("#card-1 [data-copy]").textContent`
	p.click("#card-1 [data-copy]")
	p.until("it being copied", says+` === "Copied" && window.copied === document.querySelector("#card-1 [data-copy]").dataset.copy`)
	if p.count("#card-1 textarea") != 0 || !ask[bool](p, `document.activeElement.matches("#card-1 [data-copy]")`) {
		t.Error("a field stays, or the cursor is lost")
	}
	ask[any](p, `document.execCommand = () => false; 0`)
	for range 2 {
		p.click("#card-1 [data-copy]")
		p.until("its answer", says+` === "Copy the marked text"`)
	}
	if fields := p.count("#card-1 textarea"); fields != 1 {
		t.Errorf("%d fields stand beside the button", fields)
	}
}
