// Entering results: Enter moves on, what is typed survives a reload until it is saved, and what could not be sent is kept and
// sent again under the same key.
"use strict";

const drafts = {
  key: (form) => "headroom draft " + form.dataset.draft,
  typed: new Map(), // as kept in the browser; in a private window this is all there is

  // save keeps every named field of a form, its Idempotency-Key too, so that a repeated saving is recognised. What was typed for a result that
  // somebody else saved meanwhile stays as well.
  save(form) {
    const fields = {};
    for (const field of form.elements) {
      if (!field.name || field.type === "submit" || field.type === "button" || field.type === "file") continue;
      if (field.type === "checkbox" || field.type === "radio") { if (field.checked) fields[field.name] = field.value; } else fields[field.name] = field.value;
    }
    for (const told of form.querySelectorAll("[data-told]:not([hidden])")) fields[told.dataset.told] = told.querySelector("[data-mine]").textContent;
    drafts.store(drafts.key(form), fields);
  },

  store(key, fields) {
    drafts.typed.set(key, fields);
    try { localStorage.setItem(key, JSON.stringify(fields)); } catch { /* private window: the page itself keeps it */ }
  },

  read(form) {
    const key = drafts.key(form);
    try {
      const kept = localStorage.getItem(key);
      if (kept) return JSON.parse(kept);
    } catch { /* private window */ }
    return drafts.typed.get(key);
  },

  restore(form) {
    const fields = drafts.read(form);
    if (!fields) return;
    let rows = false;
    for (const [name, value] of Object.entries(fields)) {
      const field = form.elements.namedItem(name);
      if (!field) {
        drafts.beside(form, name, value);
        rows ||= /^(parameters|constraints|recorded_metrics)\.\d+\./.test(name);
        continue;
      }
      if (field instanceof RadioNodeList) {
        if (field[0].type !== "radio" || field.value === value) continue;
        field.value = value;
        rows ||= field[0].matches("[data-refreshes]");
        continue;
      }
      if (field.type === "checkbox") field.checked = true;
      else if (field.value === field.defaultValue || field.tagName === "SELECT" || field.type === "hidden") field.value = value;
      const fold = field.closest("details");
      if (fold && field.tagName !== "SELECT" && value && value !== field.defaultValue && fold !== form.closest("details")) fold.open = true;
    }
    if (rows && form.hasAttribute("hx-post")) drafts.redraw(form, fields);
    else if (fields[unsentMark] && form.matches("form[data-keep]")) {
      delete fields[unsentMark]; // once
      drafts.store(drafts.key(form), fields);
      form.requestSubmit();
    }
  },

  // beside shows what was typed for a result that somebody else saved meanwhile.
  beside(form, name, value) {
    const told = value && [...form.querySelectorAll("[data-told]")].find((element) => element.dataset.told === name);
    if (!told) return;
    told.querySelector("[data-mine]").textContent = value;
    told.hidden = false;
  },

  // redraw lets the server draw the lines that were added to a form.
  redraw(form, fields) {
    htmx.ajax("POST", form.getAttribute("hx-post"), { source: form, target: form, swap: "outerHTML", values: { ...fields, do: "refresh" } });
  },

  drop(form) {
    const key = drafts.key(form);
    const fields = drafts.read(form);
    drafts.typed.delete(key);
    try {
      if (fields) sessionStorage.setItem("sent " + key, JSON.stringify(fields)); // for whoever undoes it, perhaps after a reload
    } catch { /* private window */ }
    try { localStorage.removeItem(key); } catch { /* there was none */ }
  },

  // again puts back what was saved and then undone, for a form with a key of its own.
  again(draft) {
    const key = "headroom draft " + draft;
    try {
      const { key: _, ...fields } = JSON.parse(sessionStorage.getItem("sent " + key) || "{}");
      if (Object.keys(fields).length > 0) drafts.store(key, fields);
    } catch { /* private window */ }
  },
};

const unsentMark = "not sent yet";

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form?.dataset.draft) drafts.save(form);
});

document.addEventListener("htmx:load", (event) => {
  const root = event.detail.elt;
  if (root.matches?.("form[data-draft]")) { // the server's answer to this very form: what it holds is newer than the draft
    drafts.save(root);
    return;
  }
  for (const form of root.querySelectorAll("form[data-draft]")) {
    if (form.dataset.restored || form.querySelector("[aria-invalid], [role=alert]")) continue; // the server's copy is newer
    form.dataset.restored = "yes";
    drafts.restore(form);
  }
  strayed(root);
});

// A card goes when somebody else completes its trial. What was being typed in it is shown above, with the way to put it right.
const cards = new Map(); // what a draft's form was about: trial, link, names of fields

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.matches("form.entry")) return;
  const names = {};
  for (const result of form.querySelectorAll("input.result")) names[result.name] = result.labels[0]?.firstChild.textContent.trim();
  cards.set(form.dataset.draft, { trial: form.dataset.draft.split("/")[1], link: form.action.replace(/tell$/, "correct"), names });
});

