// Draws the charts from the JSON beside them, when they come into view, and again in place after a refresh, so that zoom stays.
// Saves them as pictures, fetches sections as they are seen, and has everything drawn before printing.
"use strict";

(() => {
  // What draws is fetched when the first chart comes into view, so that entering results never waits for it.
  const addresses = document.currentScript.dataset.drawing.split(" ");
  let fetched;
  const library = () => fetched ??= Promise.all(addresses.map((src) => new Promise((done, failed) => {
    document.head.append(Object.assign(document.createElement("script"), { src, async: false, onload: done, onerror: failed }));
  })));

  function drawingOf(node) {
    const data = document.getElementById(node.id + "-data");
    return data && JSON.parse(data.textContent);
  }

  async function draw(node, width) {
    await library();
    node.drawing = drawingOf(node);
    if (node.drawing) show(node, width);
  }

  const narrowest = 100; // pixels, below which axes leave no room

  // show draws what the node holds, as wide as it is if nothing else is said; what is folded away or not laid out yet is drawn when it has a width.
  function show(node, width = node.clientWidth) {
    if (!node.redraw) prepare(node);
    node.stale = width < narrowest;
    if (node.stale) return;
    node.sheet = plots.picture(node.id, node.drawing, width, { view: node.view, hidden: node.hiddenNames, tall: node.tall });
    node.firstElementChild.replaceChildren(node.sheet.svg);
    legend(node);
    node.style.height = "auto";
    node.classList.add("drawn");
    performance.mark(node.id); // for whoever measures
  }

  function prepare(node) {
    node.append(Object.assign(document.createElement("div"), { className: "tip", hidden: true }), Object.assign(document.createElement("div"), { className: "legend" }));
    Object.assign(node, { view: {}, hiddenNames: new Set(), tall: node.clientHeight, redraw: () => show(node) });
    plots.listen(node);
    resized.observe(node);
  }

  // legend has a button for each name in the picture, which hides what it stands for and shows it again; the one in focus stays there.
  function legend(node) {
    const list = node.querySelector(".legend"), { names } = node.sheet;
    const buttons = new Map([...list.children].map((button) => [button.dataset.name, button]));
    if ([...buttons.keys()].join("\n") !== [...names.keys()].join("\n")) list.replaceChildren(...[...names].map(([name, look]) => buttons.get(name) ?? entry(name, look)));
    for (const button of list.children) button.setAttribute("aria-pressed", !node.hiddenNames.has(button.dataset.name));
  }

  function entry(name, look) {
    const button = Object.assign(document.createElement("button"), { type: "button", title: `${name}: press to hide it or to show it again` });
    button.dataset.name = name;
    button.append(plots.keyOf(look), Object.assign(document.createElement("span"), { textContent: name }));
    return button;
  }

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) if (target.clientWidth && (target.stale || target.clientWidth !== target.sheet?.width)) show(target);
  });

  // Charts in view are drawn one after the other, so that the page answers between them.
  let turn = Promise.resolve();
  const rest = () => new Promise((done) => setTimeout(done));

  function drawNext(node) {
    turn = turn.then(() => draw(node)).catch(console.error).then(rest);
  }

  const inView = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      inView.unobserve(entry.target);
      drawNext(entry.target);
    }
  }, { rootMargin: "300px" });

  function drawAll(root) {
    const nodes = [...root.querySelectorAll("[data-chart]")];
    for (const node of nodes) {
      if (node.sheet) drawNext(node); else inView.observe(node);
    }
  }

  // A saved picture carries its title, its whole caption and where it comes from, so that it can stand alone.
  async function save(id, format) {
    await library();
    const node = document.getElementById(id), drawing = drawingOf(node), title = document.getElementById(id + "-title").textContent;
    const blob = new Blob([pictureOf(drawing, title, node)], { type: "image/svg+xml" });
    download(`${title}.${format}`, format === "png" ? await pixels(blob) : blob);
  }

  const pictureWidth = 1000, border = 24, lineHeight = 17;

  // pictureOf is an SVG file of a drawing with its words, its colours written out.
  function pictureOf(drawing, title, { view, hiddenNames } = {}) {
    const inner = plots.picture("picture", drawing, pictureWidth - 2 * border, { view, hidden: hiddenNames, tall: 460, alone: true });
    const words = [...wrap(drawing.caption, 150), "", ...wrap(drawing.foot, 150)], top = 56;
    const height = top + inner.height + (words.length + 1.5) * lineHeight;
    const sheet = plots.add(document.createElement("div"), "svg", { width: pictureWidth, height, viewBox: `0 0 ${pictureWidth} ${height}`, "font-family": plots.family, "font-size": 13, fill: "var(--ink)" });
    plots.add(sheet, "rect", { width: pictureWidth, height, fill: "var(--surface)" });
    plots.add(sheet, "text", { x: border, y: 36, "font-size": 18, "font-weight": 650 }, title);
    inner.svg.setAttribute("x", border);
    inner.svg.setAttribute("y", top);
    sheet.append(inner.svg);
    words.forEach((line, i) => plots.add(sheet, "text", { x: border, y: top + inner.height + (i + 1.5) * lineHeight, "font-size": 12 }, line));
    const colours = getComputedStyle(document.documentElement);
    return new XMLSerializer().serializeToString(sheet).replace(/var\((--[\w-]+)\)/g, (_, name) => colours.getPropertyValue(name).trim());
  }

  // pixels is an SVG file as a PNG of twice its size.
  async function pixels(blob) {
    const image = new Image(), address = URL.createObjectURL(blob);
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  function download(name, blob) {
    const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(blob) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
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

  // Sections below the fold are fetched when they come near the window. Before that, changes of the study do not concern them.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) seen(entry.target);
  }, { rootMargin: "500px" });

  function seen(section) {
    near.unobserve(section);
    section.dataset.asked = "";
    htmx.trigger(section, "seen");
  }

  for (const section of document.querySelectorAll("[data-later]")) near.observe(section);
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, requestConfig } = event.detail;
    if ("later" in elt.dataset && !("asked" in elt.dataset) && ["changed", "model-ready"].includes(requestConfig.triggeringEvent?.type)) event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", (event) => { delete event.detail.target.dataset.later; });

  // Printing does not wait, so what has not been seen yet is fetched and drawn before the dialogue opens.
  document.addEventListener("keydown", async (event) => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const waiting = [...document.querySelectorAll("[data-later]")];
    await Promise.all(waiting.map((section) => new Promise((done) => {
      section.addEventListener("htmx:afterSettle", done, { once: true });
      section.addEventListener("htmx:beforeSwap", (event) => { if (!event.detail.shouldSwap) done(); }, { once: true });
      section.addEventListener("htmx:responseError", done, { once: true });
      section.addEventListener("htmx:sendError", done, { once: true });
      seen(section);
    })));
    for (const node of document.querySelectorAll("[data-chart]")) await draw(node);
    print();
  });

  // Paper is narrower than screens.
  const drawn = () => document.querySelectorAll("[data-chart].drawn");
  addEventListener("beforeprint", () => { for (const node of drawn()) show(node, 660); });
  addEventListener("afterprint", () => { for (const node of drawn()) show(node); });
  drawAll(document);
})();
