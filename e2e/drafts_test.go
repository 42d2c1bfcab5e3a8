package e2e

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"headroom/internal/lists"
)

// invite makes somebody new and returns their name and the link that lets them in.
func (s *server) invite(t *testing.T, first, role string) (name, link string) {
	t.Helper()
	admin := newAdmin(t)
	admin.open("/people")
	name = first + " " + rand.Text()[:6]
	admin.fill("#f-invite_name", name)
	admin.choose("#f-invite_role", role)
	admin.press("Make invite link")
	admin.sees("Invite link for " + name)
	return name, strings.TrimSpace(admin.text(".secret"))
}

// toldBy returns who told the results of a study, in order.
func (s *server) toldBy(t *testing.T, id string) []string {
	t.Helper()
	return lists.Map(s.events(t, id, "told"), func(told event) string { return told.By })
}

// listening waits until the page hears of changes.
func (p *tab) listening() {
	p.t.Helper()
	p.until("the stream", `document.querySelector("[data-live]").dataset.state === "on"`)
}

// A shared tablet: one person types, their sign-in ends, they press Save; somebody else signs in.
func TestWhatOnePersonTypedIsNotSavedByAnother(t *testing.T) {
	t.Parallel()
	name, link := site.invite(t, "Ben", "operator")
	id := site.makeStudy(t, buffer("Shared tablet"))
	site.ask(t, id, 2)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.listening()
	p.fill(result(1, 0), "61.5")
	p.fill(result(1, 1), "0.31")
	p.forgive(true)
	p.signOutUnnoticed()
	p.press("Save result")
	p.sees("Your sign-in has ended.")

	ben := p.another()
	ben.signIn(link)
	p.sees("not saved: yield 61.5, impurity 0.31")
	if names := site.toldBy(t, id); len(names) > 0 {
		t.Fatalf("what the admin typed is saved by %q, who pressed nothing", names)
	}
	p.sees(name + " (operator)") // the page is theirs now
	p.holds(result(1, 0), "")
	p.audit("another's text beside the form")

	// The same where it is opened later.
	ben.open("/studies/" + id + "/bench")
	ben.sees("Typed by Admin")
	ben.sees("not saved: yield 61.5, impurity 0.31")
	ben.holds(result(1, 0), "")
	ben.press("Take it over in my name")
	ben.until("the values", fmt.Sprintf(`document.querySelector(%q).value === "61.5" && document.querySelector(%q).value === "0.31"`, result(1, 0), result(1, 1)))
	ben.press("Save result")
	ben.sees("Saved · trial 1: yield 61.5 %, impurity 0.31 %")
	if names := site.toldBy(t, id); len(names) != 1 || names[0] != name {
		t.Errorf("the result taken over is saved by %q, not by %s", names, name)
	}

	// Whoever typed finds it again, and hears how old it is.
	ben.fill(result(2, 0), "62.5")
	ben.signIn(site.link(t))
	ben.open("/studies/" + id)
	ben.sees("Typed by " + name)
	ben.sees("not saved: yield 62.5")
	ben.fill(result(2, 1), "0.29")
	ben.reload()
	ben.sees("; it is not saved yet.")
	if yield, impurity := ben.value(result(2, 0)), ben.value(result(2, 1)); yield != "" || impurity != "0.29" {
		t.Errorf("the fields hold %q and %q, not only what the admin typed", yield, impurity)
	}

	// The other's page, which is open still, becomes theirs as soon as it asks for anything.
	site.ask(t, id, 1)
	p.sees("Admin (admin)")
	p.forgive(false)
}

// A form that one person opened and another sends, with scripts and without, says whose it was and
// saves nothing until it is sent again.
func TestAFormIsSentByWhoeverOpenedIt(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(fmt.Sprintf("scripts %t", scripts), func(t *testing.T) {
			name, link := site.invite(t, "Cleo", "operator")
			id := site.makeStudy(t, buffer("Another's form"))
			site.ask(t, id, 1)
			p := newTab(t, site.base)
			if !scripts {
				p.withoutScripts()
			}
			enter := func(link string) {
				p.open(link)
				p.click("main form button")
				p.sees("Studies")
			}
			enter(site.link(t))
			p.open("/studies/" + id + "/own")
			p.fill("#f-used_0", "44")
			p.fill("#f-used_1", "5")
			p.press("What to expect of it")
			p.sees("What to expect")
			cleo := p.another()
			cleo.signIn(link)
			p.press("Begin this trial")
			p.sees("Nothing is saved: this form was opened under another sign-in, and you are signed in as " + name)
			site.counts(t, id, "chosen", 1)
			p.press("What to expect of it")
			p.press("Begin this trial")
			p.sees("Your point is a trial now.")
			p.sees(name)
		})
	}
}

