// Entering results: Enter moves on, what is typed survives a reload until it is saved, and what could not be sent is kept and
// sent again under the same key.
"use strict";

const drafts = {
  key: (form) => "headroom draft " + form.dataset.draft,

  // save keeps every named field of a form, its Idempotency-Key too, so that a repeated saving is recognised.
  save(form) {
    const fields = {};
    for (const field of form.elements) {
      if (!field.name || field.type === "submit" || field.type === "button" || field.type === "file") continue;
      if (field.type === "checkbox") { if (field.checked) fields[field.name] = field.value; } else fields[field.name] = field.value;
    }
    try { localStorage.setItem(drafts.key(form), JSON.stringify(fields)); } catch { /* private window: the page itself keeps it */ }
  },

  restore(form) {
    let fields;
    try { fields = JSON.parse(localStorage.getItem(drafts.key(form))); } catch { return; }
    if (!fields) return;
    for (const [name, value] of Object.entries(fields)) {
      const field = form.elements.namedItem(name);
      if (!field || field instanceof RadioNodeList) continue;
      if (field.type === "checkbox") field.checked = true;
      else if (field.value === field.defaultValue || field.tagName === "SELECT" || field.type === "hidden") field.value = value;
      const fold = field.closest("details");
      if (fold && field.tagName !== "SELECT" && value && value !== field.defaultValue && fold !== form.closest("details")) fold.open = true;
    }
  },

  drop(form) {
    try { localStorage.removeItem(drafts.key(form)); } catch { /* there was none */ }
  },
};

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
});

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
    field.form.querySelector("button.primary").focus();
  } else {
    field.form.requestSubmit();
  }
}

const unsent = new Set();

// keep remembers a form that could not be sent; again sends it when the server answers once more.
function keep(form) {
  unsent.add(form);
  headroom.tell("Connection lost. What you entered is kept and will be sent as soon as the server answers.");
  if (unsent.size === 1) setTimeout(again, 1000);
}

async function again() {
  if (unsent.size === 0) return;
  try {
    const answer = await fetch("/readyz", { cache: "no-store" });
    if (!answer.ok) throw new Error("not ready");
  } catch {
    setTimeout(again, 2000);
    return;
  }
  const forms = [...unsent];
  unsent.clear();
  headroom.tell("");
  for (const form of forms) {
    if (!form.isConnected) continue;
    if (form.sentWith?.isConnected) form.sentWith.click(); else form.requestSubmit();
  }
}

document.addEventListener("submit", (event) => { event.target.sentWith = event.submitter; });
document.addEventListener("htmx:sendError", (event) => { if (event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt); });
document.addEventListener("htmx:timeout", (event) => { if (event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt); });
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  if ((status === 503 || status === 502) && event.detail.elt.matches("form[data-keep]")) keep(event.detail.elt);
});
addEventListener("online", again);

// A form that was saved needs no draft any more. The server says so, since an answer may also be the form with its faults.
document.addEventListener("htmx:beforeSwap", (event) => {
  const form = event.detail.elt;
  if (form.dataset?.draft && event.detail.xhr.getResponseHeader("X-Saved")) drafts.drop(form);
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
