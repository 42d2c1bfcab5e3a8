// What scripts add to every page: relative times, copying, keeping the cursor, telling of errors.
"use strict";

document.documentElement.classList.add("scripts");

const headroom = {
  // tell shows a sentence, perhaps with a link, in the banner at the top, which takes no room while empty. Screen readers speak what comes into an
  // element that was there before.
  tell(text, link) {
    const banner = document.getElementById("connection");
    banner.replaceChildren(text || "");
    if (link) banner.append(Object.assign(document.createElement("a"), { href: link.href, textContent: link.text, target: "_blank" }));
  },

  // say makes screen readers speak a sentence.
  say(text) { document.getElementById("said").textContent = text; },

  // lasting is the text of an element without its times and asides.
  lasting(element) {
    const copy = element.cloneNode(true);
    for (const part of copy.querySelectorAll("time, .quiet")) part.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  },

  // ago says how long ago a moment was, in the server's words.
  ago(then, now) {
    const seconds = Math.max(0, (now - then) / 1000);
    if (seconds < 45) return "just now";
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (seconds >= size) return Math.floor(seconds / size) + "\u202f" + unit + " ago";
    }
    return "1\u202fmin ago";
  },

  // now is the server's time: a browser's clock may be hours ahead.
  ahead: Date.now() - Date.parse(document.body.dataset.now),
  now: () => Date.now() - headroom.ahead,

  // zoned writes a moment in the reader's time zone, which the server does not know. Hovering names it.
  parts: new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" }),
  zoned(time) {
    const read = (at) => Object.fromEntries(headroom.parts.formatToParts(at).map(({ type, value }) => [type, value]));
    const at = read(new Date(time.dateTime)), now = read(headroom.now());
    const year = at.year === now.year ? "" : at.year + " ", day = at.day + " " + at.month.slice(0, 3) + " " + year;
    time.title = at.day + " " + at.month + " " + at.year + ", " + at.hour + ":" + at.minute + ":" + at.second + " " + at.timeZoneName;
    if (time.textContent.endsWith(" UTC")) time.dataset.clock = "";
    if (time.dataset.clock === "") time.textContent = (year || at.month !== now.month || at.day !== now.day ? day : "") + at.hour + ":" + at.minute;
  },

  // away tells by its status whether an answer, perhaps of a proxy, says nothing about what was sent, which can be sent again.
  away: (status) => [502, 503, 504].includes(status),

  // prepare sets up a part of the page that has just arrived.
  prepare(root) {
    for (const saved of root.querySelectorAll("[data-left]")) setTimeout(() => headroom.withdraw(saved), 1000 * saved.dataset.left);
    for (const time of root.querySelectorAll("time[title]")) headroom.zoned(time);
    const slider = root.querySelector("[data-slider]");
    if (slider) headroom.slide(slider);
  },

  // slide shows the slider's moment while it moves. The form fetches it when the slider rests, or at once if it was moved before the scripts ran, by
  // somebody or by a browser that restores forms. A board that follows its study moves the end of the slider.
  slide(form) {
    const range = form.querySelector("input[type=range]");
    const output = form.querySelector("output");
    const say = () => { output.textContent = range.value + " of " + range.max; };
    range.addEventListener("input", say);
    if (range.value !== range.defaultValue) {
      say();
      htmx.trigger(range, "change");
    }
    document.addEventListener("htmx:afterSettle", (event) => {
      const moment = document.getElementById("board-moment");
      if (!event.detail.target?.matches("#board, #board-moment") || !moment) return;
      const followed = range.value === range.max || event.detail.requestConfig?.elt.tagName === "A";
      range.max = moment.dataset.last;
      if (followed) range.value = moment.dataset.at;
      say();
    });
  },

  // withdraw removes an element whose time is over.
  withdraw(element) {
    if (element.contains(document.activeElement)) headroom.land();
    element.remove();
  },

  // land moves a cursor whose place has gone. After a form that asked for trials, or saved all results of one, it goes to the first result of a trial
  // that has none yet; otherwise to the heading of its part, where keys typed blindly do no harm.
  land(form, part) {
    const results = [...(form?.querySelectorAll("input.result:not([data-optional])") ?? [])];
    const partly = results.some((field) => !field.value.trim());
    const place = form && !partly && [...document.querySelectorAll(".card:not(:has(.told)) input.result:not([data-optional])")].find((field) => !field.value);
    const heading = document.getElementById(part + "-title") || document.getElementById("next-title") || document.getElementById("main");
    heading.tabIndex = -1;
    (place || heading).focus({ preventScroll: true });
  },

  // anew reloads the page. If it is the answer to a form, that is not sent again.
  anew() { location.assign(location.pathname + location.search); },

  async copy(button) {
    const label = button.dataset.label ??= button.textContent; // also where it was pressed just now, and says so
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch { // as in pages that came by http
      const area = (button.area ??= document.createElement("textarea"));
      area.value = button.dataset.copy;
      button.after(area);
      area.select();
      const copied = document.execCommand("copy");
      button.textContent = copied ? "Copied" : "Copy the marked text";
      if (copied) {
        area.remove();
        button.focus();
      }
    }
    headroom.say(button.textContent);
    setTimeout(() => { button.textContent = label; }, 3000);
  },
};