// A trial is completed from elsewhere while somebody types in it.
func TestKeystrokesStayInTheirTrial(t *testing.T) {
	t.Parallel()
	for _, browser := range browsers {
		t.Run(browser.name, func(t *testing.T) {
			id := site.makeStudy(t, buffer("Keystrokes "+browser.name))
			site.ask(t, id, 4)
			p := newAdmin(t)
			p.open("/studies/" + id + "/bench")
			p.listening()
			ask[int](p, browser.script)
			p.click("#close-4 summary")
			p.fill("#r-4-f-reason", "spilled")
			p.click(result(1, 1))
			p.keys("12")
			site.api(t, "POST", "/studies/"+id+"/trials/1/tell", map[string]any{"metrics": map[string]any{"yield": 63.5, "impurity": 0.3}}, nil)
			p.sees("Completed by")
			p.keys(".8" + kb.Enter)
			p.sees("What you typed is not saved")
			site.counts(t, id, "told", 1)
			p.holds("#r-4-f-reason", "spilled")
			if got := p.value(result(2, 0)) + p.value(result(2, 1)); got != "" {
				t.Errorf("%q stands in another trial", got)
			}
			p.holds(result(1, 1), "12.8")
			if !ask[bool](p, `document.activeElement.closest("#card-1")`+` !== null`) {
				t.Errorf("the cursor left the card, it is at %s", ask[string](p, `document.activeElement.outerHTML.slice(0, 100)`))
			}
			p.audit("a card that was completed")
			p.reload()
			p.comesToHold(result(1, 1), "12.8")
			p.press("Drop what I typed")
			p.until("the card gone", `!document.querySelector("#card-1")`)
			if ask[bool](p, `document.activeElement.matches("input") || document.activeElement === document.body`) {
				t.Error("the cursor went to another trial, or is lost")
			}

			// Nothing typed yet: the card goes, the cursor not to another.
			p.click(result(2, 0))
			site.api(t, "POST", "/studies/"+id+"/trials/2/tell", map[string]any{"metrics": map[string]any{"yield": 64.5, "impurity": 0.3}}, nil)
			p.until("the card gone", `!document.querySelector("#card-2")`)
			p.keys("13.1" + kb.Enter)
			p.holds(result(3, 0), "")
			site.counts(t, id, "told", 2)

			// Closed instead of completed.
			p.fill(result(3, 0), "14")
			site.api(t, "POST", "/studies/"+id+"/trials/3/fail", map[string]any{"reason": "column broke"}, nil)
			p.sees("What you typed is not saved")
			p.sees("column broke")
			p.fill(result(3, 1), "0.4")
			// Whoever presses on while it is being saved is not taken elsewhere.
			ask[int](p, `document.addEventListener("htmx:beforeSwap", () => document.dispatchEvent(new KeyboardEvent("keydown", {key: "7"})), {once: true}), 0`)
			p.click("#card-3 button.primary")
			p.sees("Saved · trial 3: yield 14 %, impurity 0.4 %")
			p.until("the card gone", `!document.querySelector("#card-3")`)
			if ask[bool](p, `document.activeElement.matches("input") || document.activeElement === document.body`) {
				t.Error("the cursor went to another trial, or is lost")
			}
		})
	}
}

// TestANumberStaysInItsUnit: what was typed beside one unit is not saved in another that was set
// meanwhile, until somebody has looked at it; also after a reload.
func TestANumberStaysInItsUnit(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Another unit"))
	site.ask(t, id, 2)
	p := newAdmin(t)
	p.open("/studies/" + id + "/bench")
	p.listening()
	p.fill(result(1, 0), "61.5")
	p.fill(result(1, 1), "0.3")
	p.fill(result(2, 1), "0.2")
	site.api(t, "POST", "/studies/"+id+"/reconfigure", map[string]any{"objective": map[string]any{"metric": "yield", "direction": "maximize", "unit": "g"}, "reason": "weighed now"}, nil)
	p.sees("unit of yield from % to g")
	p.reload()
	p.comesToHold(result(1, 0), "61.5")
	p.fill(result(2, 0), "7.5") // beside the new one
	p.click("#card-1 button.primary")
	p.sees("typed in % and would now be read in g")
	site.counts(t, id, "told", 0)
	p.holds(result(1, 1), "0.3")
	p.click("#card-1 button.primary")
	p.sees("Saved · trial 1: yield 61.5 g, impurity 0.3 %")
	p.click("#card-2 button.primary")
	p.sees("Saved · trial 2: yield 7.5 g, impurity 0.2 %")
}

