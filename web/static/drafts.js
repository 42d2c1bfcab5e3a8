// Keeps what people have typed and not saved, in the browser, for the person and the tab: after a reload it is in its fields again. Other people and
// tabs are told of it, and take it over only by a button.
"use strict";

const drafts = {
  prefix: "headroom typed ",
  person: document.body.dataset.person,
  tab: "",
  study: location.pathname.split("/")[2],

  key: (draft) => drafts.prefix + JSON.stringify([draft, drafts.person, drafts.tab]),

  // read and store use the browser's storage, or with session that of this tab alone.
  read(key, session) {
    try { return JSON.parse((session ? sessionStorage : localStorage).getItem(key)); } catch { return null; }
  },

  store(key, kept, session) {
    try { (session ? sessionStorage : localStorage).setItem(key, JSON.stringify(kept)); } catch { /* no room: what is typed stays in the page */ }
  },

  // list returns all drafts, of any person and tab.
  list() {
    const all = [];
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(drafts.prefix)) continue;
      const [draft, person, tab] = JSON.parse(key.slice(drafts.prefix.length));
      all.push({ key, draft, tab, own: person === drafts.person, ...drafts.read(key) });
    }
    return all;
  },

  // save keeps the fields of a form, with its Idempotency-Key, by which the server recognises a repetition, but without the preview that was seen.
  // Text beside a result that somebody else saved is kept as that result.
  save(form, more) {
    const fields = drafts.values(form);
    const key = drafts.key(form.dataset.draft);
    if (form.dataset.answer === undefined && drafts.typedIn(form, fields).length === 0) drafts.remove(key);
    else drafts.store(key, { name: document.body.dataset.signedIn, at: Date.now(), ...more, fields });
  },

  values(form) {
    const fields = {};
    for (const field of form.elements) {
      if (["", "shown"].includes(field.name) || ["submit", "button", "file"].includes(field.type)) continue;
      if (field.name.startsWith("unit.") && !form.elements.namedItem(field.name.slice("unit.".length))?.value) continue; // nothing is typed beside it
      if (field.name.startsWith("was.") || form.elements.namedItem("was." + field.name)?.value === field.value) continue; // nobody typed that
      if (!["checkbox", "radio"].includes(field.type) || field.checked) fields[field.name.replace(/^mine\./, "")] = field.value;
    }
    return fields;
  },

  field: (form, name) => form.elements.namedItem(name) || form.elements.namedItem("mine." + name),

  // typedIn lists the kept fields that a person filled in, chose or emptied, with name and value.
  typedIn(form, fields) {
    const typed = [];
    for (const [name, value] of Object.entries(fields)) {
      const field = drafts.field(form, name);
      if (!field || field.type === "hidden" || drafts.saved(field, value)) continue;
      const before = drafts.initial(field) ?? "";
      if (value !== before && (value + before).trim()) typed.push({ field, name, value });
    }
    return typed;
  },

  // saved tells whether a value is what is saved for the field already, so that only the answer was lost.
  saved: (field, value) => Boolean(field.dataset?.saved) && drafts.numbers(value) === drafts.numbers(field.dataset.saved),
  numbers: (text) => text.replaceAll(",", ".").replaceAll("−", "-").replace("+-", "±").replace(/(\d)[\s'’](?=\d{3})/g, "$1").split("±").map((part) => Number(part.trim().replace(drafts.measured, "$1"))).join(),

  // measured matches a number, perhaps with its unit, in which no word begins with a digit.
  measured: /^([+-]?[\d.]+(?:e[+-]?\d+)?)(?:\s*[^\d\s.]\S*(?:\s+[^\d\s]\S*)*)?$/i,

  // initial is the value of a field before anybody changed it.
  initial(field) {
    if (field.options) return ([...field.options].find((option) => option.defaultSelected) || field.options[0])?.value;
    if (field.type === "checkbox") return field.defaultChecked ? field.value : "";
    if (field instanceof RadioNodeList) return [...field].find((choice) => choice.defaultChecked)?.value;
    return field.defaultValue;
  },

  // fill puts kept values into the fields that nobody has touched. It tells whether the server has to redraw the form: because lines are missing,
  // other fields depend on a value, or the study has changed since.
  fill(form, fields) {
    let rows = false;
    for (const [name, value] of Object.entries(fields)) {
      const field = drafts.field(form, name);
      if (!field) rows ||= drafts.lines.test(name);
      else if (field instanceof RadioNodeList) {
        if (field[0].type !== "radio" || field.value === value) continue;
        field.value = value;
        rows ||= field[0].matches("[data-refreshes]");
      } else if (!drafts.saved(field, value)) {
        rows ||= name === "at" && value !== field.value;
        if (field.type === "checkbox") field.checked = true;
        else if (field.value === field.defaultValue || field.tagName === "SELECT" || field.type === "hidden") field.value = value;
        if (value) field.closest(".meanwhile")?.removeAttribute("hidden");
        if (value === drafts.initial(field)) continue;
        for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) {
          fold.open = true;
          fold.hidden = false; // it is, where a trial is done
        }
      }
    }
    return rows && form.hasAttribute("hx-post");
  },

  // lines matches the fields of lines that a person can add.
  lines: /^(parameters|constraints|recorded_metrics)\.\d+\./,

  // since is what was typed in a form after it was sent, and what sending does not save: text beside results that somebody else saved first.
  since(form) {
    const beside = [...form.querySelectorAll("[name^='mine.']")].filter((field) => field.value.trim() && !drafts.saved(field, field.value));
    return { ...Object.fromEntries(beside.map((field) => [field.name.slice("mine.".length), field.value])), ...drafts.changed(drafts.values(form), form.sentFields) };
  },

  // changed are the fields that differ from those sent. pressed is the storage key for what was sent.
  changed: (fields, sent) => Object.fromEntries(Object.entries(fields).filter(([name, value]) => value !== sent[name])),
  pressed: (form) => "headroom pressed " + JSON.stringify([form.dataset.draft, drafts.person]),

  // arrive fills in the forms that have just come. The answer to a form has newer values, except for what was typed meanwhile. A button or choice of
  // that time, which the server does not know of, is carried out now.
  arrive(answered) {
    for (const form of document.querySelectorAll("form[data-draft]:not([data-restored])")) {
      form.dataset.restored = "yes";
      const mine = drafts.read(drafts.key(form.dataset.draft));
      if (form.dataset.draft === answered?.dataset.draft) {
        const since = drafts.since(answered);
        drafts.fill(form, since);
        if (answered.sentWith?.name === "do" && answered.sentWith !== answered.sentBy) form.dataset.then = answered.sentWith.value;
        if (Object.keys(since).some((name) => form.querySelector(`[data-refreshes][name="${name}"]`))) form.dataset.then ||= "refresh";
        form.dataset.answer = "";
        drafts.save(form, mine && { at: mine.at });
      } else if (form.dataset.answer !== undefined) { // a page of its own, which holds what was sent
        const sent = drafts.read(drafts.pressed(form), true);
        if (mine && sent) drafts.fill(form, drafts.changed(mine.fields, sent));
        drafts.save(form, mine && { at: mine.at });
      } else if (mine && !form.querySelector("[aria-invalid], [role=alert]")) {
        const rows = drafts.fill(form, mine.fields);
        if (rows || mine.unsent) form.dataset.then = mine.unsent || "refresh";
      }
      drafts.notes(form);
    }
  },

  // notes says beside a form what else was typed in it. The card of a completed trial leaves when nothing is typed in it any more, here or in another
  // tab.
  notes(form) {
    for (const note of form.querySelectorAll("[data-typed]")) note.remove();
    for (const kept of drafts.list().filter((kept) => kept.draft === form.dataset.draft)) {
      const elsewhere = !kept.own || kept.tab !== drafts.tab;
      if (elsewhere && form.querySelector("[name^='mine.']") && drafts.typedIn(form, kept.fields).length === 0) drafts.remove(kept.key); // all of it is saved
      else if (!kept.own) drafts.note(form, ["Typed by " + kept.name + " ", kept, ", not saved" + drafts.words(form, kept)], [["Take it over in my name", () => drafts.take(form, kept)]]);
      else if (elsewhere) {
        drafts.note(form, ["In another tab, or before this one, you typed, ", kept, ", not saved" + drafts.words(form, kept)], [["Go on with it here", () => drafts.take(form, kept)], ["Drop it", () => { drafts.remove(kept.key); drafts.notes(form); }]]);
      } else if ((kept.held || kept.at < performance.timeOrigin) && !form.closest(".card")?.querySelector("[data-drop]")) {
        const after = kept.held ? ". It was not sent, since what is asked for here has changed meanwhile: look, and save it." : "; it is not saved yet.";
        drafts.note(form, ["You typed this ", kept, after], [["Start anew", () => { drafts.remove(kept.key); headroom.anew(); }]]);
      }
    }
    const card = form.closest(".card");
    if (!form.matches(".entry") || !card) return;
    const ended = card.querySelector("[data-drop]");
    const why = drafts.read(drafts.key(form.dataset.draft + "/close"));
    card.querySelector("[id^='close-']").hidden = ended && !why; // asked no more of whoever has not begun to say it, until the trial waits again
    if (!ended || why || form.dataset.answer !== undefined || form.querySelector("[data-typed]") || drafts.typedIn(form, drafts.values(form)).length > 0) return;
    drafts.done(form.dataset.draft); // all of it is saved
    headroom.withdraw(card);
  },

  // hold says at a draft that it was not sent, although that was promised.
  hold(draft) {
    const kept = drafts.read(drafts.key(draft));
    if (kept) drafts.store(drafts.key(draft), { ...kept, held: true });
    for (const form of document.querySelectorAll("form[data-draft]")) if (form.dataset.draft === draft) drafts.notes(form);
  },

  note(form, [before, kept, after], presses) {
    const note = document.createElement("div");
    note.className = "notice warn typed";
    note.dataset.typed = kept.key;
    const at = new Date(kept.at - headroom.ahead);
    const when = Object.assign(document.createElement("time"), { dateTime: at.toISOString(), textContent: headroom.ago(at, headroom.now()) });
    headroom.zoned(when);
    const text = document.createElement("p");
    text.append(before, when, after);
    note.append(text);
    for (const [label, press] of presses) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      button.addEventListener("click", press);
      note.append(button);
    }
    form.prepend(note);
  },

  // words lists what was typed, with the labels of the form.
  words(form, kept) {
    const said = drafts.typedIn(form, kept.fields).map(({ field, value }) => {
      const label = field.dataset?.label || (field.labels || field[0].labels)?.[0]?.textContent.trim();
      const text = (field.options && [...field.options].find((option) => option.value === value)?.textContent) || value.trim() || "emptied";
      return label + " " + (text.length > 60 ? text.slice(0, 60) + "…" : text);
    });
    return said.length === 0 ? "." : ": " + said.slice(0, 8).join(", ") + (said.length > 8 ? ", …" : "");
  },

  // take makes the draft of somebody else, or of another tab, the viewer's. Fields that hold something of the viewer's keep it, and the rest of the
  // draft stays noted.
  take(form, kept) {
    const { key, ...fields } = kept.fields;
    if (kept.own && key) fields.key = key;
    const rows = drafts.fill(form, fields);
    const left = rows ? [] : drafts.typedIn(form, fields).filter(({ field, value }) => field.value !== value);
    drafts.save(form);
    if (left.length === 0) drafts.remove(kept.key);
    else drafts.store(kept.key, { name: kept.name, at: kept.at, fields: Object.fromEntries(left.map(({ name, value }) => [name, value])) });
    if (rows) drafts.press(form, fields, "refresh");
    else {
      drafts.notes(form);
      (left[0]?.field || form.querySelector("input.result, input:not([type=hidden], [disabled]), select")).focus();
    }
  },

  // press carries out a button of the form, also if fields are missing that only the server can draw.
  press(form, fields, button) {
    htmx.ajax("POST", form.getAttribute("hx-post"), { source: form, target: form, swap: "outerHTML", values: { ...fields, do: button } });
  },

  remove(key) {
    try { localStorage.removeItem(key); } catch { /* there was none */ }
  },

  sent: (draft) => "headroom sent " + JSON.stringify([draft, drafts.person]),

  // done drops a draft that is saved, and keeps it for an undo, which may come after a reload. Text typed since stays.
  done(draft, since) {
    const kept = drafts.read(drafts.key(draft));
    if (kept) drafts.store(drafts.sent(draft), kept.fields, true);
    if (since && Object.keys(since).length > 0) drafts.store(drafts.key(draft), { name: document.body.dataset.signedIn, at: Date.now(), fields: since });
    else drafts.remove(drafts.key(draft));
  },

  // again restores what was saved and then undone, except where something was typed since, without its key.
  again(draft) {
    const since = Object.entries(drafts.read(drafts.key(draft))?.fields ?? {}).filter(([, value]) => value.trim());
    const { key: _, ...fields } = { ...drafts.read(drafts.sent(draft), true), ...Object.fromEntries(since) };
    if (Object.keys(fields).length > 0) drafts.store(drafts.key(draft), { name: document.body.dataset.signedIn, at: Date.now(), fields });
    for (const form of document.querySelectorAll("form[data-restored]")) if (form.dataset.draft === draft) delete form.dataset.restored;
    drafts.arrive(); // the form may have come before the answer
  },

  // trials lists the trials of the page's study for which the viewer has typed a result or a reason.
  trials() {
    const numbers = drafts.list().map((kept) => kept.own && kept.draft.startsWith(drafts.study + "/") && Number(kept.draft.slice(drafts.study.length + 1).replace(/\/close$/, "")));
    return [...new Set(numbers.filter((number) => number > 0))];
  },
};

