package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// listener keeps what screen readers would speak: what comes into live regions, and live regions that
// come with something in them, unless they are off by the time of the next picture.
const listener = `addEventListener("DOMContentLoaded", () => {
	const regions = "[role=status], [role=alert], output", came = new Set(), off = (element) => element.closest("[aria-live=off]");
	window.spoken = [];
	const speak = () => {
		for (const region of came) if (region.isConnected && !off(region) && region.textContent.trim()) spoken.push(region.textContent.trim().replace(/\s+/g, " "));
		came.clear();
	};
	new MutationObserver((changes) => {
		if (came.size === 0) requestAnimationFrame(speak);
		for (const { target, addedNodes } of changes) {
			const element = target.nodeType === Node.TEXT_NODE ? target.parentElement : target, region = element?.closest(regions);
			if (region && !off(element)) came.add(region);
			for (const node of addedNodes) for (const part of node.querySelectorAll?.(regions) ?? []) came.add(part);
			for (const node of addedNodes) if (node.matches?.(regions)) came.add(node);
		}
	}).observe(document.body, { childList: true, characterData: true, subtree: true });
})`

// heard counts how often a sentence that begins so was spoken.
func (p *tab) heard(begins string) int {
	p.t.Helper()
	return ask[int](p, fmt.Sprintf(`spoken.filter((said) => said.startsWith(%s)).length`, quoted(begins)))
}

func (p *tab) hears(begins string) {
	p.t.Helper()
	p.until("hearing "+begins, fmt.Sprintf(`window.spoken?.some((said) => said.includes(%s))`, quoted(begins)))
}

// TestNewsIsSpokenOnce: a screen reader speaks what was saved once, however often the page is fetched
// again since; what others did is spoken, too; and so is what a page came with, and the banner.
func TestNewsIsSpokenOnce(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Heard"))
	site.ask(t, id, 3)
	p := newAdmin(t)
	p.before(listener)
	p.open("/studies/" + id)
	p.click(result(1, 0))
	p.keys("70" + kb.Enter + "0.3" + kb.Enter + kb.Enter)
	p.sees("Saved · trial 1")
	p.hears("1 of 1 within every limit")
	for n := range 2 {
		site.tell(t, id, n+2, map[string]any{"yield": 71 + n, "impurity": 0.31})
		p.hears(fmt.Sprintf("%d of %d within every limit", n+2, n+2))
	}
	if times := p.heard("Saved · trial 1"); times != 1 {
		t.Errorf("what was saved is spoken %d times", times)
	}
	site.ask(t, id, 1)
	p.hears("1 waiting")
	p.focus("#saved-1 button")
	p.keys(kb.Enter)
	p.hears("Undone.")
	ask[any](p, `headroom.tell("Connection lost."), 0`)
	p.hears("Connection lost.")
	ask[any](p, `headroom.tell(""), 0`)

	p.open("/studies/" + id + "/edit")
	p.focus("main form .primary")
	p.keys(kb.Enter)
	p.hears("Saved.")
}

// TestWhatIsPressedNamesItsTrial: in a list of all that can be pressed no two things have one name.
func TestWhatIsPressedNamesItsTrial(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Named"))
	site.play(t, id, 6)
	site.ask(t, id, 4)
	for n := range 2 {
		site.tell(t, id, 7+n, map[string]any{"yield": 7000, "impurity": 500})
	}
	site.tell(t, id, 9, map[string]any{"impurity": 0.7})
	p := newAdmin(t)
	p.open("/people")
	if at := ask[string](p, `[...document.querySelectorAll("[aria-current=page]")].map((link) => link.textContent).join()`); at != "People and tokens" {
		t.Errorf("of the pages on top one is said to be at %q", at)
	}
	p.open("/studies/" + id)
	p.drawn()
	names := ask[[]string](p, `[...document.querySelectorAll("main :is(button, .button, .more a, .under summary)")].filter((e) => e.checkVisibility() && !e.closest(".legend")).map((e) => e.getAttribute("aria-label") ?? e.textContent.trim())`)
	slices.Sort(names)
	for i, name := range names[1:] {
		if name == names[i] {
			t.Errorf("two are named %q", name)
		}
	}
	for _, place := range []string{".told li", "#trial-9 td.limit-broken", "#trial-8 td.limit-broken"} {
		if said := p.text(place); !strings.Contains(said, "limit broken") {
			t.Errorf("only a mark or a colour says that a limit is broken: %q in %s", said, place)
		}
	}
	if heads := p.count("#trials tbody th[scope=row]"); heads == 0 {
		t.Error("no line of the trials has a head")
	}
}