// TestTheSlowersNumberIsNotLost: who saves the rest of a trial keeps what they typed for a result that
// somebody else was quicker with, also after a reload, until they drop it.
func TestTheSlowersNumberIsNotLost(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("The slower one"))
	site.ask(t, id, 2)
	p := newAdmin(t)
	p.open("/studies/" + id + "/bench")
	p.listening()
	p.fill(result(1, 0), "64")
	p.fill(result(1, 1), "0.4")
	site.api(t, "POST", "/studies/"+id+"/trials/1/tell", map[string]any{"metrics": map[string]any{"yield": 66}}, nil)
	p.sees("You typed")
	p.click("#card-1 button.primary")
	p.sees("Saved · trial 1: impurity 0.4 %")
	p.sees("What you typed is not saved")
	p.comesToHold(result(1, 0), "64")
	p.reload()
	p.comesToHold(result(1, 0), "64")
	p.press("Drop what I typed")
	p.until("the card gone", `!document.querySelector("#card-1")`)

	// A study that is put away meanwhile has no place for what was typed.
	p.fill(result(2, 0), "65")
	site.api(t, "PATCH", "/studies/"+id, map[string]any{"state": "archived"}, nil)
	p.sees("What you typed here is not saved. This browser keeps it")
	p.reload()
	p.sees("What you typed here is not saved. This browser keeps it")
	site.api(t, "PATCH", "/studies/"+id, map[string]any{"state": "open"}, nil)
	p.comesToHold(result(2, 0), "65")
	p.seesNot("This browser keeps it")
}

// TestAPartSavedLeavesTheCursorInNoOtherTrial: of several trials one result each is saved; none of
// the next numbers, typed blindly, falls into what another trial still waits for.
func TestAPartSavedLeavesTheCursorInNoOtherTrial(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Parts"))
	site.ask(t, id, 3)
	p := newAdmin(t)
	p.open("/studies/" + id + "/bench")
	p.listening()
	for number := 1; number <= 2; number++ {
		p.fill(result(number, 0), "61")
		p.click(fmt.Sprintf("#card-%d button.primary", number))
		p.sees(fmt.Sprintf("Saved · trial %d: yield 61 %%", number))
		p.until("the saved part on the card", fmt.Sprintf(`document.querySelector("#card-%d .told")`, number))
		p.ready()
		if where := ask[string](p, `document.activeElement.id`); where != "next-title" && where != fmt.Sprintf("card-%d", number) {
			t.Errorf("after a part of trial %d the cursor is at %q", number, where)
		}
	}
	p.fill(result(1, 1), "0.3")
	p.click("#card-1 button.primary")
	p.until("the cursor in the trial of which nothing is saved", fmt.Sprintf(`document.activeElement.matches(%q)`, result(3, 0)))
}

// askBesideOthers asks for a trial. Other parts of the page come before the answer: before and after
// the browser takes the cursor from the button, which is disabled.
const askBesideOthers = `(() => {
	const button = document.querySelector("form.ask button"), detail = {target: document.body, elt: document.body, requestConfig: {elt: document.body}};
	const others = (kind) => document.dispatchEvent(new CustomEvent(kind, {detail}));
	button.focus();
	button.click();
	others("htmx:beforeSwap");
	const settle = () => {
		if (document.activeElement === button) requestAnimationFrame(settle);
		else others("htmx:afterSettle");
	};
	settle();
	return button.disabled;
})()`

// TestWhoAsksIsLedToTheTrial that came: the cursor, whose button has gone, is not lost.
func TestWhoAsksIsLedToTheTrial(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	for _, path := range []string{"", "/bench"} {
		id := site.makeStudy(t, buffer("Ask"+path))
		p.open("/studies/" + id + path)
		p.listening()
		if !ask[bool](p, askBesideOthers) {
			t.Error("the button can be pressed again before there is an answer")
		}
		p.until("the cursor in the first result", fmt.Sprintf(`document.activeElement.matches(%q)`, result(1, 0)))
	}
}

// TestWhoAsksIsLedToTheTrialInSafari, too, which gives the cursor to no button that is pressed, but to what stands around it.
func TestWhoAsksIsLedToTheTrialInSafari(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Safari"))
	p := newAdmin(t)
	p.before(`document.addEventListener("mousedown", (event) => {
		if (!event.target.closest("button")) return;
		event.preventDefault();
		document.getElementById("main").focus();
	}, true)`)
	p.open("/studies/" + id + "/bench")
	p.listening()
	p.press("Ask for next trial")
	p.until("the cursor in the first result", fmt.Sprintf(`document.activeElement.matches(%q)`, result(1, 0)))
}