for (const link of document.querySelectorAll(".bar nav a")) if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy !== undefined) headroom.copy(button);
  if (button.dataset.printPage !== undefined) print();
  if (button.dataset.change) {
    event.preventDefault();
    const field = document.getElementById(button.dataset.change);
    field.focus();
    field.select();
  }
});

document.addEventListener("htmx:configRequest", (event) => { event.detail.headers["X-Page-Of"] = document.body.dataset.person; });

// A form that leads to another page is sent once, however often its button is pressed, and not without a connection, since browsers would replace
// this page by one of their own. They report no connection also if the server runs on the same machine, and a connection if only the server is away,
// which a page that listens to its study knows.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute("method") !== "post") return;
  if (form.dataset.sending === "yes") event.preventDefault();
  const reached = navigator.onLine && !document.querySelector("[data-state=off]") || form.dataset.sending === "reached";
  form.dataset.sending = "yes";
  if (reached && !event.defaultPrevented) setTimeout(waited, 10000, form);
  if (reached || event.defaultPrevented) return;
  event.preventDefault();
  try {
    await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(10000) });
    form.dataset.sending = "reached";
    form.requestSubmit(event.submitter);
  } catch {
    delete form.dataset.sending;
    headroom.tell("No connection. What you entered is still here, and was not sent: press again once there is one.");
    addEventListener("online", () => headroom.tell(""), { once: true });
  }
});
// The answer to a form becomes the page whose form it was: one can come back to it and reload it without sending the form again. What was typed is
// kept (drafts.js).
if (document.querySelector("form[data-answer]:not([action])")) history.replaceState(null, "", location.href);
function waited(form) {
  if (!form.dataset.sending) return;
  delete form.dataset.sending;
  headroom.tell("No answer yet. What you entered is still here. You can wait, or press again: nothing is entered twice.");
}
for (const kind of ["pageshow", "keydown"]) addEventListener(kind, (event) => {
  if (kind === "keydown" && event.key !== "Escape") return; // Esc stops what is on its way
  for (const form of document.querySelectorAll("form[data-sending]")) delete form.dataset.sending;
});

// A field on which other fields depend redraws its form.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-refreshes]")) return;
  const form = event.target.form;
  const button = form.querySelector("button[value=refresh]") || Object.assign(document.createElement("button"), { name: "do", value: "refresh", hidden: true, formNoValidate: true });
  form.append(button);
  button.click(); // htmx sends the button that was clicked
});

// While the server is still computing an answer, it says when to ask again.
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  const seconds = xhr.status === 204 && xhr.getResponseHeader("Retry-After");
  if (seconds) setTimeout(() => { if (elt.isConnected) htmx.trigger(elt, "again"); }, 1000 * seconds);
});