function strayed(root) {
  const place = document.getElementById("strayed");
  if (!place || !root.matches?.(".cards")) return;
  for (const [draft, card] of cards) {
    if ([...document.querySelectorAll("form.entry")].some((form) => form.dataset.draft === draft)) continue;
    const fields = drafts.read({ dataset: { draft } }) || {};
    const typed = Object.entries(card.names).filter(([name]) => fields[name]?.trim());
    cards.delete(draft);
    if (typed.length === 0) continue;
    const note = document.createElement("div");
    note.className = "notice warn";
    const text = document.createElement("p");
    text.append(`Somebody else completed trial ${card.trial} while you were typing: ${typed.map(([name, label]) => label + " " + fields[name]).join(", ")}. Yours is not saved. If it is right, `);
    const link = Object.assign(document.createElement("a"), { href: card.link, textContent: "correct what is saved" });
    const drop = Object.assign(document.createElement("button"), { type: "button", textContent: "Drop mine" });
    drop.addEventListener("click", () => { drafts.drop({ dataset: { draft } }); note.remove(); document.getElementById("next-title")?.focus(); });
    text.append(link, ". ");
    note.append(text, drop);
    place.append(note);
  }
}

// Enter moves to the next result at once, so that no key typed after it can reach the field before. In the last one it saves, or moves to the
// button when something is still missing. What browsers do by themselves, pressing the form's first button, the form has shut off.
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
  const results = [...field.form.querySelectorAll("input.result")];
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

const unsent = new Set();
let signedOut = false;

// keep remembers a form that could not be sent; again sends it when the server answers once more.
function keep(form) {
  unsent.add(form);
  headroom.tell("Connection lost. What you entered is kept and will be sent as soon as the server answers.");
  if (unsent.size === 1) setTimeout(again, 1000);
}

// keepUntilSignedIn does the same for whoever's sign-in has ended. Should they sign in on this very page, it is sent when the form comes back.
function keepUntilSignedIn(form) {
  unsent.add(form);
  if (form.dataset.draft) {
    drafts.save(form);
    drafts.store(drafts.key(form), { ...drafts.read(form), [unsentMark]: "yes" });
  }
  mustSignIn();
  if (unsent.size === 1) setTimeout(again, 2000);
}

function mustSignIn() {
  signedOut = true;
  headroom.tell("Your sign-in has ended. What you entered is kept, and sent once after you have signed in again: ", { href: "/sign-in", text: "how to sign in" });
}

// within tells whether the server answers, and whoever looks is signed in.
async function within() {
  const answer = await fetch(signedOut ? "/studies" : "/readyz", { cache: "no-store" });
  if (!answer.ok) throw new Error("not ready");
}

async function again() {
  if (unsent.size === 0 && !signedOut) return;
  try {
    await within();
  } catch {
    setTimeout(again, 2000);
    return;
  }
  const forms = [...unsent];
  unsent.clear();
  if (signedOut) htmx.trigger(document.body, "changed", {});
  signedOut = false;
  headroom.tell("");
  for (const form of forms) {
    if (!form.isConnected) continue;
    const fields = form.dataset.draft && drafts.read(form);
    if (fields?.[unsentMark]) {
      delete fields[unsentMark];
      drafts.store(drafts.key(form), fields);
    }
    if (form.sentWith?.isConnected) form.sentWith.click(); else form.requestSubmit();
  }
}

document.addEventListener("submit", (event) => { event.target.sentWith = event.submitter; });
document.addEventListener("htmx:sendError", (event) => { if (event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt); });
document.addEventListener("htmx:timeout", (event) => { if (event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt); });
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  const form = event.detail.elt.matches("form[data-keep]") && event.detail.elt;
  if (status === 401 && form) keepUntilSignedIn(form);
  else if (status === 401) {
    if (!signedOut) setTimeout(again, 2000);
    mustSignIn();
  } else if ((status === 503 || status === 502) && form) keep(form);
});
// Whether a stream that broke off did so because the sign-in has ended, only an answer tells.
document.addEventListener("htmx:sseError", async () => {
  if (signedOut || document.visibilityState === "hidden") return;
  try {
    if ((await fetch("/studies", { cache: "no-store" })).status !== 401) return;
  } catch {
    return;
  }
  mustSignIn();
  setTimeout(again, 2000);
});
addEventListener("online", again);
addEventListener("focus", () => { if (signedOut) again(); });

// A form that was saved needs no draft any more. The server says so, since an answer may also be the form with its faults. Who undoes a saving
// finds what they typed in the form again. The answer may lead to another page, so this is before anything else is done with it.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const form = event.detail.requestConfig.elt;
  if (form.dataset?.draft && event.detail.xhr.getResponseHeader("X-Saved")) {
    drafts.drop(form);
    cards.delete(form.dataset.draft);
  }
  if (form.dataset?.undoes && event.detail.xhr.getResponseHeader("X-Undone")) drafts.again(form.dataset.undoes);
});

// After a form that led to another page, the address says which draft is done with, and what to tell once.
{
  const here = new URL(location.href);
  if (here.searchParams.has("saved")) drafts.drop({ dataset: { draft: here.searchParams.get("saved") } });
  if (here.searchParams.has("done") || here.searchParams.has("saved")) {
    here.searchParams.delete("done");
    here.searchParams.delete("saved");
    history.replaceState(null, "", here);
  }
}

addEventListener("beforeunload", (event) => { if (unsent.size > 0) event.preventDefault(); });