// TestWhatIsTypedToAskStays while others save results, until its trials came.
func TestWhatIsTypedToAskStays(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	for _, path := range []string{"", "/bench"} {
		id := site.makeStudy(t, map[string]any{
			"name": "Asking" + path, "parameters": []map[string]any{{"name": "x", "type": "real", "low": 0, "high": 10}}, "objective": map[string]any{"metric": "yield", "direction": "maximize"},
			"constraints": []map[string]any{{"metric": "room", "op": ">=", "threshold": 0, "expression": "omega - 3*x", "context": []string{"omega"}}}, "seed": 7,
		})
		site.api(t, "POST", "/studies/"+id+"/ask", map[string]any{"count": 1, "context": map[string]any{"omega": 30}}, nil)
		p.open("/studies/" + id + path)
		p.listening()
		if wide := ask[int](p, `document.querySelector("#f-context_omega").offsetWidth`); wide != 140 {
			t.Errorf("the field of a number is %d pixels wide", wide)
		}
		p.fill("#f-context_omega", "28")
		p.fill("#ask-count", "3")
		site.tell(t, id, 1, map[string]any{"yield": 61})
		p.until("the card gone", `!document.querySelector("#card-1")`)
		p.holds("#f-context_omega", "28")
		p.holds("#ask-count", "3")
		p.press("Ask for next trial")
		p.until("what was asked for", `document.querySelectorAll(".card").length === 3`)
		p.comesToHold("#f-context_omega", "")
		p.holds("#ask-count", "1")
	}
}

// TestAPointTypedOnTheBoardStays while results come in.
func TestAPointTypedOnTheBoardStays(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("A point on the board"))
	site.play(t, id, 6)
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.open("/studies/" + id + "/board")
	p.listening()
	p.click("#beliefs-choose > summary")
	p.fill("#f-pin_0", "33.5")
	site.tell(t, id, 7, map[string]any{"yield": 61, "impurity": 0.3})
	p.until("the result", `document.querySelector("#trial-7").innerText.includes("61")`)
	p.holds("#f-pin_0", "33.5")
	p.sees("through the point you set")
}

func TestTwoTabsKeepWhatWasTypedInEach(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Two tabs"))
	site.ask(t, id, 1)
	one := newAdmin(t)
	one.open("/studies/" + id + "/bench")
	two := one.another()
	two.open("/studies/" + id + "/bench")
	one.fill(result(1, 0), "61.5")
	two.fill(result(1, 0), "62.5")
	two.fill(result(1, 1), "0.3")
	one.reload()
	one.comesToHold(result(1, 0), "61.5")
	one.sees("In another tab, or before this one, you typed")
	one.sees("not saved: yield 62.5, impurity 0.3")
	two.reload()
	two.comesToHold(result(1, 0), "62.5")
	two.sees("not saved: yield 61.5")
	two.press("Drop it")
	two.seesNot("In another tab")
	two.press("Save result")
	two.sees("Saved · trial 1: yield 62.5 %")
	if got := two.count("[data-typed]"); got != 0 {
		t.Errorf("%d notes stand beside a form that is done with", got)
	}

	// A tab that was duplicated is another one.
	site.ask(t, id, 1)
	two.until("the next card", `document.querySelector("#card-2")`)
	two.fill(result(2, 0), "63.5")
	copied := ask[string](two, `JSON.stringify({...sessionStorage})`)
	three := two.another()
	three.before(`Object.assign(sessionStorage, ` + copied + `)`)
	three.open("/studies/" + id + "/bench")
	three.sees("not saved: yield 63.5")
	three.holds(result(2, 0), "")
	three.press("Go on with it here")
	three.comesToHold(result(2, 0), "63.5")
}

// TestANewStudySaysWhenItsDraftWasTyped: it keeps lines that were added, is no draft of a copy, and
// can be given up.
func TestANewStudySaysWhenItsDraftWasTyped(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Origin of a copy"))
	p := newAdmin(t)
	p.open("/studies/new")
	p.fill("#f-name", "Half a study")
	p.press("+ Add a parameter")
	p.until("the cursor in a third line", `document.activeElement.id === "f-parameters_2_name"`)
	p.ready()
	p.keys("pressure")
	p.seesNot("You typed this")
	p.open("/studies/new?from=" + id)
	p.ready()
	if got := p.value("#f-name"); got == "Half a study" {
		t.Error("the copy of a study met the draft of another")
	}
	p.fill("#f-name", "A copy")
	p.open("/studies/new")
	p.comesToHold("#f-parameters_2_name", "pressure")
	p.comesToHold("#f-name", "Half a study")
	p.sees("; it is not saved yet.")
	p.audit("a draft of a new study")
	p.press("Start anew")
	p.until("an empty form", `document.querySelector("#f-name")?.value === "" && !document.querySelector("#f-parameters_2_name")`)
	p.seesNot("You typed this")
	p.open("/studies")
	p.open("/studies/new")
	p.ready()
	p.holds("#f-name", "")
}