document.addEventListener("htmx:load", (event) => headroom.prepare(event.detail.elt));

// Screen readers do not speak what a page came with, so a notice is spoken here. A status that was there before its part was fetched again is no
// news.
const done = document.querySelector("main > .notice[role=status]:not([tabindex])"); // to others the cursor goes
if (done) setTimeout(() => headroom.say(done.textContent), 1000);
let statuses = [];
document.addEventListener("htmx:beforeSwap", () => { statuses = [...document.querySelectorAll("[role=status]")]; });
document.addEventListener("htmx:afterSwap", () => {
  const before = statuses.map(headroom.lasting);
  for (const status of document.querySelectorAll("[role=status]")) {
    if (statuses.includes(status) || !before.includes(headroom.lasting(status))) continue;
    status.setAttribute("aria-live", "off");
    setTimeout(() => status.removeAttribute("aria-live"), 1000);
  }
});

// When a part of the page is fetched again, the cursor stays where it is, also in browsers that lose it when they move an element. If its place has
// gone, it lands (see land), and goes back when its place does.
let cursor = null;
let landed = ""; // the id of that heading, once it was put there
let pressed = 0;
let sent = null; // the form sent last, and what was pressed until then
const busy = () => sent && sent.pressed !== pressed;
const aground = (element) => !element || element === document.body || (landed && element.id === landed);
for (const kind of ["keydown", "pointerdown"]) document.addEventListener(kind, (event) => { pressed += !event.repeat; }, true);
// Safari does not focus a button that is clicked.
document.addEventListener("click", ({ detail, target }) => { if (detail > 0) target.closest("button")?.focus({ preventScroll: true }); }, true);
function remember(submitted) {
  const field = document.activeElement;
  const lost = aground(field);
  if (cursor?.field.disabled && (lost || field === cursor.field)) return; // its answer is to come
  if (lost && cursor && (cursor.submitted === submitted || !cursor.field.isConnected)) return; // its form has gone
  cursor = lost ? null : { field, id: field.id, from: field.selectionStart, to: field.selectionEnd, submitted, part: field.closest("section")?.id, within: field.closest("[id]")?.id };
}
document.addEventListener("submit", (event) => {
  sent = { form: event.target, pressed };
  remember(event.target);
}, true);
document.addEventListener("htmx:beforeSwap", (event) => remember(event.detail.requestConfig?.elt)); // detail.elt is what is swapped
// twin is the element that replaces a link, button or fold without an id and is just like it. The button of a form has no twin, since it has done its
// work.
function twin({ field, within }) {
  const place = !field.form && document.getElementById(within);
  return place ? [...place.querySelectorAll(pressable)].find((each) => each.isEqualNode(field)) : null;
}
function regain() {
  if (!cursor || !aground(document.activeElement)) return;
  const field = cursor.field.isConnected ? cursor.field : cursor.id ? document.getElementById(cursor.id) : twin(cursor);
  if (!field && document.activeElement?.id) return; // it is at the heading
  if (field?.disabled) return; // its answer is to come
  if (field) field.focus({ preventScroll: true });
  if (!field || document.activeElement === document.body) {
    const saved = sent?.form.matches("form.entry, form.ask") && sent.form === cursor.submitted && sent.pressed === pressed;
    headroom.land(saved ? sent.form : null, cursor.part);
    landed = document.activeElement.matches("input") ? "" : document.activeElement.id;
  } else if (typeof cursor.from === "number" && field.setSelectionRange) field.setSelectionRange(cursor.from, cursor.to);
}
for (const kind of ["htmx:afterSwap", "htmx:afterRequest", "htmx:afterSettle"]) document.addEventListener(kind, regain);

