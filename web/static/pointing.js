// Charts respond to pointer and keys: they say what is there, open a trial, zoom, and hide what is pressed in the legend.
"use strict";

(() => {
  const near = 14; // pixels within which a mark is meant
  const states = new Map(); // what was zoomed into and pressed away, by the chart's id: a chart that is fetched again keeps it
  const stateOf = ({ id }) => states.get(id) ?? states.set(id, { zoomed: {}, hidden: new Set() }).get(id);
  const framesOf = (node) => [...node.querySelectorAll("svg.frame")];
  const shared = (node) => node.querySelector(".panels") !== null; // over one x axis

  // ends has the ends of a frame's axis in values, and is undefined for categories.
  function ends(frame, name) {
    const [low, high, ...kinds] = frame.dataset[name]?.split(" ") ?? [];
    return low && { low: Number(low), high: Number(high), ...Object.fromEntries(kinds.map((kind) => [kind, true])) };
  }
  const valueAt = ({ low, high, log }, part) => (log ? low * (high / low) ** part : low + part * (high - low));
  const partAt = ({ low, high, log }, value) => (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));

  // keyOf is the name of a frame's axis in the state; zoomOf is the visible part of the axis.
  const keyOf = (node, frame, name) => (name === "x" && shared(node) ? "x" : name + framesOf(node).indexOf(frame));
  function zoomOf(node, frame, name) {
    const zoom = stateOf(node).zoomed[keyOf(node, frame, name)];
    return zoom && ends(frame, name) ? zoom.map((value) => partAt(ends(frame, name), value)) : [0, 1];
  }

  // show applies a chart's state.
  function show(node) {
    const { hidden, name: last } = stateOf(node);
    for (const frame of framesOf(node)) {
      const [x, y] = [zoomOf(node, frame, "x"), zoomOf(node, frame, "y")], inner = frame.querySelector(".zoom"), wide = x[1] - x[0], tall = y[1] - y[0];
      const place = { x: -x[0] / wide, width: 1 / wide, y: -(1 - y[1]) / tall, height: 1 / tall };
      for (const [name, part] of Object.entries(place)) inner.setAttribute(name, 100 * part + "%");
      frame.querySelector(".clip").setAttribute("overflow", wide < 1 || tall < 1 ? "hidden" : "visible");
      for (const [name, part] of [["x", x], ["y", y]]) retick(frame, name, part);
    }
    for (const part of node.querySelectorAll(".frame [data-name]")) part.style.display = hidden.has(part.dataset.name) ? "none" : "";
    const names = [...node.querySelectorAll(".legend button")], stop = names.find(({ dataset }) => dataset.name === last) ?? names[0];
    for (const button of names) {
      button.setAttribute("aria-pressed", !hidden.has(button.dataset.name));
      button.tabIndex = button === stop ? 0 : -1;
    }
  }

  // retick draws the ticks of an axis that is zoomed.
  function retick(frame, name, [from, to]) {
    const group = frame.querySelector(`[data-axis=${name}]`);
    group.whole ??= group.innerHTML;
    group.innerHTML = group.whole;
    if (from === 0 && to === 1) return;
    const axis = ends(frame, name), low = valueAt(axis, from), high = valueAt(axis, to), { width, height } = frame.getBoundingClientRect();
    const model = (group.querySelector("text") ?? group.firstElementChild)?.closest("g");
    group.replaceChildren(...ticks(low, high, axis, name === "x" ? Math.max(2, Math.floor(width / 80)) : height < 100 ? 3 : Math.floor(height / 36)).map(([value, words]) => {
      const tick = model.cloneNode(true), part = (partAt(axis, value) - from) / (to - from), at = 100 * (name === "x" ? part : 1 - part) + "%";
      tick.removeAttribute("class");
      for (const end of [1, 2]) tick.querySelector("line").setAttribute(name + end, at);
      const text = tick.querySelector("text");
      if (text) {
        text.textContent = words;
        text.setAttribute(name, at);
        text.removeAttribute("class");
        if (name === "x") text.removeAttribute("text-anchor");
      }
      return tick;
    }));
    if (name === "x") space(group);
  }

  // space removes ticks whose texts touch those before them.
  function space(group) {
    let end;
    for (const text of group.querySelectorAll("text")) {
      const { left, right } = text.getBoundingClientRect();
      if (left < end) text.closest("g").remove();
      else end = right + 8;
    }
  }

  // ticks are about so many round values between two ends, with their texts, as in chart.go.
  function ticks(low, high, { log, plain, whole }, about) {
    if (log) {
      const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), every = Math.floor((last - first + about) / about);
      const powers = Array.from({ length: last - first + 3 }, (_, i) => first - 1 + i); // one more at either end
      const brief = (x) => [x, x < 1e-4 ? raised(x.toExponential()) : words(x, Math.floor(Math.log10(x) + 1e-9))];
      if (last - first >= 2) return powers.slice(1, -1).filter((_, i) => i % every === 0).map((power) => (plain ? brief(Number("1e" + power)) : [Number("1e" + power), raised("1e" + power).slice("1×".length)]));
      const fine = powers.flatMap((power) => [1, 2, 5].map((times) => Number(times + "e" + power))).filter((x) => x >= low && x <= high);
      if (fine.length > 1) return fine.map(brief);
    }
    const rough = Math.max((high - low) / about, whole ? 1 : 0), power = 10 ** Math.floor(Math.log10(rough)), step = power * [1, 2, 5, 10].find((times) => times * power >= rough * 0.75);
    const finest = Math.floor(Math.log10(step) + 1e-9), list = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12); i++) list.push([i * step, words(i * step + 0, finest)]); // no −0
    return list;
  }

  const raised = (text) => text.replace(/e\+?(-?\d+)/, (_, e) => "×10" + [...e].map((d) => (d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[d])).join("")).replace("-", "−");

  // words writes a number to the power of ten finest.
  function words(x, finest) {
    const size = Math.abs(x);
    if (size === 0 && finest < -6) return "0";
    if (size >= 1e7 || (size < 1e-4 && finest < -6)) return raised(x.toExponential(Math.max(0, Math.min(20, Math.floor(Math.log10(size) + 1e-9) - finest))));
    const digits = Math.max(0, Math.min(20, -finest));
    return x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: size >= 1e4 }).replaceAll(",", "\u202f").replace("-", "−");
  }

  // valueOf writes the value at a part of an axis, as exactly as a place in a frame is.
  function valueOf(axis, part) {
    const x = valueAt(axis, part), range = axis.high - axis.low, size = Math.abs(x);
    if (!axis.log && size < range / 1e4) return "0";
    const rounded = Number(x.toPrecision(axis.log ? 3 : Math.min(17, Math.floor(Math.log10(size / range)) + 4)));
    return raised(size < 1e-4 ? rounded.toExponential() : String(rounded));
  }

  // traces lists what responds in a frame: its places, as fractions of the frame, and their texts.
  function traces(frame) {
    frame.traces ??= [...frame.querySelectorAll("[data-said]")].map((part) => {
      const { kind, name, said, trials } = part.dataset, d = part.querySelector("path")?.getAttribute("d") ?? "";
      const uses = [...part.querySelectorAll("use")].map((use) => ["x", "y"].map((at) => parseFloat(use.getAttribute(at)) / 100));
      return { part, kind, name, said: JSON.parse(said), trials: trials && JSON.parse(trials), places: uses, xs: uses.length ? uses.map(([x]) => x) : [...d.matchAll(/[MLH](-?[\d.]+)/g)].map((match) => match[1] / 1000) };
    });
    return frame.traces.filter(({ part }) => part.style.display !== "none" && part.parentNode.style.display !== "none");
  }

  // placeIn converts a place in the window to fractions of a frame, from the left and from above.
  function placeIn(node, frame, event) {
    const box = frame.getBoundingClientRect(), x = zoomOf(node, frame, "x"), y = zoomOf(node, frame, "y");
    const px = event.clientX - box.left, py = event.clientY - box.top, scale = [box.width / (x[1] - x[0]), box.height / (y[1] - y[0])];
    return { box, px, py, scale, x: x[0] + px / scale[0], y: 1 - y[1] + py / scale[1], within: px >= -near && px <= box.width + near && py >= -near && py <= box.height + near };
  }

  // marksNear lists the marks near a place, the nearest first.
  function marksNear(frame, { x, y, scale }) {
    const found = [];
    for (const { kind, places, said, trials } of traces(frame)) {
      if (kind === "marks") places.forEach((at, i) => found.push({ away: Math.hypot((at[0] - x) * scale[0], (at[1] - y) * scale[1]), text: said[i], trial: trials?.[i] }));
    }
    return found.filter(({ away }) => away <= near).sort((a, b) => a.away - b.away);
  }

  const held = (xs, x, count) => xs.slice(0, count).findLastIndex((each) => each <= x + 1e-4);
  const nearest = (xs, x, count) => xs.slice(0, count).reduce((best, each, i) => (Math.abs(each - x) < Math.abs(xs[best] - x) ? i : best), 0);

  // along says the values of all panels at the trial under the pointer.
  function along(node, place) {
    const frames = framesOf(node), axis = ends(frames[0], "x"), trial = Math.round(valueAt(axis, place.x)), at = partAt(axis, trial), found = [];
    for (const frame of frames) {
      for (const { kind, name, said, xs } of traces(frame)) {
        const between = frame.matches(".changes"), i = kind === "spans" ? nearest(xs, at, said.length) : held(xs, at, said.length);
        if (kind === "marks") xs.forEach((x, i) => { if (between ? Math.abs(x - place.x) * place.scale[0] < 6 : Math.round(valueAt(axis, x)) === trial) found.push(said[i]); });
        else if (kind === "spans") found.push("readings about here, " + said[i]);
        else if (i >= 0) found.push(name + " " + said[i]);
      }
    }
    return { title: "Trial " + trial, words: found, at };
  }

  // over says what is under the pointer in a cell or on a map.
  function over(frame, place) {
    const [first] = marksNear(frame, place), surface = traces(frame).find(({ kind }) => kind === "surface"), found = [];
    if (first) return { words: first.text.split("\n") };
    if (surface) return { words: overSurface(surface.said, place) };
    let where = "";
    for (const { kind, name, said, xs } of traces(frame)) {
      if (kind !== "line" && kind !== "bars") continue;
      const i = nearest(xs, place.x, said.length), axis = ends(frame, "x");
      if (axis) where = valueOf(axis, xs[i]);
      found.push(name + " " + said[i]);
    }
    return found.length ? { title: where, words: found } : null;
  }

  // overSurface says what is expected at a place of a map.
  function overSurface({ places: [left, dx, low, dy], x, y, text, note, aim, chances }, place) {
    const index = (part, first, step, count) => Math.max(0, Math.min(count - 1, Math.round((part - first) / (step || 1))));
    const j = index(place.x, left, dx, x.length), i = index(1 - place.y, low, dy, y.length), where = `${x[j]}, ${y[i]}`;
    if (!text[i][j]) return [where, "no such mixture"];
    const found = [where, `expected ${text[i][j]} ${note}`];
    return chances ? [...found, `chance ${aim} ${chances[i][j]}`] : found;
  }

  const part = (node, name) => node.querySelector(":scope > ." + name) ?? node.appendChild(Object.assign(document.createElement("div"), { className: name }));

  function say(node, found, event) {
    const tip = part(node, "tip");
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren(...[found.title, ...found.words].filter(Boolean).map((words, i) => Object.assign(document.createElement(i || !found.title ? "div" : "b"), { textContent: words })));
    const box = node.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    const left = px + 16 + tip.offsetWidth > node.clientWidth ? Math.max(0, px - 16 - tip.offsetWidth) : px + 16;
    Object.assign(tip.style, { left: left + "px", top: Math.max(0, Math.min(py + 12, node.clientHeight - tip.offsetHeight)) + "px" });
  }

  // meant is the frame under the pointer, with the place in it; between panels it is the first.
  function meant(node, event) {
    const places = framesOf(node).map((frame) => ({ frame, ...placeIn(node, frame, event) })), first = places[0], last = places.at(-1);
    if (!shared(node)) return places.find(({ within }) => within);
    return first.px >= 0 && first.px <= first.box.width && first.py >= 0 && last.py <= last.box.height + 24 ? places.find(({ within }) => within) ?? first : undefined;
  }

  function point(node, event) {
    const place = meant(node, event), guide = part(node, "guide");
    guide.hidden = !place || !shared(node);
    if (!place) return say(node, null);
    if (!shared(node)) return say(node, over(place.frame, place), event);
    const found = along(node, place), frames = framesOf(node), box = node.getBoundingClientRect(), top = frames[0].getBoundingClientRect().top, [from] = zoomOf(node, frames[0], "x");
    Object.assign(guide.style, { left: place.box.left - box.left + (found.at - from) * place.scale[0] + "px", top: top - box.top + "px", height: frames.at(-1).getBoundingClientRect().bottom - top + "px" });
    say(node, found, event);
  }

  // Dragging zooms into a frame: along one axis if the drag does, else along both. Panels share the x axis.
  const least = 8;

  function begin(node, event) {
    const start = event.button || event.pointerType !== "mouse" || event.target.closest(".legend") ? undefined : meant(node, event);
    if (!start) return;
    event.preventDefault();
    const drawn = part(node, "part"), stop = new AbortController(), listen = { signal: stop.signal }, { box } = start, whole = node.getBoundingClientRect();
    const side = (from, to, size) => {
      const [low, high] = [from, to].map((at) => Math.max(0, Math.min(size, at))).sort((a, b) => a - b);
      return high - low >= least ? { low, high, dragged: true } : { low: 0, high: size, dragged: false };
    };
    const sides = (at) => ({ x: side(start.px, at.clientX - box.left, box.width), y: side(start.py, at.clientY - box.top, box.height) });
    drawn.hidden = true;
    addEventListener("pointermove", (at) => {
      const { x, y } = sides(at);
      drawn.hidden = !x.dragged && !y.dragged;
      Object.assign(drawn.style, { left: box.left - whole.left + x.low + "px", width: x.high - x.low + "px", top: box.top - whole.top + y.low + "px", height: y.high - y.low + "px" });
    }, listen);
    addEventListener("pointerup", (at) => {
      stop.abort();
      drawn.remove();
      const { x, y } = sides(at), { zoomed } = stateOf(node);
      const zoom = (name, from, to) => {
        const axis = ends(start.frame, name), [low, high] = zoomOf(node, start.frame, name);
        const within = axis && [from, to].map((part) => valueAt(axis, low + part * (high - low)));
        if (axis && within[1] - within[0] > 1e-9 * Math.max(...within.map(Math.abs))) zoomed[keyOf(node, start.frame, name)] = within; // closer, ticks would say the same
      };
      if (y.dragged) zoom("y", 1 - y.high / box.height, 1 - y.low / box.height);
      if (x.dragged) zoom("x", x.low / box.width, x.high / box.width);
      if (x.dragged || y.dragged) show(node);
    }, listen);
  }

  function press(node, event) {
    const name = event.target.closest("[data-name]:is(button)")?.dataset.name, { hidden } = stateOf(node);
    if (name !== undefined) {
      if (!hidden.delete(name)) hidden.add(name);
      return show(node);
    }
    const place = meant(node, event), trial = place && marksNear(place.frame, place).find((mark) => mark.trial)?.trial;
    if (trial) location.assign(node.dataset.trials + trial);
    else point(node, event); // a finger does not move before it presses
  }

  function leave(node) {
    part(node, "guide").hidden = true;
    say(node, null);
  }

  // closer shows times as much of a frame's axis, around a place in the visible part.
  function closer(node, frame, name, at, times) {
    const { zoomed } = stateOf(node), axis = ends(frame, name), [low, high] = zoomOf(node, frame, name), size = Math.min(1, times * (high - low));
    if (!axis || size * (axis.high - axis.low) <= 1e-9 * Math.abs(axis.high)) return;
    const from = Math.max(0, Math.min(1 - size, low + at * (high - low) - size / 2));
    zoomed[keyOf(node, frame, name)] = [from, from + size].map((part) => valueAt(axis, part));
  }

  // twice handles a double click: it zooms in where it is, or shows everything again.
  function twice(node, event) {
    if (event.target.closest(".legend")) return;
    const state = stateOf(node), place = Object.keys(state.zoomed).length === 0 && meant(node, event);
    state.zoomed = {};
    if (place) {
      closer(node, place.frame, "x", place.px / place.box.width, 0.25);
      if (!shared(node)) closer(node, place.frame, "y", 1 - place.py / place.box.height, 0.25);
    }
    show(node);
  }

  // key points without a pointer: arrows go from trial to trial, over a map, or from cell to cell.
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, zooms = { "+": 0.5, "=": 0.5, "-": 2 };
  function key(node, event) {
    const arrow = arrows[event.key], times = zooms[event.key], frames = framesOf(node), at = (stateOf(node).at ??= { i: 0, x: 0.5, y: 0.5 });
    if (event.target.closest(".legend")) return names(event, arrow);
    if (event.target !== node || event.ctrlKey || event.altKey || event.metaKey || !arrow && !times) return;
    event.preventDefault();
    if (arrow) move(node, at, frames, arrow);
    else {
      for (const name of node.querySelector(".map") ? ["x", "y"] : ["x"]) closer(node, frames[at.i], name, at[name], times);
      show(node);
    }
    const box = frames[at.i].getBoundingClientRect();
    point(node, { clientX: box.left + at.x * box.width, clientY: box.top + (1 - at.y) * box.height });
    headroom.say([...part(node, "tip").children].map((line) => line.textContent).join(", "));
  }

  // names goes by arrows from name to name in a legend, which is one stop of Tab: at the name that had the cursor last.
  function names(event, arrow) {
    const all = [...event.target.closest(".legend").children], to = { Home: 0, End: all.length - 1 }[event.key] ?? (arrow && all.indexOf(event.target) + arrow[0] - arrow[1]);
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    all.at(to % all.length).focus();
  }

  function move(node, at, frames, [right, up]) {
    const step = 0.05, within = (part) => Math.max(0, Math.min(1, part));
    if (shared(node)) {
      const axis = ends(frames[0], "x"), [low, high] = zoomOf(node, frames[0], "x"), trial = Math.round(valueAt(axis, low + at.x * (high - low))) + right, x = (partAt(axis, trial) - low) / (high - low);
      if (x === within(x)) at.x = x;
      return;
    }
    const map = node.querySelector(".map"), end = right && at.x === within(right), next = at.i + (end ? right : map ? 0 : -up);
    if (next !== at.i && frames[next]) Object.assign(at, { i: next, x: end ? within(-right) + right * step : at.x });
    else Object.assign(at, { x: within(at.x + right * step), y: map ? within(at.y + up * step) : at.y });
  }

  const keys = "Arrow keys say what is where, + and − zoom, Escape shows all.";
  function hint(node, { target }) {
    if (target.closest(".legend")) {
      stateOf(node).name = target.dataset.name;
      show(node);
    }
    const { left, top } = node.getBoundingClientRect();
    if (node.matches(":focus-visible")) say(node, { words: [keys] }, { clientX: left, clientY: top });
  }

  const actions = { pointermove: point, pointerdown: begin, click: press, pointerleave: leave, dblclick: twice, keydown: key, focusin: hint, focusout: leave };
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const node of document.querySelectorAll("[data-chart]")) leave(node);
    const node = event.target.closest("[data-chart]");
    if (!node) return;
    stateOf(node).zoomed = {};
    show(node);
  });

  // listen sets up the charts of a part of the page that has just arrived.
  function listen(root) {
    for (const node of root.querySelectorAll("[data-chart]")) {
      if (node.listens) continue;
      node.listens = true;
      Object.assign(node, { tabIndex: 0, ariaDescription: keys });
      for (const key of node.querySelectorAll(".legend > span")) {
        const name = key.textContent, button = Object.assign(document.createElement("button"), { type: "button", title: name + ": press to hide it or to show it again" });
        button.dataset.name = name;
        button.setAttribute("aria-pressed", "true");
        button.append(...key.childNodes);
        button.tabIndex = key.previousElementSibling ? -1 : 0;
        key.replaceWith(button);
      }
      Object.assign(node.querySelector(".legend") ?? {}, { role: "toolbar", ariaLabel: "Legend" });
      performance.mark(node.id); // for whoever measures
      for (const [kind, act] of Object.entries(actions)) node.addEventListener(kind, (event) => act(node, event));
      if (states.has(node.id)) show(node);
    }
  }
  document.addEventListener("htmx:afterSwap", (event) => listen(event.detail.elt)); // before it is seen
  listen(document);
})();