func TestNoCategoryIsChosenForAnybody(t *testing.T) {
	t.Parallel()
	definition := choicesOnly()
	definition["name"] = "Nothing preselected"
	id := site.makeStudy(t, definition)
	p := newAdmin(t)
	p.open("/studies/" + id + "/own")
	p.holds("#f-used_0", "")
	p.choose("#f-used_1", "ethanol")
	p.press("What to expect of it")
	p.until("the fault", `document.querySelector("#f-used_0[aria-invalid]")`)
	p.sees("choose one")
	p.audit("nothing chosen")
	p.choose("#f-used_0", "B")
	p.fill("#f-note", "by hand")
	p.press("What to expect of it")
	p.sees("; it is not saved yet.")
	p.press("Start anew") // of a page that is a form's answer, which is not sent again
	p.until("an empty form", `document.querySelector("#f-used_0")?.value === "" && document.querySelector("#f-note").value === "" && !document.querySelector("#forecast")`)
	p.choose("#f-used_0", "B")
	p.choose("#f-used_1", "ethanol")
	p.press("What to expect of it")
	p.press("Begin this trial")
	p.sees("Your point is a trial now.")
}

// Five share a tablet: a press and a PIN, and what each typed stays theirs.
func TestSwitchOfPersonAtATablet(t *testing.T) {
	t.Parallel()
	dora, doras := site.invite(t, "Dora", "operator")
	emil, emils := site.invite(t, "Emil", "operator")
	id := site.makeStudy(t, buffer("Five share a tablet"))
	site.ask(t, id, 1)
	p := newTab(t, site.base)
	for _, person := range []struct{ link, pin string }{{doras, "4711"}, {emils, "2468"}} {
		p.signIn(person.link)
		p.open("/account")
		p.fill("#pin", person.pin)
		p.press("Let me come back with my PIN")
		p.sees("A PIN brings you back on Chrome")
		p.audit("a PIN is set")
	}
	p.size(390, 844)
	if height := ask[float64](p, `document.querySelector("nav a[href^='/switch']").getBoundingClientRect().height`); height < 48 {
		t.Errorf("for a finger in a glove, “Switch person” is %v pixels high", height)
	}
	switchTo := func(name, pin string) {
		p.press("Switch person")
		p.sees("Who is here?")
		p.choosePerson(name)
		p.fill("#pin", pin)
		p.press("Go on")
	}
	p.open("/studies/" + id + "/bench")
	p.fill(result(1, 0), "61.5")
	switchTo(dora, "1147")
	p.sees("That is not the PIN of " + dora + ". 4 tries are left.")
	p.audit("a wrong PIN")
	p.choosePerson(dora)
	p.fill("#pin", "4711"+kb.Enter)
	p.until("the bench", `location.pathname.endsWith("/bench")`)
	p.sees(dora + " (operator)")
	p.sees("Typed by " + emil)
	p.holds(result(1, 0), "")
	p.fill(result(1, 1), "0.4")
	switchTo(emil, "2468")
	p.until("his own text alone", fmt.Sprintf(`document.querySelector(%q)?.value === "61.5" && document.querySelector(%q).value === ""`, result(1, 0), result(1, 1)))
	p.sees("Typed by " + dora)
	p.press("Save result")
	p.sees("Saved · trial 1: yield 61.5 %")
	if names := site.toldBy(t, id); len(names) != 1 || names[0] != emil {
		t.Errorf("saved by %q, not by %s", names, emil)
	}
	for range 5 {
		p.open("/switch")
		p.choosePerson(dora)
		p.fill("#pin", "1147")
		p.press("Go on")
		p.until("the answer", `document.querySelector("[role=alert]")`)
	}
	p.sees("No PIN works here for this person now.")
	p.sees(dora + " has to sign in with a link")
	p.press("Sign out")
	p.press("Come back with a PIN")
	p.choosePerson(emil)
	p.fill("#pin", "2468")
	p.press("Go on")
	p.sees(emil + " (operator)")
	other := newTab(t, site.base)
	other.open("/switch")
	other.sees("Nobody has set a PIN in this browser.")
}

// choosePerson picks who is here.
func (p *tab) choosePerson(name string) {
	p.t.Helper()
	p.ready()
	path := fmt.Sprintf(`//label[contains(normalize-space(.), %q)]`, name)
	p.do("choosing "+name, chromedp.Click(chromedp.Search(path), chromedp.NodeVisible))
}

