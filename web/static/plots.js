// Makes the picture of a drawing: panels over one x axis, a grid of small charts, or a map. Shape first, then colour; limits are red and dashed with
// their value at the end, and the side that breaks them is hatched. Whatever is of one kind is one path, so that thousands of readings draw at once.
"use strict";

(() => {
  const { add, at, fitted, frameOf, scaleOf, shown, ticksOf, widthOf } = plots;
  const paint = (name) => `var(--${name})`;

  // Shapes of marks around a point, by their radius.
  const closed = (corners) => "m" + corners.map(([x, y], i) => (i ? [x - corners[i - 1][0], y - corners[i - 1][1]] : [x, y])).map((step) => step.map((v) => v.toFixed(2))).join("l") + "z";
  const polygon = (count, turn, inner = 1) => (r) => closed(d3.range(count).map((i) => {
    const angle = turn + (2 * Math.PI * i) / count, radius = i % 2 ? r * inner : r;
    return [radius * Math.sin(angle), -radius * Math.cos(angle)];
  }));
  const shapes = {
    circle: (r) => `m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
    up: polygon(3, 0), down: polygon(3, Math.PI), square: polygon(4, Math.PI / 4), diamond: polygon(4, 0), hexagon: polygon(6, 0), star: polygon(10, 0, 0.42),
    cross: (r) => `m${-r},${-r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`,
    plus: (r) => `m${-r},0h${2 * r}m${-r},${-r}v${2 * r}`,
    upright: (r) => `m0,${-r}v${2 * r}`,
    level: (r) => `m${-r},0h${2 * r}`,
  };

  // Marks by style: shape, radius, colour, and the edge of those that are filled.
  const marks = {
    feasible: { shape: "circle", r: 4.5, fill: "feasible", edge: "surface" },
    violated: { shape: "up", r: 6.5, fill: "violated", edge: "surface" },
    unknown: { shape: "circle", r: 4.5, edge: "unknown" },
    excluded: { shape: "cross", r: 4, edge: "unknown" },
    original: { shape: "plus", r: 4.5, edge: "unknown" },
    doubted: { shape: "down", r: 6, edge: "limit" },
    waiting: { shape: "diamond", r: 6, edge: "ink" },
    other: { shape: "hexagon", r: 7, fill: "second", edge: "surface" },
    recommended: { shape: "star", r: 10, fill: "star", edge: "star-edge" },
    metric0: { shape: "circle", r: 3.5, fill: "ink", edge: "surface" },
    metric1: { shape: "square", r: 4.2, fill: "second", edge: "surface" },
    metric2: { shape: "down", r: 5, fill: "feasible", edge: "surface" },
    metric3: { shape: "plus", r: 4, edge: "muted" },
    correction: { shape: "plus", r: 5.5, edge: "ink" },
    exclusion: { shape: "cross", r: 4.5, edge: "ink" },
    inclusion: { shape: "circle", r: 5, edge: "ink" },
    "change of a limit": { shape: "level", r: 5.5, edge: "limit" },
    "change of settings": { shape: "square", r: 6, edge: "ink" },
    "model refitted": { shape: "upright", r: 5.5, edge: "ink" },
  };
  const lookOf = ({ fill, edge }) => ({ fill: fill ? paint(fill) : "none", stroke: paint(edge), "stroke-width": fill ? 1 : 2 });

  // Lines by style; those that hold their value until the next trial are steps.
  const lines = {
    step: { stroke: paint("ink"), hold: true },
    line: { stroke: paint("feasible") },
    estimate: { stroke: paint("feasible"), hold: true, width: 4 }, // wider, so that it is seen below what it agrees with
    second: { stroke: paint("second"), dash: "8 5", hold: true },
    bound: { stroke: paint("muted"), dash: "2 4", hold: true },
    limit: { stroke: paint("limit"), dash: "8 5", hold: true },
  };
  const strokeOf = ({ stroke, dash, width: own }, width = own ?? 2) => ({ fill: "none", stroke, "stroke-width": width, "stroke-dasharray": dash });

  // A trace in a frame: bands and lines are cut off at the frame, marks stand whole or not at all.
  function drawTrace(root, frame, trace, small) {
    const { x, y } = frame, X = (i) => at(x, trace.x[i]);
    const every = d3.range(trace.x.length), inside = { "clip-path": `url(#${frame.clip})` };
    if (trace.style === "band") {
      add(root, "path", { ...inside, fill: paint("band"), d: d3.area().x(X).y0((i) => y(trace.low[i])).y1((i) => y(trace.high[i]))(every) });
    } else if (trace.style === "spans") {
      add(root, "path", { ...inside, fill: "none", stroke: paint("unknown"), "stroke-width": 2, opacity: 0.5, d: every.map((i) => `M${X(i)},${y(trace.low[i]) + 0.5}V${y(trace.high[i]) - 0.5}`).join("") });
    } else if (trace.style === "bars") {
      const bar = (i) => `M${X(i)},${y(trace.low[i])}V${y(trace.high[i])}m-4,0h8M${X(i) - 4},${y(trace.low[i])}h8M${X(i) - 11},${y(trace.y[i])}h22`;
      add(root, "path", { ...inside, ...strokeOf({ stroke: paint("feasible") }), d: every.map(bar).join("") });
    } else if (lines[trace.style]) {
      const line = d3.line().x(X).y((i) => y(trace.y[i])).curve(lines[trace.style].hold ? d3.curveStepAfter : d3.curveLinear);
      add(root, "path", { ...inside, ...strokeOf(lines[trace.style]), d: line(every) });
    } else {
      drawMarks(root, frame, trace, every, small);
    }
  }

  const crowd = 250;

  // Marks that are seen equally well are one path.
  function drawMarks(root, { x, y }, trace, every, small) {
    const standing = every.filter((i) => shown(x, trace.x[i]) && shown(y, trace.y[i]));
    // Where hundreds crowd, marks are smaller and without the edge that would cover their neighbours.
    const mark = marks[trace.style], crowded = standing.length > crowd;
    const outline = shapes[mark.shape](mark.r * (crowded ? 0.5 : !small ? 1 : trace.style === "recommended" ? 0.85 : 0.65)), look = crowded ? { ...lookOf(mark), stroke: mark.fill ? "none" : paint(mark.edge) } : lookOf(mark);
    for (const [seen, some] of d3.group(standing, (i) => trace.fade?.[i] ?? 1)) {
      add(root, "path", { ...look, opacity: seen < 1 ? seen : crowded ? 0.7 : undefined, d: some.map((i) => `M${at(x, trace.x[i]).toFixed(1)},${at(y, trace.y[i]).toFixed(1)}${outline}`).join("") });
    }
  }

  // A limit is a line of steps, from the left edge where it begins nowhere; the side that breaks it is hatched to the edge of the frame.
  function drawLimit(root, frame, { x, y, label, above }, small) {
    const right = frame.left + frame.width, bottom = frame.top + frame.height, edge = above ? frame.top : bottom;
    const inside = { "clip-path": `url(#${frame.clip})` };
    const corners = x.map((value, i) => [value === null ? frame.left : at(frame.x, value), frame.y(y[i])]);
    corners.push([right, corners.at(-1)[1]]);
    const step = d3.area().x((corner) => corner[0]).y0((corner) => corner[1]).y1(edge).curve(d3.curveStepAfter);
    add(root, "path", { ...inside, fill: `url(#${frame.hatch})`, d: step(corners) });
    add(root, "path", { ...inside, ...strokeOf(lines.limit, small ? 1.5 : 2), d: step.lineY0()(corners) });
    const end = corners.at(-1)[1], size = small ? 11 : 13;
    if (end < frame.top - 1 || end > bottom + 1) return () => {};
    // Written above its line where values above break it, as long as there is room; on the other side where marks are in the way and that is free.
    const room = { over: end - size - 4 > frame.top, under: end + size + 6 < bottom }, wide = widthOf(label, size) + 10;
    const taken = (low, high) => frame.traces.some((trace) => marks[trace.style] && trace.x.some((value, i) => at(frame.x, value) > right - wide && frame.y(trace.y[i]) > low - 6 && frame.y(trace.y[i]) < high + 6));
    let over = above ? room.over : !room.under;
    const here = over ? [end - size - 4, end] : [end, end + size + 4], there = over ? [end, end + size + 4] : [end - size - 4, end];
    if ((over ? room.under : room.over) && taken(...here) && !taken(...there)) over = !over;
    return () => written(root, right - 3, end + (over ? -5 : size + 2), label, { fill: paint("limit"), "font-size": size, "text-anchor": "end" });
  }

  // written is a text that stays readable on whatever lies below it.
  function written(root, x, y, text, attributes) {
    add(root, "text", { "paint-order": "stroke", stroke: paint("surface"), "stroke-width": 4, "stroke-linejoin": "round", ...attributes, x, y }, text);
  }

  // furnish gives a frame what it is cut off at and hatched with.
  function furnish(sheet, frame) {
    const number = sheet.frames.push(frame);
    frame.clip = `${sheet.id}-clip-${number}`;
    frame.hatch = sheet.id + "-hatch";
    add(add(sheet.defs, "clipPath", { id: frame.clip }), "rect", { x: frame.left, y: frame.top, width: Math.max(0, frame.width), height: Math.max(0, frame.height) });
    return frame;
  }

  function sheetOf(id, width, alone) {
    const svg = add(document.createElement("div"), "svg", { "font-family": plots.family, "font-size": 13, fill: paint("ink") });
    const defs = add(svg, "defs");
    const pattern = add(defs, "pattern", { id: id + "-hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    add(pattern, "path", { d: "M0,0V8", stroke: paint("limit"), "stroke-width": 1.6, opacity: 0.55 });
    return { id, svg, defs, width, alone, frames: [] };
  }

  const gutter = 16;

  // legendOf keeps what the names in a picture stand for. A picture that stands alone has them drawn below its axes; in a page they are buttons there.
  function legendOf(sheet, names, top, hidden) {
    sheet.names = names;
    if (!sheet.alone) return top;
    let x = 4, y = top + 12;
    for (const [name, look] of names) {
      const width = widthOf(name, 12) + 30;
      if (x > 4 && x + width > sheet.width) [x, y] = [4, y + 20];
      const item = add(sheet.svg, "g", { opacity: hidden.has(name) ? 0.4 : undefined });
      swatch(item, x + 9, y - 2, look);
      fitted(item, name, sheet.width - x - 23, { x: x + 23, y: y + 2, "font-size": 12 });
      x += width + gutter;
    }
    return names.size ? y + 12 : top;
  }

  // keyOf is the picture of a name in a legend.
  plots.keyOf = (style) => {
    const svg = add(document.createElement("div"), "svg", { width: 22, height: 16, viewBox: "0 0 22 16", "aria-hidden": "true" });
    swatch(svg, 11, 8, style);
    return svg;
  };

  function swatch(root, x, y, style) {
    if (style === "band") add(root, "rect", { x: x - 9, y: y - 5, width: 18, height: 10, fill: paint("band") });
    else if (style === "spans") add(root, "path", { d: `M${x - 4},${y - 6}v12m4,-9v8m4,-10v10`, stroke: paint("unknown"), "stroke-width": 2, opacity: 0.6 });
    else if (style === "bars") add(root, "path", { d: `M${x},${y - 6}v12m-3,0h6m-6,-12h6m-9,6h12`, ...strokeOf({ stroke: paint("feasible") }) });
    else if (lines[style]) add(root, "path", { d: `M${x - 9},${y}h18`, ...strokeOf(lines[style]) });
    else add(root, "path", { d: `M${x},${y}${shapes[marks[style].shape](Math.min(6.5, marks[style].r))}`, ...lookOf(marks[style]) });
  }

  // Widest tick that an axis will have, in pixels.
  const tickRoom = (axis, height, size) => Math.max(...ticksOf(axis, scaleOf(axis, axis.domain, [height, 0]), axis.ticks ?? Math.max(2, Math.floor(height / 36))).map(([, words]) => widthOf(words, size)), 0);

  // domainOf is what an axis shows: what somebody zoomed into, what it is told, or what the data span.
  function domainOf(axis, zoomed, traces, of) {
    return apart(zoomed ?? axis.range ?? d3.extent(traces.flatMap(of).filter(Number.isFinite)));
  }

  // apart keeps the ends of an axis so far from each other that its ticks differ in digits that mean something.
  function apart([low, high]) {
    if (low === undefined) return [0, 1];
    const size = Math.max(Math.abs(low), Math.abs(high));
    return high - low > 1e-9 * size ? [low, high] : [low - 0.05 * (size || 1), high + 0.05 * (size || 1)];
  }

  // Pixels above each panel for its title, of the row of events, and of the ticks below; Panels.Height of the server adds up the same.
  const panelGap = 22, eventsHeight = 18, ticksHeight = 24;

  // Panels stand above each other over one x axis.
  function panelsOf(sheet, { panels }, view, hidden) {
    const axis = { ...panels.x, domain: view.x ?? panels.x.range }, names = new Map();
    const yOf = (panel, i) => ({ ticks: panel.height < 100 ? 3 : 5, ...panel.y, domain: domainOf(panel.y, view["y" + i], panel.traces, (t) => [...(t.y ?? []), ...(t.low ?? []), ...(t.high ?? [])]) });
    const left = Math.ceil(Math.max(28, ...panels.list.map((panel, i) => tickRoom(yOf(panel, i), panel.height, 12)))) + 14, width = sheet.width - left - gutter;
    let top = 0;
    panels.list.forEach((panel, i) => {
      const y = yOf(panel, i);
      const begins = Math.max(4, Math.min(left, sheet.width - 4 - widthOf(panel.title, 13, 650)));
      fitted(sheet.svg, panel.title, sheet.width - begins, { x: begins, y: top + 15, "font-size": 13, "font-weight": 650 });
      top += panelGap;
      const frame = furnish(sheet, frameOf(sheet.svg, { left, top, width, height: panel.height }, { x: axis, y }, { bare: { x: true } }));
      Object.assign(frame, { xName: "x", yName: "y" + i, traces: panel.traces.filter((trace) => !hidden.has(trace.name)), limit: hidden.has("limit") ? null : panel.limit });
      const label = frame.limit && drawLimit(sheet.svg, frame, frame.limit);
      for (const trace of frame.traces) drawTrace(sheet.svg, frame, trace);
      label?.();
      if (panel.limit) names.set("limit", "limit");
      for (const trace of panel.traces) names.set(trace.name, trace.style);
      top += panel.height;
    });
    top += eventsOf(sheet, panels.events ?? [], sheet.frames[0].x, top, names, hidden);
    frameOf(sheet.svg, { left, top, width, height: 0 }, { x: axis, y: { domain: [0, 1], ticks: 0 } });
    add(sheet.svg, "text", { x: left - 7, y: top + 17, "font-size": 12, "text-anchor": "end", fill: paint("muted") }, panels.x.title);
    return legendOf(sheet, names, top + ticksHeight, hidden);
  }

  // eventsOf draws marks in a row of their own, just above the axis; it returns how high that is.
  function eventsOf(sheet, events, x, top, names, hidden) {
    sheet.events = events.filter((event) => !hidden.has(event.kind) && shown(x, event.x));
    const row = { x, y: d3.scaleLinear([0, 1], [top + eventsHeight, top]) };
    for (const [kind, list] of d3.group(events, (event) => event.kind)) {
      names.set(kind, kind);
      if (!hidden.has(kind)) drawMarks(sheet.svg, row, { style: kind, x: list.map((e) => e.x), y: list.map(() => 0.45) }, d3.range(list.length));
    }
    return events.length ? eventsHeight : 8;
  }

  // Small charts stand side by side, as many as there is room for. Those of one group share their rows, and the axis of the first in a row; where
  // every group takes one row, the columns share their axis, too. Grid.Height of the server adds up the same pixels.
  const gridTitle = 22, gridPlot = 80, gridRoom = 8, gridAxis = 34, gridColumns = 4, narrowest = 150;

  function placesOf(cells, columns) {
    const sizes = d3.rollup(cells, (group) => group.length, (cell) => cell.group), aligned = Math.max(...sizes.values()) <= columns;
    let column = columns, top = 0, group = null, row = 0;
    const places = cells.map((cell, i) => {
      const first = column >= columns || cell.group !== group;
      if (first && i) top += row;
      if (first) [column, group] = [0, cell.group];
      const labelled = !aligned || cell.group === cells.at(-1).group;
      row = gridTitle + gridPlot + gridRoom + (labelled ? gridAxis : 0);
      return { column: column++, top, first, labelled };
    });
    return { places, height: top + row };
  }

  function gridOf(sheet, { grid }, view, hidden) {
    const most = Math.max(...d3.rollup(grid.cells, (group) => group.length, (cell) => cell.group).values());
    const columns = Math.max(1, Math.min(gridColumns, most, Math.floor(sheet.width / narrowest))), names = new Map();
    const { places, height } = placesOf(grid.cells, columns);
    const axes = grid.cells.map((cell, i) => [
      { ticks: 4, ...cell.x, domain: domainOf(cell.x, view["x" + i], cell.traces, (t) => t.x) },
      { ticks: 4, ...cell.y, domain: domainOf(cell.y, view["y" + i], cell.traces, (t) => t.y ?? []) }]);
    const left = Math.ceil(Math.max(24, ...axes.map(([, y]) => tickRoom(y, gridPlot, 11)))) + 12, width = (sheet.width - left - 6) / columns;
    grid.cells.forEach((cell, i) => {
      const { column, top, first, labelled } = places[i], place = { left: left + column * width, top: top + gridTitle, width: width - 10, height: gridPlot };
      if (first) fitted(sheet.svg, cell.title, sheet.width - left, { x: place.left, y: top + 15, "font-size": 12, "font-weight": 650 });
      const bare = { x: !labelled && !view["x" + i], y: !first && !view["y" + i] };
      const frame = furnish(sheet, frameOf(sheet.svg, place, { x: axes[i][0], y: axes[i][1] }, { size: 11, bare, inward: true }));
      Object.assign(frame, { xName: "x" + i, yName: "y" + i, traces: cell.traces.filter((trace) => !hidden.has(trace.name)) });
      if (labelled) fitted(sheet.svg, cell.x.title, place.width + 6, { x: place.left + place.width / 2, y: place.top + gridPlot + 29, "font-size": 12, "text-anchor": "middle", fill: paint("muted") });
      const labels = (cell.limits ?? []).map((limit) => drawLimit(sheet.svg, frame, { ...limit, x: [null], y: [limit.value], label: first ? limit.label : "" }, true));
      for (const trace of frame.traces) drawTrace(sheet.svg, frame, trace, true);
      for (const label of labels) label();
      for (const trace of cell.traces) names.set(trace.name, trace.style);
    });
    return legendOf(sheet, names, height, hidden);
  }

  // A map: colour is the mean, lines are chances, marks on top. Beside it stands what the colours mean.
  function mapOf(sheet, drawing, view, hidden, tall) {
    const { surface } = drawing, smooth = surface.smooth;
    sheet.svg.classList.add("map");
    const names = new Map(drawing.traces.map((trace) => [trace.name, trace.style]));
    const legend = rowsOf(names, sheet.width) * 20 + 6;
    const height = Math.max(160, tall - 44 - legend - 6);
    const axes = { x: { ...drawing.x, domain: view.x ?? d3.extent(surface.x) }, y: { ...drawing.y, domain: view.y ?? d3.extent(surface.y) } };
    const left = Math.ceil(Math.min(sheet.width / 4, Math.max(24, tickRoom(axes.y, height, 12)))) + 34;
    const colour = d3.scaleSequential(apart(d3.extent(surface.mean.flat())), d3.interpolateCividis);
    const scale = { domain: colour.domain(), ticks: Math.floor(height / 50) }, room = Math.ceil(tickRoom(scale, height, 12));
    const width = sheet.width - left - room - 58, place = { left, top: 6, width, height };
    const behind = add(sheet.svg, "g"), frame = furnish(sheet, frameOf(sheet.svg, place, axes, { bare: { grid: true }, room: left - 31 }));
    Object.assign(frame, { xName: "x", yName: "y", traces: drawing.traces.filter((trace) => !hidden.has(trace.name)), surface });
    if (smooth) shadeOf(behind, frame, surface, colour);
    else cellsOf(behind, frame, surface, colour);
    if (smooth && surface.chance) chancesOf(sheet.svg, frame, surface);
    for (const trace of frame.traces) drawTrace(sheet.svg, frame, trace);
    fitted(sheet.svg, drawing.x.title, width + 60, { x: left + width / 2, y: 6 + height + 36, "font-size": 13, "text-anchor": "middle", fill: paint("muted") });
    upright(sheet.svg, 12, 6 + height / 2, drawing.y.title, height);
    colourBar(sheet, { left: left + width + 14, top: 6, height }, scale, colour, room, surface.meanName);
    return legendOf(sheet, names, 6 + height + 44, hidden);
  }

  // How many rows a legend takes.
  function rowsOf(names, width) {
    let x = 4, rows = names.size ? 1 : 0;
    for (const name of names.keys()) {
      const wide = widthOf(name, 12) + 30;
      if (x > 4 && x + wide > width) [x, rows] = [4, rows + 1];
      x += wide + gutter;
    }
    return rows;
  }

  const upright = (root, x, y, text, room) => fitted(root, text, room, { transform: `translate(${x},${y}) rotate(-90)`, "font-size": 13, "text-anchor": "middle", fill: paint("muted") });

  function colourBar(sheet, { left, top, height }, axis, colour, room, name) {
    const gradient = add(sheet.defs, "linearGradient", { id: sheet.id + "-colours", x1: 0, x2: 0, y1: 1, y2: 0 });
    for (const t of d3.range(0, 1.01, 0.1)) add(gradient, "stop", { offset: t, "stop-color": d3.interpolateCividis(t) });
    add(sheet.svg, "rect", { x: left, y: top, width: 12, height, fill: `url(#${sheet.id}-colours)` });
    const y = d3.scaleLinear(colour.domain(), [top + height, top]);
    for (const [value, words] of ticksOf(axis, y, axis.ticks)) add(sheet.svg, "text", { x: left + 16, y: y(value), dy: "0.32em", "font-size": 12, fill: paint("muted") }, words);
    upright(sheet.svg, left + room + 34, top + height / 2, name, height);
  }

  // pictureOf is a surface with a pixel a value; whoever shows it larger blends them.
  function pictureOf({ mean }, colour) {
    const canvas = Object.assign(document.createElement("canvas"), { width: mean[0].length, height: mean.length }), context = canvas.getContext("2d");
    mean.forEach((row, i) => row.forEach((value, j) => {
      context.fillStyle = colour(value);
      context.fillRect(j, mean.length - 1 - i, 1, 1);
    }));
    return canvas.toDataURL();
  }

  // spread are the pixels of a surface's outer edges; its values are evenly spread and stand in the middle of their part.
  function spread(scale, values) {
    const first = scale(values[0]), last = scale(values.at(-1)), half = (last - first) / (values.length - 1) / 2;
    return [first - half, last + half];
  }

  function shadeOf(root, frame, surface, colour) {
    const [left, right] = spread(frame.x, surface.x), [bottom, top] = spread(frame.y, surface.y);
    const within = add(root, "g", { "clip-path": `url(#${frame.clip})` });
    add(within, "image", { x: left, y: top, width: right - left, height: bottom - top, preserveAspectRatio: "none", href: pictureOf(surface, colour) });
  }

  // Choices have no order, so each pair of values is a cell with its numbers in it.
  function cellsOf(root, frame, surface, colour) {
    const { x, y } = frame, wide = x.bandwidth(), tall = y.bandwidth(), size = Math.min(13, Math.max(9, wide / 5));
    surface.mean.forEach((row, i) => row.forEach((value, j) => {
      add(root, "rect", { x: x(surface.x[j]) + 1, y: y(surface.y[i]) + 1, width: Math.max(1, wide - 2), height: Math.max(1, tall - 2), fill: colour(value) });
      const words = surface.cells?.[i][j].split("\n") ?? [], dark = d3.lab(colour(value)).l > 55;
      words.map((line) => (widthOf(line, size) > wide - 2 ? line.replace(/^over /, ">").replace(/^under /, "<") : line)).forEach((line, k) => {
        if (widthOf(line, size) > wide - 2 || words.length * (size + 2) > tall) return;
        add(root, "text", { x: at(x, surface.x[j]), y: at(y, surface.y[i]) + (k - (words.length - 1) / 2) * (size + 2), dy: "0.35em", "font-size": size, "text-anchor": "middle", fill: dark ? "#111111" : "#ffffff" }, line);
      });
    }));
  }

  // The chance to stay within every limit, as lines with their number on them.
  function chancesOf(root, frame, { x, y, chance }) {
    const [left, right] = spread(frame.x, x), [bottom, top] = spread(frame.y, y);
    const place = ([u, v]) => [left + ((u - 1) / x.length) * (right - left), bottom + ((v - 1) / y.length) * (top - bottom)];
    // A ring of the outermost values around them takes the contours' closing edges out of sight.
    const padded = [chance[0], ...chance, chance.at(-1)].map((row) => [row[0], ...row, row.at(-1)]);
    const contours = d3.contours().size([x.length + 2, y.length + 2]), values = padded.flat(), labels = [];
    for (const [level, width, dash] of [[0.1, 1.5, "2 4"], [0.5, 2, "8 5"], [0.9, 3]]) {
      const rings = contours.contour(values, level).coordinates.flat().map((ring) => ring.map(place));
      const d = rings.map((ring) => "M" + ring.map((point) => point.map((v) => v.toFixed(1))).join("L") + "Z").join("");
      const line = { d, fill: "none", "clip-path": `url(#${frame.clip})` };
      add(root, "path", { ...line, stroke: "#ffffff", "stroke-width": width + 3 });
      add(root, "path", { ...line, stroke: "#111111", "stroke-width": width, "stroke-dasharray": dash });
      const inside = rings.map((ring) => ring.filter(([px, py]) => px > frame.left + 14 && px < frame.left + frame.width - 14 && py > frame.top + 10 && py < frame.top + frame.height - 6));
      const longest = d3.greatest(inside, (ring) => ring.length);
      if (longest?.length > 6) labels.push([longest[Math.floor(longest.length * level)], d3.format(".0%")(level)]);
    }
    for (const [[px, py], text] of labels) written(root, px, py + 4, text, { fill: "#111111", stroke: "#ffffff", "font-size": 13, "text-anchor": "middle" });
  }

  // picture draws on a sheet of that width. view is what was zoomed into, hidden are the names that were pressed away, tall is how high a map may be;
  // alone says that the legend belongs to the picture.
  plots.picture = (id, drawing, width, { view = {}, hidden = new Set(), tall = 400, alone = false } = {}) => {
    const sheet = sheetOf(id, width, alone);
    const make = drawing.panels ? panelsOf : drawing.grid ? gridOf : mapOf;
    sheet.height = Math.ceil(make(sheet, drawing, view, hidden, tall));
    for (const [name, value] of Object.entries({ width, height: sheet.height, viewBox: `0 0 ${width} ${sheet.height}` })) sheet.svg.setAttribute(name, value);
    return sheet;
  };
})();