// If a part of the page is replaced between pressing and releasing, browsers forget the press. Then what replaces the pressed element, and means the
// same, is clicked. Touch needs no help: it presses when it is released.
const pressable = "button, a[href], summary";
const meaning = (element) => element && [element.tagName, element.textContent, element.name, element.value, element.href].join("\n");
let held = null;
document.addEventListener("pointerdown", (event) => { held = event.pointerType === "touch" ? null : event.target.closest(pressable); }, true);
document.addEventListener("click", (event) => { if (event.target.closest(pressable)) held = null; }, true);
document.addEventListener("pointerup", ({ clientX, clientY }) => setTimeout(() => {
  const now = document.elementFromPoint(clientX, clientY)?.closest(pressable);
  if (held && !held.isConnected && meaning(now) === meaning(held)) now.click();
  held = null;
}), true);

// When a part of the page is fetched again, folds in it stay open and fetch their content, and the field with the cursor stays at its place in the
// window.
let unfolded = [];
let working = null; // in which field of that part, if it is in sight, and where in the window
document.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig } }) => {
  unfolded = [...target.querySelectorAll("details[id][open]")].map((fold) => fold.id);
  const field = document.activeElement;
  if (requestConfig?.verb !== "get" || !field?.id || !target.contains(field)) return; // what answers a form says more above its field
  const { top } = field.getBoundingClientRect();
  if (top >= 0 && top < innerHeight) working = { target, id: field.id, top };
});
document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
  hold(target);
});
document.addEventListener("htmx:afterSettle", ({ detail: { target } }) => {
  if (hold(target)) working = null;
});
// hold scrolls the field back to where it was: browsers keep the place of what is below it instead.
function hold(target) {
  const field = working?.target === target && document.getElementById(working.id);
  if (field) scrollBy({ top: field.getBoundingClientRect().top - working.top, behavior: "instant" });
  return field;
}
document.addEventListener("htmx:load", (event) => {
  for (const fold of event.detail.elt.querySelectorAll("details[open][hx-get]")) htmx.trigger(fold, "toggle");
});

// An open menu covers what is below. It closes on Escape, and when the cursor or a press goes elsewhere.
for (const kind of ["keydown", "focusin", "pointerdown"]) document.addEventListener(kind, ({ key, target }) => {
  const menu = document.querySelector(".tools > details[open]");
  if (!menu || (key ? key !== "Escape" : menu.contains(target))) return;
  if (key && menu.contains(target)) menu.querySelector("summary").focus();
  menu.open = false;
});

// After a form was redrawn, the cursor goes to its first fault, once, unless the viewer has gone on meanwhile, which htmx would not respect.
let fault = null;
function findFault() {
  fault = document.querySelector("[autofocus]") || fault;
  fault?.removeAttribute("autofocus");
}
function toFault() {
  if (fault && !busy()) {
    fault.focus();
    fault.select?.();
  }
  fault = null;
}
document.addEventListener("htmx:afterSwap", findFault);
document.addEventListener("htmx:afterSettle", toFault);
findFault();
toFault();

// A refusal is shown until the next thing is tried.
let refused = false;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (refused && event.detail.elt.matches("form, button, a")) headroom.tell("");
  refused &&= !event.detail.elt.matches("form, button, a");
});

document.addEventListener("htmx:responseError", (event) => {
  const answer = event.detail.xhr;
  const lost = headroom.away(answer.status) && !event.detail.elt.matches("form:not([data-keep])"); // no such form is sent by itself
  if (lost || answer.status === 401) return; // entry.js tries again
  let text = "The server refused this (" + answer.status + ").";
  try { text = JSON.parse(answer.responseText).detail || text; } catch { /* not a problem document; the status has to do */ }
  headroom.tell(text);
  refused = true;
});

// Relative times stay current. A time of day stays, and gets its date when the day is over.
setInterval(() => {
  const now = headroom.now();
  for (const time of document.querySelectorAll("time[data-clock]")) headroom.zoned(time);
  for (const time of document.querySelectorAll("time[datetime]")) {
    const then = Date.parse(time.dateTime);
    if (now - then < 0 || now - then > 30 * 86400e3 || !/( ago|just now)$/.test(time.textContent)) continue;
    time.setAttribute("aria-live", "off"); // in a status it is no news
    time.textContent = headroom.ago(then, now);
  }
}, 30000);