// TestTextTypedWhileALineIsTakenOutFallsOnNoOther: it stays in its own, and so does the cursor.
func TestTextTypedWhileALineIsTakenOutFallsOnNoOther(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	p.open("/studies/new")
	p.press("+ Add a parameter")
	p.until("a third line", `document.querySelector("#f-parameters_2_name")`)
	for i, name := range []string{"a", "b", "c"} {
		p.fill(fmt.Sprintf("#f-parameters_%d_name", i), name)
	}
	p.holdNext("remove-parameters.0")
	p.click(`button[value="remove-parameters.0"]`)
	p.until("the form being sent", `window.letGo`)
	p.fill("#f-name", "Lines")
	p.fill("#f-constraints_0_metric", "impurity")
	p.fill("#f-parameters_1_name", "ot")
	ask[any](p, `letGo(); 0`)
	p.until("two lines", `!document.querySelector("#f-parameters_0_name")`)
	p.ready()
	p.keys("her")
	for field, want := range map[string]string{"#f-name": "Lines", "#f-parameters_1_name": "other", "#f-parameters_2_name": "c", "#f-constraints_0_metric": "impurity"} {
		p.holds(field, want)
	}
}

// TestTextTypedWhileTheFormIsDrawnAgainStays: what a parameter is was changed, and what its line and
// others hold is typed before the answer has come.
func TestTextTypedWhileTheFormIsDrawnAgainStays(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	p.open("/studies/new")
	p.fill("#f-parameters_0_name", "solvent")
	p.holdNext("do=refresh")
	p.choose("#f-parameters_0_type", "categorical")
	p.until("the form being sent", `window.letGo`)
	p.fill("#f-parameters_0_name", "buffer")
	p.fill("#f-parameters_1_low", "20")
	p.fill("#f-constraints_0_metric", "impurity")
	p.fill("#f-parameters_0_unit", "g") // which a choice has not
	p.fill("#f-parameters_1_name", "temp")
	ask[any](p, `letGo(); 0`)
	p.until("the line of a choice", `document.querySelector("#f-parameters_0_choices")`)
	p.ready()
	p.keys("erature")
	for field, want := range map[string]string{"#f-parameters_0_name": "buffer", "#f-parameters_1_low": "20", "#f-parameters_1_name": "temperature", "#f-constraints_0_metric": "impurity"} {
		p.holds(field, want)
	}
}

// TestASecondPressWhileTheFormIsDrawnAgainCounts: the form as it was is gone by then.
func TestASecondPressWhileTheFormIsDrawnAgainCounts(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	p.open("/studies/new")
	meanwhile := func(change, press func()) {
		t.Helper()
		p.holdNext("do=")
		change()
		p.until("the form being sent", `window.letGo`)
		press()
		ask[any](p, `letGo(); 0`)
	}
	meanwhile(func() { p.choose("#f-parameters_0_type", "categorical") }, func() {
		p.choose("#f-parameters_1_type", "remainder")
		p.fill("#f-parameters_1_name", "water")
	})
	p.until("the first line of a choice", `document.querySelector("#f-parameters_0_choices")`)
	p.until("the second of a remainder", `document.querySelector("#f-parameters_1_total")`)
	p.holds("#f-parameters_1_name", "water")
	p.ready()
	meanwhile(func() { p.choose("#f-parameters_0_type", "real") }, func() { p.press("+ Add a limit") })
	p.until("the number's line and a second limit", `document.querySelector("#f-parameters_0_low") && document.querySelector("#f-constraints_1_metric")`)

	// Enter in a field saves: what is typed in a line that was blank then stays, too.
	p.click("#f-name")
	meanwhile(func() { p.keys(kb.Enter) }, func() { p.fill("#f-constraints_0_metric", "purity") })
	p.sees("fields need another look")
	p.holds("#f-constraints_0_metric", "purity")
}

// TestAPreviewSeenTwiceIsCarriedOut: what is kept of a form is what was typed, not which preview
// was seen.
func TestAPreviewSeenTwiceIsCarriedOut(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Two previews"))
	site.play(t, id, 2)
	p := newAdmin(t)
	p.open("/studies/" + id + "/own")
	p.fill("#f-used_1", "5")
	for _, temperature := range []string{"45", "46", "47"} {
		p.fill("#f-used_0", temperature)
		p.press("What to expect of it")
		p.until("what to expect of it", `document.querySelector("#forecast") && document.querySelector("#f-used_0").defaultValue === "`+temperature+`"`)
	}
	p.press("Begin this trial")
	p.sees("Your point is a trial now.")
}

