// What every page does a little better with scripts: relative times, copying, printing one card, telling what went wrong.
"use strict";

document.documentElement.classList.add("scripts");

const headroom = {
  // tell shows a sentence in the banner on top, or hides the banner when there is nothing to say.
  tell(text) {
    const banner = document.getElementById("connection");
    banner.hidden = !text;
    banner.textContent = text || "";
  },

  // ago says how long ago a moment was, in the words the server uses.
  ago(then, now) {
    const seconds = Math.max(0, (now - then) / 1000);
    if (seconds < 45) return "just now";
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (seconds >= size) return Math.floor(seconds / size) + "\u202f" + unit + " ago";
    }
    return "1\u202fmin ago";
  },

  // prepare brings what scripts offer to life in a part of the page that has just arrived.
  prepare(root) {
    for (const button of root.querySelectorAll("[data-copy], [data-print], [data-save]")) button.hidden = false;
    const slider = root.querySelector("[data-slider]");
    if (slider) headroom.slide(slider);
  },

  // slide says which moment the slider is at. The form fetches it when the slider rests; a board that follows its study moves the slider's end.
  slide(form) {
    const range = form.querySelector("input[type=range]");
    const output = form.querySelector("output");
    const say = () => { output.textContent = range.value + " of " + range.max; };
    range.addEventListener("input", say);
    document.addEventListener("htmx:afterSettle", (event) => {
      const moment = document.getElementById("board-moment");
      if (event.detail.target?.id !== "board" || !moment) return;
      const followed = range.value === range.max || event.detail.requestConfig?.elt.tagName === "A";
      range.max = moment.dataset.last;
      if (followed) range.value = moment.dataset.at;
      say();
    });
  },

  async copy(button) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C";
      const area = document.createElement("textarea");
      area.value = button.dataset.copy;
      button.after(area);
      area.select();
    }
    setTimeout(() => { button.textContent = label; }, 3000);
  },

  print(id) {
    const card = document.getElementById(id);
    document.body.classList.add("print-card");
    card.classList.add("printing");
    addEventListener("afterprint", () => {
      document.body.classList.remove("print-card");
      card.classList.remove("printing");
    }, { once: true });
    print();
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy !== undefined) headroom.copy(button);
  if (button.dataset.print) headroom.print(button.dataset.print);
  if (button.dataset.change) {
    event.preventDefault();
    const field = document.getElementById(button.dataset.change);
    field.focus();
    field.select();
  }
});

// A list on which other fields depend redraws its form.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-refreshes]")) return;
  const form = event.target.form;
  const button = form.querySelector("button[value=refresh]") || Object.assign(document.createElement("button"), { name: "do", value: "refresh", hidden: true, formNoValidate: true });
  form.append(button);
  button.click(); // htmx sends the button that was clicked
});

document.addEventListener("htmx:load", (event) => headroom.prepare(event.detail.elt));

// A part that is fetched again keeps the cursor where it is, also in browsers that lose it when they move an element.
let cursor = null;
document.addEventListener("htmx:beforeSwap", () => {
  const field = document.activeElement;
  cursor = field && field !== document.body ? { field, id: field.id, from: field.selectionStart, to: field.selectionEnd } : null;
});
document.addEventListener("htmx:afterSwap", () => {
  if (!cursor || (document.activeElement && document.activeElement !== document.body)) return;
  const field = cursor.field.isConnected ? cursor.field : cursor.id && document.getElementById(cursor.id);
  if (!field) return;
  field.focus({ preventScroll: true });
  if (typeof cursor.from === "number" && field.setSelectionRange) field.setSelectionRange(cursor.from, cursor.to);
});

// After a form was redrawn, the cursor goes to its first fault.
document.addEventListener("htmx:afterSettle", (event) => {
  const first = event.detail.elt.querySelector?.("[autofocus]");
  if (first) first.focus();
});

document.addEventListener("htmx:responseError", (event) => {
  const answer = event.detail.xhr;
  if (answer.status === 503 || answer.status === 502) return; // entry.js tries again
  let text = "The server refused this (" + answer.status + ").";
  try { text = JSON.parse(answer.responseText).detail || text; } catch { /* not a problem document; the status has to do */ }
  headroom.tell(text);
});

setInterval(() => {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[datetime]")) {
    const then = Date.parse(time.dateTime);
    if (now - then > 0 && now - then < 30 * 86400e3) time.textContent = headroom.ago(then, now);
  }
}, 30000);
