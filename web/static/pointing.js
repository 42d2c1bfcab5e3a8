// What a drawn chart does under the pointer: it says what is there, opens a trial, zooms into a part, and hides what is pressed in the legend.
"use strict";

(() => {
  const { add, at, brief, shown } = plots;

  const near = 14; // pixels within which a mark is meant
  const within = (frame, [px, py]) => px >= frame.left - near && px <= frame.left + frame.width + near && py >= frame.top - near && py <= frame.top + frame.height + near;

  // marksNear are the marks of a frame by their distance from a place, the nearest first.
  function marksNear(frame, [px, py]) {
    const found = [];
    for (const trace of frame.traces) {
      if (!trace.text) continue;
      trace.x.forEach((value, i) => {
        if (!shown(frame.x, value) || !shown(frame.y, trace.y[i])) return;
        const away = Math.hypot(at(frame.x, value) - px, frame.y(trace.y[i]) - py);
        if (away <= near) found.push({ away, text: trace.text[i], trial: trace.trial?.[i] });
      });
    }
    return found.sort((a, b) => a.away - b.away);
  }

  // held is what a line of steps is worth at x, and indexNear where a line has a value nearest to it.
  const held = (xs, x) => d3.bisectRight(xs, x) - 1;
  const indexNear = (xs, x) => d3.leastIndex(xs, (value) => Math.abs(value - x));

  // along says what every panel holds at the trial under the pointer.
  function along(sheet, [px]) {
    const frame = sheet.frames[0], trial = Math.round(frame.x.invert(px)), words = [];
    for (const { traces, limit } of sheet.frames) {
      for (const trace of traces) words.push(...atTrial(trace, trial));
      if (limit && held(limit.x, trial) >= 0) words.push(`limit ${brief(limit.y[held(limit.x, trial)])}`);
    }
    const events = sheet.events.filter((event) => Math.abs(frame.x(event.x) - px) < 6).map((event) => event.text);
    return { title: `Trial ${trial}`, words: [...words, ...events], x: frame.x(trial) };
  }

  function atTrial(trace, trial) {
    if (trace.text) return trace.x.flatMap((x, i) => (x === trial ? [trace.text[i]] : []));
    if (trace.style === "spans") {
      const i = indexNear(trace.x, trial);
      return [`readings about here, from ${brief(trace.low[i])} to ${brief(trace.high[i])}`];
    }
    const i = held(trace.x, trial);
    return i < 0 ? [] : [`${trace.name} ${brief(trace.y[i])}`];
  }

  // over says what is under the pointer in a small chart or on a map.
  function over(frame, place) {
    const [first] = marksNear(frame, place);
    if (first) return { title: "", words: first.text.split("\n") };
    if (frame.surface) return overSurface(frame, place);
    const words = [];
    let where = "";
    for (const { style, name, x, y, low, high } of frame.traces) {
      if (!["band", "line", "bars"].includes(style)) continue;
      const i = d3.leastIndex(x, (value) => Math.abs(at(frame.x, value) - place[0]));
      where = typeof x[i] === "number" ? brief(x[i]) : x[i];
      if (y) words.push(`${name} ${brief(y[i])}`);
      if (low) words.push(`${style === "band" ? name : "band"} ${brief(low[i])} to ${brief(high[i])}`);
    }
    return words.length ? { title: where, words } : null;
  }

  function overSurface({ x, y, surface }, [px, py]) {
    const j = d3.leastIndex(surface.x, (value) => Math.abs(at(x, value) - px)), i = d3.leastIndex(surface.y, (value) => Math.abs(at(y, value) - py));
    const words = [`${surface.atX[j]}, ${surface.atY[i]}`, `expected ${surface.text[i][j]} ${surface.note}`];
    return { title: "", words: surface.chances ? [...words, "chance within every limit " + surface.chances[i][j]] : words };
  }

  const placeOf = (node, event) => {
    const box = node.querySelector("svg").getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function say(node, found, [px, py]) {
    const tip = node.querySelector(".tip");
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren(...[found.title, ...found.words].filter(Boolean).map((words, i) => Object.assign(document.createElement(i || !found.title ? "div" : "b"), { textContent: words })));
    const left = px + 16 + tip.offsetWidth > node.clientWidth ? Math.max(0, px - 16 - tip.offsetWidth) : px + 16;
    Object.assign(tip.style, { left: left + "px", top: Math.max(0, Math.min(py + 12, node.clientHeight - tip.offsetHeight)) + "px" });
  }

  function point(node, event) {
    const { sheet } = node, place = placeOf(node, event), drawing = node.drawing;
    node.querySelector(".guide")?.remove();
    const frame = sheet.frames.find((each) => within(each, place));
    if (!frame && !(drawing.panels && inColumn(sheet, place))) return say(node, null, place);
    if (!drawing.panels) return say(node, over(frame, place), place);
    const found = along(sheet, place), last = sheet.frames.at(-1);
    add(sheet.svg, "path", { class: "guide", d: `M${found.x},${sheet.frames[0].top}V${last.top + last.height}`, stroke: "var(--line-strong)", "stroke-dasharray": "2 3", "pointer-events": "none" });
    say(node, found, place);
  }

  // inColumn tells whether a place lies between the panels, or on the marks below them.
  function inColumn({ frames }, [px, py]) {
    const last = frames.at(-1);
    return px >= frames[0].left && px <= frames[0].left + frames[0].width && py >= frames[0].top && py <= last.top + last.height + 24;
  }

  function leave(node) {
    node.querySelector(".guide")?.remove();
    say(node, null, [0, 0]);
  }

  // A drag across a frame zooms into it: along one axis when it goes along that, else both. The panels' x axis is one.
  const least = 8;

  function begin(node, event) {
    if (event.button || event.pointerType !== "mouse") return;
    const from = placeOf(node, event), frame = node.sheet.frames.find((each) => within(each, from));
    if (!frame) return;
    event.preventDefault();
    const box = add(node.sheet.svg, "rect", { fill: "var(--band)", stroke: "var(--line-strong)", "pointer-events": "none" });
    const stop = new AbortController(), listen = { signal: stop.signal };
    addEventListener("pointermove", (moved) => outline(box, partOf(frame, from, placeOf(node, moved))), listen);
    addEventListener("pointerup", (ended) => {
      stop.abort();
      box.remove();
      zoomInto(node, frame, partOf(frame, from, placeOf(node, ended)));
    }, listen);
  }

  // partOf is the part of a frame between two places, the whole height or width where they are level.
  function partOf({ left, top, width, height }, from, to) {
    const inside = ([px, py]) => [Math.max(left, Math.min(left + width, px)), Math.max(top, Math.min(top + height, py))];
    const [a, b] = [inside(from), inside(to)], part = { x: d3.extent([a[0], b[0]]), y: d3.extent([a[1], b[1]]) };
    part.alongX = part.x[1] - part.x[0] >= least;
    part.alongY = part.y[1] - part.y[0] >= least;
    if (!part.alongX) part.x = [left, left + width];
    if (!part.alongY) part.y = [top, top + height];
    return part;
  }

  function outline(box, { x, y, alongX, alongY }) {
    const seen = alongX || alongY;
    for (const [name, value] of Object.entries({ x: x[0], y: y[0], width: seen ? x[1] - x[0] : 0, height: seen ? y[1] - y[0] : 0 })) box.setAttribute(name, value);
  }

  function zoomInto(node, frame, { x, y, alongX, alongY }) {
    if (alongX && frame.x.invert) node.view[frame.xName] = x.map(frame.x.invert);
    if (alongY && frame.y.invert) node.view[frame.yName] = [y[1], y[0]].map(frame.y.invert);
    if (alongX || alongY) node.redraw();
  }

  function press(node, event) {
    const name = event.target.closest("[data-name]")?.dataset.name;
    if (name !== undefined) {
      if (!node.hiddenNames.delete(name)) node.hiddenNames.add(name);
      return node.redraw();
    }
    const place = placeOf(node, event), frame = node.sheet.frames.find((each) => within(each, place));
    const trial = frame && marksNear(frame, place).find((mark) => mark.trial)?.trial;
    if (trial) location.assign(node.drawing.trials + trial);
  }

  // listen lets a chart answer. It is called once for each; node.redraw draws it again.
  plots.listen = (node) => {
    node.addEventListener("pointermove", (event) => point(node, event));
    node.addEventListener("pointerdown", (event) => begin(node, event));
    node.addEventListener("pointerleave", () => leave(node));
    node.addEventListener("click", (event) => press(node, event));
    node.addEventListener("dblclick", (event) => {
      if (event.target.closest(".legend")) return;
      node.view = {};
      node.redraw();
    });
  };
})();