// TestChangesTypedStay: in the forms that change a study and correct a trial, while a preview is on
// its way, after a reload, and only where what they change is as it was.
func TestChangesTypedStay(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Changes typed"))
	site.play(t, id, 2)
	p := newAdmin(t)
	p.open("/studies/" + id + "/reconfigure")
	p.fill("#f-constraints_0_threshold", "0.45")
	p.fill("#f-reason", "purer")
	p.holdNext("do=preview")
	p.press("See what this would change")
	p.until("the form being sent", `window.letGo`)
	p.fill("#f-constraints_0_threshold", "0.4")
	p.fill("#f-reason", "much ")
	ask[any](p, `letGo(); 0`)
	p.sees("After the change")
	p.ready()
	p.keys("purer")
	typed := func() {
		p.comesToHold("#f-constraints_0_threshold", "0.4")
		p.comesToHold("#f-reason", "much purer")
	}
	typed()
	p.reload()
	p.sees("; it is not saved yet.")
	typed()
	p.press("See what this would change")
	p.sees("After the change")
	p.press("Change it")
	p.sees("Changed. The change is in effect from the next decision on.")
	p.ready()
	p.open("/studies/" + id + "/reconfigure")
	p.ready()
	p.seesNot("it is not saved yet")
	limit := func(threshold float64) {
		site.api(t, "POST", "/studies/"+id+"/reconfigure", map[string]any{"constraints": []map[string]any{{"metric": "impurity", "op": "<=", "threshold": threshold, "unit": "%"}}, "reason": "purest"}, nil)
	}
	p.fill("#f-reason", "cleaner")
	limit(0.3)
	p.reload()
	p.comesToHold("#f-reason", "cleaner")
	p.comesToHold("#f-constraints_0_threshold", "0.3")
	p.fill("#f-constraints_0_threshold", "0.35")
	limit(0.32)
	p.reload()
	p.comesToHold("#f-constraints_0_threshold", "0.35")
	p.press("See what this would change")
	p.sees("Limit of impurity from 0.32 to 0.35 %")
	p.press("Start anew")
	p.comesToHold("#f-constraints_0_threshold", "0.32")

	p.open("/studies/" + id + "/trials/2/correct")
	kept := p.value("#f-metric_1")
	p.fill("#f-metric_1", "6")
	p.keys(kb.Backspace) // taken back
	p.reload()
	p.sees("; it is not saved yet.")
	p.comesToHold("#f-metric_1", "")
	p.fill("#f-metric_1", kept)
	p.fill("#f-metric_0", "61.5")
	p.reload()
	p.sees("; it is not saved yet.")
	p.comesToHold("#f-metric_0", "61.5")
	site.api(t, "POST", "/studies/"+id+"/trials/2/corrections", map[string]any{"metrics": map[string]any{"impurity": 0.41}, "reason": "read again"}, nil)
	p.reload()
	p.comesToHold("#f-metric_0", "61.5")
	p.holds("#f-metric_1", "0.41")
	p.fill("#f-reason", "typo")
	p.press("See what this would change")
	p.sees("What this would change")
	p.press("Correct it")
	p.sees("Corrected.")
	p.ready()
	p.open("/studies/" + id + "/trials/2/correct")
	p.ready()
	p.seesNot("it is not saved yet")

	p.open("/studies/" + id + "/edit")
	p.fill("#f-description", "What we know so far")
	p.reload()
	p.sees("; it is not saved yet.")
	p.comesToHold("#f-description", "What we know so far")
	site.api(t, "PATCH", "/studies/"+id, map[string]any{"name": "Renamed"}, nil)
	p.reload()
	p.comesToHold("#f-description", "What we know so far")
	p.holds("#f-name", "Renamed")
	site.api(t, "PATCH", "/studies/"+id, map[string]any{"description": "What others know"}, nil)
	p.reload()
	p.comesToHold("#f-description", "What we know so far")
	p.press("Save")
	p.sees("somebody has changed this meanwhile, to “What others know”")
	p.holds("#f-description", "What we know so far")
	p.audit("what two people wrote in one place")
	p.press("Save")
	p.sees("rewrote the description")
	p.ready()
	p.open("/studies/" + id + "/edit")
	p.ready()
	p.seesNot("it is not saved yet")

	site.ask(t, id, 2)
	p.open("/studies/" + id + "/bench")
	p.press("failed…")
	p.fill("#r-3-f-reason", "it froze")
	p.reload()
	p.sees("; it is not saved yet.")
	p.sees("These settings failed")
	p.comesToHold("#r-3-f-reason", "it froze")
	p.press("These settings failed")
	p.sees("Saved.")
	p.sees("Trial 4") // the bench, with what is left to be done
	p.seesNot("Trial 3")
	p.ready()
	p.open("/studies/" + id + "/trials/3")
	p.sees("Failed because of its settings: it froze")
	p.seesNot("it is not saved yet")
}

