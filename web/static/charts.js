// Draws the charts from the JSON beside them. Shape first, then colour; limits are red and dashed with their value at the end.
// Charts are drawn when they come into view, and redrawn in place after a refresh, so that zoom stays.
"use strict";

(() => {
  // The library is large; it is fetched when the first chart comes into view, so that entering results never waits for it.
  const address = document.currentScript.dataset.library;
  let fetched;
  const library = () => fetched ??= new Promise((done, failed) => {
    document.head.append(Object.assign(document.createElement("script"), { src: address, onload: done, onerror: failed }));
  });

  const shapes = { feasible: "circle", violated: "triangle-up", unknown: "circle-open", excluded: "x-thin", waiting: "diamond-open", other: "hexagon", recommended: "star", metric0: "circle", metric1: "square", metric2: "triangle-down", metric3: "cross" };
  const sizes = { feasible: 9, violated: 12, unknown: 9, excluded: 8, waiting: 11, other: 13, recommended: 17, metric0: 7, metric1: 7, metric2: 8, metric3: 8 };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  function palette() {
    const names = ["ink", "muted", "grid", "surface", "line-strong", "feasible", "violated", "unknown", "star", "star-edge", "limit", "second", "band"];
    return Object.fromEntries(names.map((name) => [name, colour(name)]));
  }

  function points(trace, c) {
    const colours = { feasible: c.feasible, violated: c.violated, unknown: c.unknown, excluded: c.unknown, waiting: c.ink, other: c.second, recommended: c.star, metric0: c.ink, metric1: c.second, metric2: c.feasible, metric3: c.muted };
    const edge = { feasible: c.surface, violated: c.surface, other: c.surface, recommended: c["star-edge"], metric0: c.surface, metric1: c.surface, metric2: c.surface, metric3: c.surface }[trace.style];
    return {
      type: "scatter", mode: "markers", cliponaxis: false,
      marker: {
        symbol: shapes[trace.style], size: sizes[trace.style], color: colours[trace.style], line: { width: edge ? 1 : 2, color: edge || colours[trace.style] },
        ...(trace.fade ? { opacity: trace.fade } : {}),
      },
    };
  }

  const lines = {
    step: (c) => ({ line: { color: c.ink, width: 2, shape: "hv" } }),
    line: (c) => ({ line: { color: c.feasible, width: 2 } }),
    estimate: (c) => ({ line: { color: c.feasible, width: 2, shape: "hv" } }),
    second: (c) => ({ line: { color: c.second, width: 2, dash: "dash", shape: "hv" } }),
    bound: (c) => ({ line: { color: c.muted, width: 2, dash: "dot", shape: "hv" } }),
  };

  function traceOf(trace, c) {
    const common = { name: trace.name, x: trace.x, y: trace.y, text: trace.text, visible: trace.off ? "legendonly" : true, customdata: trace.link, hoverinfo: trace.text ? "text" : "x+y+name" };
    if (trace.style === "band") return bandOf(trace, c);
    if (trace.style === "spans") return spansOf(trace, c);
    if (trace.style === "bars") {
      const up = trace.high.map((v, i) => v - trace.y[i]);
      const down = trace.low.map((v, i) => trace.y[i] - v);
      return [{ ...common, type: "scatter", mode: "markers", marker: { symbol: "line-ew-open", size: 22, color: c.feasible, line: { width: 3 } }, error_y: { type: "data", symmetric: false, array: up, arrayminus: down, color: c.feasible, thickness: 2, width: 8 } }];
    }
    if (lines[trace.style]) return [{ ...common, type: "scatter", mode: "lines", ...lines[trace.style](c) }];
    return [{ ...common, ...points(trace, c) }];
  }

  function bandOf(trace, c) {
    const edge = { type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", x: trace.x };
    return [
      { ...edge, y: trace.low, showlegend: false },
      { ...edge, y: trace.high, fill: "tonexty", fillcolor: c.band, name: trace.name },
    ];
  }

  // spansOf are bars from the lowest to the highest of many readings: one broken line, which is quick to draw.
  function spansOf(trace, c) {
    const x = [], y = [];
    trace.x.forEach((at, i) => { x.push(at, at, null); y.push(trace.low[i], trace.high[i], null); });
    return [{ type: "scatter", mode: "lines", name: trace.name, x, y, hoverinfo: "skip", connectgaps: false, line: { color: c.unknown, width: 2 }, opacity: 0.5 }];
  }

  function surfaceOf(surface, c) {
    const cells = surface.cells ? { text: surface.cells, hovertext: surface.text, texttemplate: "%{text}", textfont: { size: 13 } } : {};
    const heat = { type: "heatmap", x: surface.x, y: surface.y, z: surface.mean, text: surface.text, hoverinfo: "text", colorscale: "Cividis", zsmooth: surface.smooth ? "best" : false, xgap: surface.smooth ? 0 : 2, ygap: surface.smooth ? 0 : 2, colorbar: { title: { text: surface.meanName, side: "right" }, thickness: 14, outlinewidth: 0, tickfont: { color: c.muted }, exponentformat: "power" }, ...cells };
    const all = [heat];
    if (!surface.chance || !surface.smooth) return all;
    const contour = { type: "contour", x: surface.x, y: surface.y, z: surface.chance, hoverinfo: "skip", showscale: false, showlegend: false, autocontour: false };
    for (const [level, width, dash] of [[0.1, 1.5, "dot"], [0.5, 2, "dash"], [0.9, 3, "solid"]]) {
      const at = { coloring: "none", start: level, end: level, size: 1 };
      all.push({ ...contour, contours: at, line: { color: "#ffffff", width: width + 3 } });
      all.push({ ...contour, contours: { ...at, showlabels: true, labelfont: { size: 13, color: "#111111" }, labelformat: ".0%" }, line: { color: "#111111", width, dash } });
    }
    return all;
  }

  // The fewest whole numbers between which ticks may stand without one of them being named twice.
  const fewWhole = 8;

  function axisOf(axis, c) {
    const out = {
      title: { text: axis.title || "", standoff: 8 }, color: c.muted, gridcolor: c.grid, zeroline: false, linecolor: c["line-strong"], showline: true, automargin: true, ticks: "outside", tickcolor: c["line-strong"], exponentformat: "power", minexponent: 5,
    };
    if (axis.log) Object.assign(out, { type: "log", dtick: 1, exponentformat: axis.plain ? "none" : "power" });
    if (axis.categories) { out.type = "category"; out.categoryorder = "array"; out.categoryarray = axis.categories; }
    if (axis.fromZero) out.rangemode = "tozero";
    if (axis.range) out.range = axis.range;
    if (axis.whole) {
      out.nticks = fewWhole;
      if (axis.range && axis.range[1] - axis.range[0] <= fewWhole + 1) Object.assign(out, { tick0: 0, dtick: 1 });
    }
    if (axis.ticks && !axis.log) out.nticks = axis.ticks;
    return out;
  }

  // hatch shades the side of a limit that breaks it, as far as the data go.
  function hatch(drawing, limit, c) {
    let values = drawing.traces.flatMap((t) => [...(t.y || []), ...(t.low || []), ...(t.high || [])]).filter(Number.isFinite);
    values = values.concat(drawing.limits.map((l) => l.value));
    const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * 0.08;
    const far = limit.above ? high + room : low - room;
    return { ...hatched(c), xaxis: "x2", x: [0, 1, 1, 0], y: [limit.value, limit.value, far, far] };
  }

  const hatched = (c) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, fill: "toself", line: { width: 0 }, fillcolor: "rgba(0,0,0,0)",
    fillpattern: { shape: "/", size: 9, solidity: 0.12, fgcolor: c.limit, bgcolor: "rgba(0,0,0,0)", fillmode: "overlay" },
  });

  function frame(c, narrow) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: c.ink },
      margin: { l: 48, r: 16, t: 8, b: 40 }, hovermode: "closest", dragmode: narrow ? false : "zoom",
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, font: { size: 12 } }, hoverlabel: { align: "left", namelength: -1 }, shapes: [], annotations: [],
    };
  }

  function layoutOf(drawing, c, narrow) {
    const layout = { ...frame(c, narrow), xaxis: axisOf(drawing.x, c), yaxis: axisOf(drawing.y, c) };
    if (drawing.small) Object.assign(layout, { showlegend: false, margin: { l: 40, r: 8, t: 4, b: 32 } });
    for (const limit of drawing.limits || []) {
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit.value, y1: limit.value, line: { color: c.limit, width: 2, dash: "dash" } });
      layout.annotations.push({ xref: "paper", x: 1, xanchor: "right", y: limit.value, yanchor: limit.above ? "bottom" : "top", text: limit.label, showarrow: false, font: { color: c.limit, size: 13 }, bgcolor: c.surface, opacity: 0.9, borderpad: 1 });
    }
    if (drawing.limits) layout.xaxis2 = { overlaying: "x", range: [0, 1], visible: false, fixedrange: true };
    return layout;
  }

  // Panels stand above each other over one x axis. Their heights are in pixels, so the domains are shares of what lies between the margins.
  const gap = 26, foot = 110, top = 8, bottom = 76, eventsHeight = 20;

  function panelsOf({ panels }, c, narrow) {
    const height = foot + panels.list.reduce((sum, panel) => sum + panel.height + gap, 0);
    const inner = height - top - bottom;
    const layout = { ...frame(c, narrow), margin: { l: 56, r: 16, t: top, b: bottom }, hovermode: "x unified", hoversubplots: "axis", height, xaxis: { ...axisOf(panels.x, c), anchor: "free", position: 0 } };
    const data = [], named = new Set();
    let from = 0;
    panels.list.forEach((panel, i) => {
      const y = i ? "y" + (i + 1) : "y";
      const domain = [1 - (from + gap + panel.height) / inner, 1 - (from + gap) / inner];
      from += gap + panel.height;
      layout[i ? "yaxis" + (i + 1) : "yaxis"] = { ...axisOf({ ticks: panel.height < 100 ? 3 : 5, ...panel.y }, c), domain };
      layout.annotations.push({ xref: "paper", x: 0, xanchor: "left", yref: "paper", y: domain[1], yanchor: "bottom", text: panel.title, showarrow: false, font: { size: 13, color: c.ink, weight: 650 } });
      if (panel.limit) data.push(...limitOf(panel, panels.x.range, y, layout, c));
      for (const trace of (panel.traces || []).flatMap((t) => traceOf(t, c))) data.push(grouped({ ...trace, yaxis: y }, named));
    });
    if (panels.events) data.push(...eventsOf(panels, layout, inner, named, c));
    for (const trace of data) trace.xaxis = "x";
    return { data, layout };
  }

  // grouped gives traces of one name one place in the legend.
  function grouped(trace, named) {
    const hover = trace.mode === "lines" && trace.hoverinfo !== "skip" ? { hovertemplate: trace.name + " %{y:.4~g}<extra></extra>" } : {};
    return { ...trace, ...hover, ...legendOf(trace, named) };
  }

  // limitOf is a threshold as it stood at each trial, with the side that breaks it hatched to the edge of the panel.
  function limitOf(panel, [left, right], y, layout, c) {
    const { x, y: at, label, above } = panel.limit;
    const xs = [...x, right], ys = [...at, at.at(-1)];
    const far = panel.y.range[above ? 1 : 0];
    const cornersX = [], cornersY = [];
    xs.forEach((v, i) => { if (i) { cornersX.push(v); cornersY.push(ys[i - 1]); } cornersX.push(v); cornersY.push(ys[i]); });
    layout.annotations.push({ xref: "x", x: right, xanchor: "right", yref: y, y: ys.at(-1), yanchor: above ? "bottom" : "top", text: label, showarrow: false, font: { color: c.limit, size: 13 }, bgcolor: c.surface, opacity: 0.9, borderpad: 1 });
    return [
      { ...hatched(c), x: [...cornersX, right, xs[0]], y: [...cornersY, far, far], yaxis: y },
      { type: "scatter", mode: "lines", name: "limit", legendgroup: "limit", showlegend: !layout.limited, x: xs, y: ys, yaxis: y, hovertemplate: "limit %{y:.4~g}<extra></extra>", line: { color: c.limit, width: 2, dash: "dash", shape: "hv" } },
    ].map((trace) => { layout.limited = true; return trace; });
  }

  const eventSymbols = { correction: "cross-thin", exclusion: "x-thin", inclusion: "circle-open", "change of a limit": "line-ew", "change of settings": "square-open", "model refitted": "line-ns" };

  // eventsOf are marks in a row of their own, just above the axis.
  function eventsOf(panels, layout, inner, named, c) {
    const number = panels.list.length + 1;
    layout["yaxis" + number] = { domain: [0, eventsHeight / inner], range: [-1, 1], visible: false, fixedrange: true };
    const kinds = [...new Set(panels.events.map((event) => event.kind))];
    return kinds.map((kind) => {
      const list = panels.events.filter((event) => event.kind === kind);
      const ink = kind === "change of a limit" ? c.limit : c.ink;
      return grouped({ type: "scatter", mode: "markers", name: kind, x: list.map((e) => e.x), y: list.map(() => 0), text: list.map((e) => e.text), hoverinfo: "text", yaxis: "y" + number, cliponaxis: false,
        marker: { symbol: eventSymbols[kind], size: 11, color: ink, line: { width: 2, color: ink } } }, named);
    });
  }

  // Small charts stand side by side, as many as there is room for; those of one group share their rows.
  const gridRow = 144, gridFoot = 60, gridColumns = 4, narrowest = 150;

  function gridOf({ grid }, c, narrow, width) {
    const columns = Math.max(1, Math.min(gridColumns, Math.floor(width / narrowest)));
    let column = columns, row = -1, group = null;
    const places = grid.cells.map((cell) => {
      if (column >= columns || cell.group !== group) { row++; column = 0; group = cell.group; }
      return { row, column: column++ };
    });
    const height = (row + 1) * gridRow + gridFoot, inner = height - top - gridFoot;
    const layout = { ...frame(c, narrow), margin: { l: 8, r: 8, t: top, b: gridFoot }, height };
    layout.font.size = 12;
    const data = [], named = new Set();
    grid.cells.forEach((cell, i) => {
      const n = i ? i + 1 : "", { row, column } = places[i];
      const left = column / columns + 44 / width, right = (column + 1) / columns - 10 / width;
      const above = 1 - (row * gridRow + 22) / inner, below = 1 - ((row + 1) * gridRow - 44) / inner;
      layout["xaxis" + n] = { ...axisOf({ ticks: 4, ...cell.x, title: "" }, c), domain: [left, right], anchor: "y" + n, automargin: false };
      layout["yaxis" + n] = { ...axisOf({ ticks: 5, ...cell.y }, c), domain: [Math.max(0, below), above], anchor: "x" + n, automargin: false };
      layout.annotations.push(
        { xref: "paper", yref: "paper", x: left, y: above, xanchor: "left", yanchor: "bottom", text: cell.title, showarrow: false, font: { size: 12, color: c.ink, weight: 650 } },
        { xref: "paper", yref: "paper", x: (left + right) / 2, y: Math.max(0, below) - 18 / inner, xanchor: "center", yanchor: "top", text: cell.x.title, showarrow: false, font: { size: 12, color: c.muted } });
      for (const limit of cell.limits || []) {
        layout.shapes.push({ type: "line", xref: "x" + n + " domain", x0: 0, x1: 1, yref: "y" + n, y0: limit.value, y1: limit.value, line: { color: c.limit, width: 1.5, dash: "dash" } });
        layout.annotations.push({ xref: "x" + n + " domain", x: 1, xanchor: "right", yref: "y" + n, y: limit.value, yanchor: limit.above ? "bottom" : "top", text: limit.label, showarrow: false, font: { color: c.limit, size: 11 }, bgcolor: c.surface, opacity: 0.85, borderpad: 0 });
      }
      for (const trace of cell.traces.flatMap((t) => traceOf(t, c))) data.push({ ...smaller(trace), ...legendOf(trace, named), xaxis: "x" + n, yaxis: "y" + n });
    });
    return { data, layout };
  }

  function smaller(trace) {
    if (trace.mode !== "markers" || !trace.marker || trace.error_y) return trace;
    return { ...trace, marker: { ...trace.marker, size: trace.marker.size * (trace.marker.symbol === "star" ? 0.85 : 0.65) } };
  }

  // legendOf lets traces of one name stand once in the legend.
  function legendOf(trace, named) {
    const shown = trace.showlegend !== false && !named.has(trace.name);
    if (trace.showlegend !== false) named.add(trace.name);
    return { legendgroup: trace.name, showlegend: shown };
  }

  function figureOf(drawing, node) {
    const c = palette();
    const narrow = matchMedia("(pointer: coarse)").matches || node.clientWidth < 360;
    if (drawing.grid) return gridOf(drawing, c, narrow, node.clientWidth || 900);
    if (drawing.panels) {
      const figure = panelsOf(drawing, c, narrow);
      delete figure.layout.limited;
      return figure;
    }
    const data = [
      ...(drawing.limits || []).map((limit) => hatch(drawing, limit, c)),
      ...(drawing.surface ? surfaceOf(drawing.surface, c) : []),
      ...drawing.traces.flatMap((trace) => traceOf(trace, c)),
    ];
    return { data, layout: layoutOf(drawing, c, narrow) };
  }

  // plain lets text stand as it is written. Names are anybody's, and the library would read tags and entities in them; a line break is one.
  const markup = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": "<br>" };
  const plain = (text) => text.replace(/[&<>\n]/g, (character) => markup[character]);

  // worded makes every text plain of what is drawn, but where links lead.
  function worded(value, name) {
    if (typeof value === "string") return plain(value);
    if (value === null || typeof value !== "object" || name === "link") return value;
    if (Array.isArray(value)) return value.map((each) => worded(each));
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, worded(each, key)]));
  }

  function drawingOf(node) {
    const data = document.getElementById(node.id + "-data");
    return data && worded(JSON.parse(data.textContent));
  }

  async function draw(node) {
    await library();
    const drawing = drawingOf(node);
    if (!drawing) return;
    const { data, layout } = figureOf(drawing, node);
    if (layout.height) node.style.height = layout.height + "px";
    keepZoom(node, layout);
    const fresh = !node.classList.contains("js-plotly-plot");
    await Plotly.react(node, data, layout, { displayModeBar: false, responsive: true, doubleClick: false, showTips: false });
    if (fresh) listen(node);
  }

  // keepZoom lets a redrawn chart show what the person had zoomed into.
  function keepZoom(node, layout) {
    for (const axis of node.zoomed ?? []) if (layout[axis] && node.layout[axis]) layout[axis] = { ...layout[axis], range: [...node.layout[axis].range] };
  }

  function listen(node) {
    node.zoomed = new Set();
    node.on("plotly_relayout", (change) => {
      for (const key of Object.keys(change)) {
        const axis = key.match(/^([xy]axis\d*)\.range/)?.[1];
        if (axis) node.zoomed.add(axis);
      }
    });
    node.on("plotly_doubleclick", () => {
      node.zoomed.clear();
      draw(node);
    });
    node.on("plotly_click", (event) => {
      const link = event.points.map((point) => point.customdata).find((to) => typeof to === "string");
      if (link) location.assign(link);
    });
  }

  // Charts in view are drawn one after the other, so that the page answers between them.
  let turn = Promise.resolve();
  const rest = () => new Promise((done) => setTimeout(done));

  const inView = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      inView.unobserve(entry.target);
      turn = turn.then(() => draw(entry.target)).then(rest);
    }
  }, { rootMargin: "300px" });

  function drawAll(root) {
    const nodes = [...root.querySelectorAll("[data-chart]")];
    for (const node of nodes) {
      if (node.classList.contains("js-plotly-plot")) draw(node); else inView.observe(node);
    }
  }

  // A saved picture carries its title, its whole caption and where it comes from, on white, so that it can stand alone.
  async function save(id, format) {
    await library();
    const node = document.getElementById(id);
    const drawing = drawingOf(node);
    const { data, layout } = figureOf(drawing, node);
    const ink = "#191c20";
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const title = document.getElementById(id + "-title").textContent;
    const words = [...wrap(drawing.caption, 130), "", ...wrap(drawing.foot, 130)];
    // Below the axes come their names, the legend and the words; the axes keep the height they have on the page.
    const above = 56, named = drawing.grid ? 8 : 52, legend = 84, below = named + legend + words.length * 16 + 12;
    const inner = layout.height ? layout.height - layout.margin.t - layout.margin.b : 420;
    const height = above + inner + below;
    Object.assign(layout, {
      title: { text: plain(title), x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 16 } }, paper_bgcolor: dark ? colour("surface") : "#ffffff",
      margin: { l: 72, r: 32, t: above, b: below }, width: 1000, height, legend: { ...layout.legend, yref: "paper", y: -named / inner, yanchor: "top" },
    });
    if (!dark) layout.font.color = ink;
    layout.annotations.push({ text: words.join("<br>"), showarrow: false, xref: "paper", yref: "paper", x: 0, y: -(below - 8) / inner, xanchor: "left", yanchor: "bottom", align: "left", font: { size: 12 } });
    Plotly.downloadImage({ data, layout }, { format, filename: title, width: 1000, height, scale: format === "png" ? 2 : 1 });
  }

  function wrap(text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
      if ((lines.at(-1) + word).length > width) lines.push("");
      lines[lines.length - 1] += word + " ";
    }
    return lines;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save]");
    if (button) save(button.dataset.save, button.dataset.format);
  });
  document.addEventListener("htmx:afterSettle", (event) => drawAll(event.detail.elt));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(document));

  // Sections below the fold are fetched when they come near the window. Before that, changes of the study do not concern them.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) seen(entry.target);
  }, { rootMargin: "500px" });

  function seen(section) {
    near.unobserve(section);
    htmx.trigger(section, "seen");
  }

  for (const section of document.querySelectorAll("[data-later]")) near.observe(section);
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, requestConfig } = event.detail;
    if ("later" in elt.dataset && requestConfig.triggeringEvent?.type === "changed") event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", (event) => { delete event.detail.target.dataset.later; });

  // Printing does not wait, so what has not been seen yet is fetched and drawn before the dialogue opens.
  document.addEventListener("keydown", async (event) => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const waiting = [...document.querySelectorAll("[data-later]")];
    await Promise.all(waiting.map((section) => new Promise((done) => {
      section.addEventListener("htmx:afterSettle", done, { once: true });
      section.addEventListener("htmx:responseError", done, { once: true });
      section.addEventListener("htmx:sendError", done, { once: true });
      seen(section);
    })));
    for (const node of document.querySelectorAll("[data-chart]")) await draw(node);
    print();
  });

  // Paper is narrower than screens.
  const drawn = () => document.querySelectorAll("[data-chart].js-plotly-plot");
  addEventListener("beforeprint", () => { for (const node of drawn()) Plotly.relayout(node, { width: node.closest(".two, .three, .slices") ? 320 : 660 }); });
  addEventListener("afterprint", () => { for (const node of drawn()) Plotly.relayout(node, { width: null, autosize: true }); });
  drawAll(document);
})();
