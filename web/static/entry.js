// Entering results: Enter moves on, and what could not be sent is kept (drafts.js) and sent again with the same Idempotency-Key.
"use strict";

// Enter moves to the next result at once, so that the next key cannot reach the field before. In the last one it saves, or moves to the button if a
// result is still missing. Browsers would press the form's first button, which the form prevents.
let enterDown = false; // its character comes later than the key, perhaps at another field, and must not count there

document.addEventListener("keydown", (event) => {
  const enter = event.key === "Enter" && !event.isComposing;
  const again = enter && event.repeat && enterDown;
  enterDown = enter && (again || event.target.matches("input.result"));
  if (!enterDown) return;
  event.preventDefault();
  if (!again) passOn(event.target);
});
document.addEventListener("keypress", (event) => { if (event.key === "Enter" && enterDown) event.preventDefault(); });
document.addEventListener("keyup", (event) => { if (event.key === "Enter") enterDown = false; });

function passOn(field) {
  if (field.name.startsWith("mine.")) return; // somebody else saved this result meanwhile
  const results = [...field.form.querySelectorAll("input.result:not([name^='mine.'])")];
  const next = results[results.indexOf(field) + 1];
  if (next) {
    next.focus();
    next.select();
  } else if (results.some((result) => !result.value.trim() && result.dataset.optional === undefined)) {
    field.form.querySelector("button.primary").focus(); // to save a part is for the button
  } else {
    field.form.requestSubmit();
  }
}

// A button switches to the full keyboard on phones whose keypad for numbers has no minus or ±. The keyboard changes only for a field that is entered
// anew.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-all-keys]");
  if (!button) return;
  const field = button.parentElement.querySelector("input");
  field.blur();
  field.inputMode = "text";
  field.focus();
  button.hidden = true;
});

const unsent = new Set();
let signedOut = false;

// keep remembers a form that could not be sent; again sends it when the server answers.
function keep(form, why) {
  unsent.add(form);
  headroom.tell(why + " What you entered is kept and will be sent as soon as the server answers.");
  if (unsent.size === 1) soon(1000);
}

// keepUntilSignedIn does the same after the viewer's sign-in has ended. If they sign in on this page, the form is sent as they had pressed when it
// comes back; to somebody else it is only shown.
function keepUntilSignedIn(form) {
  unsent.add(form);
  if (form.dataset.draft) drafts.save(form, { unsent: form.sentWith?.name === "do" ? form.sentWith.value : "send" });
  mustSignIn();
  if (unsent.size === 1) soon(2000);
}

function mustSignIn() {
  signedOut = true;
  if (document.body.dataset.person.startsWith("share:")) headroom.tell("This link has ended. Ask whoever sent it for a new one.");
  else headroom.tell("Your sign-in has ended. What you entered is kept, and sent once after you have signed in again: ", { href: "/sign-in", text: "how to sign in" });
}

// knock makes a request as the person for whom the page was made. If somebody else is signed in by now, it reloads the page as theirs. A silent
// connection is given up.
async function knock(path) {
  const answer = await fetch(path, { cache: "no-store", headers: { "X-Page-Of": document.body.dataset.person }, signal: AbortSignal.timeout(10000) });
  if (answer.headers.get("HX-Refresh")) {
    unsent.clear();
    headroom.anew();
  }
  return answer;
}

// soon schedules one more try.
let trying = 0;
function soon(pause) {
  clearTimeout(trying);
  trying = setTimeout(again, pause);
}

// Safari keeps pages, over http although it is told not to, and shows them unchanged to whoever comes back. Such a page is reloaded if the sign-in
// has ended, or if it does not follow its study by itself, unless it is the answer to a form.
addEventListener("pageshow", async ({ persisted }) => {
  if (!persisted) return;
  try {
    const ended = (await knock("/studies")).status === 401;
    if (ended || !document.querySelector("[data-live]") && (await knock(location.href)).ok) headroom.anew();
  } catch { /* the server is away: so it stays */ }
});