// A tab keeps its name across reloads. While it is in use, no other can have it: browsers that duplicate a tab also duplicate its storage.
function nameTab() {
  try {
    drafts.tab ||= sessionStorage.getItem("headroom tab") || Math.random().toString(36).slice(2);
    if (document.visibilityState === "hidden") sessionStorage.setItem("headroom tab", drafts.tab);
    else sessionStorage.removeItem("headroom tab");
  } catch { /* then nothing is kept either */ }
}
nameTab();
document.addEventListener("visibilitychange", nameTab);
addEventListener("pageshow", nameTab);
addEventListener("pagehide", () => { try { sessionStorage.setItem("headroom tab", drafts.tab); } catch { /* as above */ } });

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form?.dataset.draft) drafts.save(form);
});

// What is sent by a form that leads to another page is kept, to be compared with what is typed meanwhile.
document.addEventListener("submit", ({ target: form }) => {
  if (form.dataset.draft && !form.hasAttribute("hx-post")) drafts.store(drafts.pressed(form), drafts.values(form), true);
});

// Fields are filled in before the cursor goes back to them (page.js). What needs htmx waits until it knows the form.
document.addEventListener("htmx:beforeSend", ({ detail: { elt } }) => {
  if (elt.dataset?.draft) Object.assign(elt, { sentFields: drafts.values(elt), sentBy: elt.sentWith });
});
document.addEventListener("htmx:afterSwap", (event) => drafts.arrive(event.detail.requestConfig?.elt));
document.addEventListener("htmx:load", (event) => {
  drafts.arrive();
  for (const form of document.querySelectorAll("form[data-then]")) {
    if (!event.detail.elt.contains(form)) continue;
    const { then } = form.dataset;
    delete form.dataset.then;
    const key = drafts.key(form.dataset.draft);
    const { unsent: _, ...kept } = drafts.read(key) || {};
    if (!kept.fields) continue;
    drafts.store(key, kept); // sent once
    if (then === "send") form.requestSubmit();
    else drafts.press(form, kept.fields, then);
  }
});

// Changes by other tabs are noted at once.
addEventListener("storage", (event) => {
  for (const form of document.querySelectorAll("form[data-draft]")) {
    if (event.key?.startsWith(drafts.prefix) && JSON.parse(event.key.slice(drafts.prefix.length))[0] === form.dataset.draft) drafts.notes(form);
  }
});

// Cards with typed text are kept: the section is fetched with the trials that have some.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  const typed = detail.target?.id === "next" ? drafts.trials() : [];
  if (typed.length > 0) detail.path += (detail.path.includes("?") ? "&" : "?") + "typed=" + typed.join(",");
});
addEventListener("DOMContentLoaded", () => {
  const next = document.getElementById("next");
  const there = [...document.querySelectorAll("form.entry")].map((form) => form.dataset.draft);
  if (next && drafts.trials().some((number) => !there.includes(drafts.study + "/" + number))) htmx.ajax("GET", next.getAttribute("hx-get"), { source: next, target: next });
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-drop]")) return;
  const card = event.target.closest(".card");
  for (const form of card.querySelectorAll("form[data-draft]")) drafts.remove(drafts.key(form.dataset.draft));
  headroom.withdraw(card);
});
