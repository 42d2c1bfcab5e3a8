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

  const shapes = { feasible: "circle", violated: "triangle-up", unknown: "circle-open", waiting: "diamond-open", recommended: "star" };
  const sizes = { feasible: 9, violated: 12, unknown: 9, waiting: 11, recommended: 17 };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  function palette() {
    const names = ["ink", "muted", "grid", "surface", "line-strong", "feasible", "violated", "unknown", "star", "star-edge", "limit", "second", "band"];
    return Object.fromEntries(names.map((name) => [name, colour(name)]));
  }

  function points(trace, c) {
    const colours = { feasible: c.feasible, violated: c.violated, unknown: c.unknown, waiting: c.ink, recommended: c.star };
    const edge = { feasible: c.surface, violated: c.surface, recommended: c["star-edge"] }[trace.style];
    return {
      type: "scatter", mode: "markers", cliponaxis: false,
      marker: { symbol: shapes[trace.style], size: sizes[trace.style], color: colours[trace.style], line: { width: edge ? 1 : 2, color: edge || colours[trace.style] } },
    };
  }

  const lines = {
    step: (c) => ({ line: { color: c.ink, width: 2, shape: "hv" } }),
    line: (c) => ({ line: { color: c.feasible, width: 2 } }),
    second: (c) => ({ line: { color: c.second, width: 2, dash: "dash" } }),
    bound: (c) => ({ line: { color: c.muted, width: 2, dash: "dot" } }),
  };

  function traceOf(trace, c) {
    const common = { name: trace.name, x: trace.x, y: trace.y, text: trace.text, visible: trace.off ? "legendonly" : true, customdata: trace.link, hoverinfo: trace.text ? "text" : "x+y+name" };
    if (trace.style === "band") return bandOf(trace, c);
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

  function surfaceOf(surface, c) {
    const heat = { type: "heatmap", x: surface.x, y: surface.y, z: surface.mean, text: surface.text, hoverinfo: "text", colorscale: "Cividis", zsmooth: surface.smooth ? "best" : false, colorbar: { title: { text: surface.meanName, side: "right" }, thickness: 14, outlinewidth: 0, tickfont: { color: c.muted } } };
    const all = [heat];
    if (!surface.chance) return all;
    const contour = { type: "contour", x: surface.x, y: surface.y, z: surface.chance, hoverinfo: "skip", showscale: false, showlegend: false, autocontour: false };
    for (const [level, width, dash] of [[0.1, 1.5, "dot"], [0.5, 2, "dash"], [0.9, 3, "solid"]]) {
      const at = { coloring: "none", start: level, end: level, size: 1 };
      all.push({ ...contour, contours: at, line: { color: "#ffffff", width: width + 3 } });
      all.push({ ...contour, contours: { ...at, showlabels: true, labelfont: { size: 13, color: "#111111" }, labelformat: ".0%" }, line: { color: "#111111", width, dash } });
    }
    return all;
  }

  function axisOf(axis, c) {
    const out = {
      title: { text: axis.title, standoff: 8 }, color: c.muted, gridcolor: c.grid, zeroline: false, linecolor: c["line-strong"], showline: true, automargin: true, ticks: "outside", tickcolor: c["line-strong"],
    };
    if (axis.log) { out.type = "log"; out.dtick = undefined; }
    if (axis.categories) { out.type = "category"; out.categoryorder = "array"; out.categoryarray = axis.categories; }
    if (axis.fromZero) out.rangemode = "tozero";
    if (axis.range) out.range = axis.range;
    if (axis.whole) { out.tickformat = "d"; out.nticks = 8; }
    return out;
  }

  // hatch shades the side of a limit that breaks it, as far as the data go.
  function hatch(drawing, limit, c) {
    let values = drawing.traces.flatMap((t) => [...(t.y || []), ...(t.low || []), ...(t.high || [])]).filter(Number.isFinite);
    values = values.concat(drawing.limits.map((l) => l.value));
    const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * 0.08;
    const far = limit.above ? high + room : low - room;
    return {
      type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, xaxis: "x2", x: [0, 1, 1, 0], y: [limit.value, limit.value, far, far],
      fill: "toself", line: { width: 0 }, fillcolor: "rgba(0,0,0,0)", fillpattern: { shape: "/", size: 9, solidity: 0.12, fgcolor: c.limit, bgcolor: "rgba(0,0,0,0)", fillmode: "overlay" },
    };
  }

  function layoutOf(drawing, c, narrow) {
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: c.ink },
      margin: { l: 48, r: 16, t: 8, b: 40 }, xaxis: axisOf(drawing.x, c), yaxis: axisOf(drawing.y, c), hovermode: "closest",
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, font: { size: 12 } }, dragmode: narrow ? false : "zoom", hoverlabel: { align: "left", namelength: -1 }, shapes: [], annotations: [],
    };
    for (const limit of drawing.limits || []) {
      layout.shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit.value, y1: limit.value, line: { color: c.limit, width: 2, dash: "dash" } });
      layout.annotations.push({ xref: "paper", x: 1, xanchor: "right", y: limit.value, yanchor: limit.above ? "bottom" : "top", text: limit.label, showarrow: false, font: { color: c.limit, size: 13 }, bgcolor: c.surface, opacity: 0.9, borderpad: 1 });
    }
    if (drawing.limits) layout.xaxis2 = { overlaying: "x", range: [0, 1], visible: false, fixedrange: true };
    return layout;
  }

  function figureOf(drawing, node) {
    const c = palette();
    const data = [
      ...(drawing.limits || []).map((limit) => hatch(drawing, limit, c)),
      ...(drawing.surface ? surfaceOf(drawing.surface, c) : []),
      ...drawing.traces.flatMap((trace) => traceOf(trace, c)),
    ];
    return { data, layout: layoutOf(drawing, c, matchMedia("(pointer: coarse)").matches || node.clientWidth < 360) };
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
    if (node.zoomed) keepZoom(node, layout);
    const fresh = !node.classList.contains("js-plotly-plot");
    await Plotly.react(node, data, layout, { displayModeBar: false, responsive: true, doubleClick: "autosize", showTips: false });
    if (fresh) listen(node, drawing);
  }

  // keepZoom lets a redrawn chart show what the person had zoomed into.
  function keepZoom(node, layout) {
    for (const axis of ["xaxis", "yaxis"]) if (!node.layout[axis].autorange) layout[axis].range = [...node.layout[axis].range];
  }

  function listen(node, drawing) {
    node.on("plotly_relayout", (change) => {
      if ("xaxis.autorange" in change) node.zoomed = false;
      else if ("xaxis.range[0]" in change || "yaxis.range[0]" in change) node.zoomed = true;
    });
    node.on("plotly_click", (event) => {
      const link = event.points[0].customdata;
      if (typeof link === "string") location.assign(link);
    });
    if (!drawing.group) return;
    node.dataset.group = drawing.group;
    const others = () => [...document.querySelectorAll("[data-group]")].filter((o) => o !== node && o.dataset.group === drawing.group && o.classList.contains("js-plotly-plot"));
    node.on("plotly_hover", (event) => { if (event.event) for (const other of others()) mark(other, event.points[0].x); });
    node.on("plotly_unhover", () => { for (const other of others()) mark(other, null); });
    node.on("plotly_relayout", (change) => {
      if (node.following) return;
      const range = change["xaxis.autorange"] ? { "xaxis.autorange": true } : "xaxis.range[0]" in change ? { "xaxis.range[0]": change["xaxis.range[0]"], "xaxis.range[1]": change["xaxis.range[1]"] } : null;
      if (!range) return;
      for (const other of others()) {
        other.following = true;
        Plotly.relayout(other, range).finally(() => { other.following = false; });
      }
    });
  }

  // mark shows the same trial in a neighbouring chart.
  function mark(node, x) {
    const at = [];
    if (x !== null) {
      node.data.forEach((trace, curveNumber) => {
        if (!trace.x || trace.hoverinfo === "skip") return;
        const pointNumber = trace.x.indexOf(x);
        if (pointNumber >= 0) at.push({ curveNumber, pointNumber });
      });
    }
    if (at.length) Plotly.Fx.hover(node, at.slice(0, 3)); else Plotly.Fx.unhover(node);
  }

  const inView = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      inView.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });

  function drawAll(root) {
    const nodes = [...root.querySelectorAll("[data-chart]")];
    for (const node of nodes) {
      if (node.classList.contains("js-plotly-plot")) draw(node); else inView.observe(node);
    }
  }

  // A saved picture carries its title and caption, on white, so that it can stand alone.
  async function save(id, format) {
    await library();
    const node = document.getElementById(id);
    const drawing = drawingOf(node);
    const { data, layout } = figureOf(drawing, node);
    const ink = "#191c20";
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    Object.assign(layout, {
      title: { text: drawing.title, x: 0, xref: "paper", xanchor: "left" }, paper_bgcolor: dark ? colour("surface") : "#ffffff", margin: { l: 72, r: 32, t: 64, b: 120 }, width: 1000, height: 640,
    });
    if (!dark) layout.font.color = ink;
    layout.annotations.push({ text: wrap(drawing.caption, 120), showarrow: false, xref: "paper", yref: "paper", x: 0, y: -0.34, xanchor: "left", yanchor: "top", align: "left" });
    Plotly.downloadImage({ data, layout }, { format, filename: document.getElementById(id + "-title").textContent, width: 1000, height: 640, scale: format === "png" ? 2 : 1 });
  }

  function wrap(text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
      if ((lines.at(-1) + word).length > width) lines.push("");
      lines[lines.length - 1] += word + " ";
    }
    return lines.join("<br>");
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save]");
    if (button) save(button.dataset.save, button.dataset.format);
  });
  document.addEventListener("htmx:afterSettle", (event) => drawAll(event.detail.elt));

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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(document));

  // Paper is narrower than screens.
  const drawn = () => document.querySelectorAll("[data-chart].js-plotly-plot");
  addEventListener("beforeprint", () => { for (const node of drawn()) Plotly.relayout(node, { width: node.closest(".two, .three") ? 320 : 660 }); });
  addEventListener("afterprint", () => { for (const node of drawn()) Plotly.relayout(node, { width: null, autosize: true }); });
  drawAll(document);
})();