async function again() {
  if (unsent.size === 0 && !signedOut) return;
  const answer = await knock(signedOut ? "/studies" : "/readyz").catch(() => null);
  if (!answer?.ok) return soon(2000);
  const forms = [...unsent];
  unsent.clear();
  if (signedOut) htmx.trigger(document.body, "changed", {});
  signedOut = false;
  headroom.tell("");
  for (const kept of forms) {
    const form = kept.isConnected ? kept : heir(kept);
    if (!form && kept.dataset.draft) drafts.hold(kept.dataset.draft);
    if (!form || form !== kept && forms.includes(form)) continue;
    if (form.dataset.draft) drafts.save(form);
    if (form.sentWith?.isConnected) form.sentWith.click(); else form.requestSubmit();
  }
}

// heir is the form that has replaced one which could not be sent, filled in with its values and its key. A draft has none: it is shown again
// (drafts.js), and its author looks at it before it is sent.
function heir(form) {
  const place = document.querySelector(`form[data-keep][action="${form.getAttribute("action")}"]`);
  if (!place || form.dataset.draft) return null;
  for (const { name, value } of form.elements) {
    const field = name && place.elements.namedItem(name);
    if (field) field.value = value;
  }
  return place;
}

document.addEventListener("submit", (event) => { event.target.sentWith = event.submitter; }, true);
document.addEventListener("htmx:sendError", (event) => { if (event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt, "Connection lost."); });
document.addEventListener("htmx:timeout", (event) => {
  if (event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt, "No answer yet.");
  else htmx.trigger(document.body, "changed", {}); // what was asked for is asked for again
});
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  const form = event.detail.elt.matches("form[data-keep]") && event.detail.elt;
  if (status === 401 && form) keepUntilSignedIn(form);
  else if (status === 401) {
    if (!signedOut) soon(2000);
    mustSignIn();
  } else if (headroom.away(status) && form) keep(form, status === 504 ? "No answer yet." : "Connection lost.");
});
// checkSignIn asks whether a stream broke off because the sign-in has ended, which only a request tells.
async function checkSignIn() {
  if (signedOut || document.visibilityState === "hidden") return;
  const answer = await knock("/studies").catch(() => null);
  if (answer?.status !== 401) return;
  mustSignIn();
  soon(2000);
}
addEventListener("online", again);
addEventListener("focus", () => { if (signedOut) again(); });

// A saved form needs no draft any more. The server says so, since an answer may also be the form with its faults. As it may lead to another page,
// this comes before anything else. After an undo, what was typed is in the form again.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const form = event.detail.requestConfig.elt;
  if (event.detail.xhr.getResponseHeader("HX-Refresh")) unsent.clear(); // the page is another's by now, and loads anew
  if (form.dataset?.draft && event.detail.xhr.getResponseHeader("X-Saved")) drafts.done(form.dataset.draft, drafts.since(form));
});
// htmx says nothing of a form that was replaced before its answer came.
document.addEventListener("htmx:beforeSend", ({ detail: { elt, xhr } }) => {
  if (elt.dataset?.undoes) xhr.addEventListener("load", () => {
    if (!xhr.getResponseHeader("X-Undone")) return;
    drafts.again(elt.dataset.undoes);
    headroom.say("Undone.");
  });
});

// After a form that led to another page, the address names the draft that is done with, and what to tell.
{
  const here = new URL(location.href);
  if (here.searchParams.has("saved")) drafts.done(here.searchParams.get("saved"));
  if (here.searchParams.has("done") || here.searchParams.has("saved")) {
    here.searchParams.delete("done");
    here.searchParams.delete("saved");
    history.replaceState(null, "", here);
  }
}

addEventListener("beforeunload", (event) => { if (unsent.size > 0) event.preventDefault(); });