// TestWhatWasNotSentSaysSo: what could not be sent while nothing answered is not sent by itself once
// its form asks for something else, and says so.
func TestWhatWasNotSentSaysSo(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Not sent"))
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.listening()
	p.fill(result(1, 0), "63.5")
	ask[any](p, `(() => {
		const go = fetch;
		window.fetch = (...what) => (window.back ? go(...what) : Promise.reject());
		window.unsaved = document.querySelector("form.entry");
		unsaved.dispatchEvent(new CustomEvent("htmx:sendError", { bubbles: true, detail: { elt: unsaved } })) })()`)
	p.sees("Connection lost.")
	site.tell(t, id, 1, map[string]any{"impurity": 0.3})
	p.until("the form drawn anew", "!unsaved.isConnected")
	p.ready()
	ask[any](p, "window.back = true")
	p.sees("It was not sent, since what is asked for here has changed meanwhile: look, and save it.")
	p.holds(result(1, 0), "63.5")
	p.press("Save result")
	p.until("all of it saved", `document.querySelector("#trial-1").innerText.includes("63.5")`)
	p.seesNot("It was not sent")
}

// TestPastedRowsStay: after a reload, before and after they were looked at, and not once they are in.
func TestPastedRowsStay(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Rows pasted"))
	p := newAdmin(t)
	rows := "temperature,cycles,yield,impurity\n40.5,3,61.2,0.3\n"
	p.open("/studies/" + id + "/import")
	p.fill("#f-text", rows)
	p.reload()
	p.sees("; it is not saved yet.")
	p.comesToHold("#f-text", rows)
	p.audit("rows typed before")
	p.press("Check")
	p.sees("1 row is ready to be imported")
	rows += "50,4,70,0.2\n"
	p.fill("#f-text", rows)
	p.open("/studies/" + id + "/import")
	p.sees("; it is not saved yet.")
	p.comesToHold("#f-text", rows)
	p.press("Check")
	p.sees("2 rows are ready to be imported")
	p.press("Import")
	p.sees("The rows are imported.")
	p.drawn()
	p.until("the rows", `document.querySelector("#trial-1").innerText.includes("61.2") && document.querySelector("#trial-2")`)
	p.open("/studies/" + id + "/import")
	p.ready()
	p.comesToHold("#f-text", "")
}

// TestTextTypedWhileAPageIsFetchedStays: in forms that load a page of their own, whether that finds
// faults or not.
func TestTextTypedWhileAPageIsFetchedStays(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Pages fetched"))
	site.play(t, id, 2)
	p := newAdmin(t)
	typedMeanwhile := func(field, text string) {
		t.Helper()
		ask[any](p, fmt.Sprintf(`document.addEventListener("formdata", () => setTimeout(() => {
			const field = document.querySelector(%q);
			field.value = %q;
			field.dispatchEvent(new InputEvent("input", { bubbles: true }));
		})); 0`, field, text))
	}
	p.open("/studies/" + id + "/import")
	p.fill("#f-text", "temperature,cycles,yield\n40.5,3,61.2\n")
	typedMeanwhile("#f-text", "temperature,cycles,yield\n40.5,3,62.2\n")
	p.press("Check")
	p.sees("1 row is ready to be imported")
	p.comesToHold("#f-text", "temperature,cycles,yield\n40.5,3,62.2\n")
	p.reload()
	p.comesToHold("#f-text", "temperature,cycles,yield\n40.5,3,62.2\n")

	p.open("/studies/" + id + "/trials/1/correct")
	p.fill("#f-metric_0", "sixty")
	typedMeanwhile("#f-reason", "a slip")
	p.press("See what this would change")
	p.until("the fault", `document.querySelector("#f-metric_0[aria-invalid]")`)
	p.comesToHold("#f-reason", "a slip")
	p.comesToHold("#f-metric_0", "sixty")

	// What was stopped on its way can be sent again. (Not by stop(), by which Chromium now and then stops what is sent next, too.)
	p.fill("#f-metric_0", "61.5")
	ask[any](p, `addEventListener("submit", (event) => event.preventDefault(), { once: true }); 0`) // after the page has seen it
	p.press("See what this would change")
	p.until("the form being sent", `document.querySelector("form[data-sending]")`)
	p.keys(kb.Escape)
	p.press("See what this would change")
	p.sees("What this would change")
}
