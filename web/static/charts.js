// Saves charts as pictures, and fetches sections when they are scrolled to and before printing.
"use strict";

(() => {
  const pictureWidth = 1000, border = 24, lineHeight = 17, named = "http://www.w3.org/2000/svg";

  function add(parent, tag, attributes, text = "") {
    const element = document.createElementNS(named, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    parent.append(element);
    return element;
  }

  // pictureOf is a self-contained SVG file of a chart with title, caption and source, times as large as it says. Each part is where it would be in a
  // page of that width, with its colours written out. Lines that do not scale are widened here, since browsers disagree on whether a picture that is
  // drawn larger widens them.
  function pictureOf(node, title, times) {
    const shown = node.cloneNode(true), top = 56;
    for (const part of shown.querySelectorAll(".tip, .guide")) part.remove();
    shown.removeAttribute("id");
    Object.assign(shown.style, { position: "absolute", left: 0, top: 0, width: pictureWidth - 2 * border + "px" });
    node.after(shown);
    const box = shown.getBoundingClientRect(), caption = document.getElementById(node.id + "-caption").innerText.replace(/\s+/g, " ");
    const words = [...wrap(caption, 135), "", ...wrap(node.dataset.foot, 135)], height = Math.ceil(top + box.height + (words.length + 1.5) * lineHeight);
    const style = getComputedStyle(document.body), sheet = add(document.createElement("div"), "svg", { width: times * pictureWidth, height: times * height, viewBox: `0 0 ${pictureWidth} ${height}`, "font-family": style.fontFamily, "font-size": 13, fill: style.color });
    add(sheet, "rect", { width: pictureWidth, height, fill: "var(--surface)" });
    add(sheet, "text", { x: border, y: 36, "font-size": 18, "font-weight": 650 }, title);
    const hidden = [...shown.querySelectorAll("svg *")].filter((part) => getComputedStyle(part).display === "none" && !part.closest("defs"));
    for (const part of hidden) part.remove();
    for (const part of shown.querySelectorAll("svg, .title, .axis, .legend span:not(:has(*))")) {
      const place = part.getBoundingClientRect(), x = border + place.left - box.left, y = top + place.top - box.top;
      if (part.parentNode.closest("svg") || !place.width && !part.matches(".defs")) continue;
      if (part.matches("svg")) sheet.append(inked(part.cloneNode(true), getComputedStyle(part), { x, y, width: place.width, height: place.height }));
      else add(sheet, "text", wordsOf(getComputedStyle(part), x, y + place.height / 2, place.width), part.textContent);
    }
    shown.remove();
    for (const line of sheet.querySelectorAll("[vector-effect]")) {
      for (const name of ["stroke-width", "stroke-dasharray"]) if (line.hasAttribute(name)) line.setAttribute(name, line.getAttribute(name).replace(/[\d.]+/g, (length) => times * length));
    }
    words.forEach((line, i) => add(sheet, "text", { x: border, y: top + box.height + (i + 1.5) * lineHeight, "font-size": 12 }, line));
    return inked(sheet, style, {}).outerHTML.replace("<svg", `<svg xmlns="${named}"`);
  }

  // inked sets attributes and replaces CSS variables by their colours.
  function inked(svg, style, attributes) {
    for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
    for (const part of [svg, ...svg.querySelectorAll("*")]) {
      for (const { name, value } of [...part.attributes]) if (value.startsWith("var(")) part.setAttribute(name, style.getPropertyValue(value.slice(4, -1)).trim());
    }
    return svg;
  }

  function wordsOf(style, x, y, width) {
    const anchor = { center: "middle", right: "end" }[style.textAlign] ?? "start";
    return { x: x + { start: 0, middle: width / 2, end: width }[anchor], y, dy: "0.35em", fill: style.color, "font-size": parseFloat(style.fontSize), "font-weight": style.fontWeight, "text-anchor": anchor };
  }

  async function save(id, format) {
    const title = document.getElementById(id + "-title").textContent, blob = new Blob([pictureOf(document.getElementById(id), title, format === "png" ? 2 : 1)], { type: "image/svg+xml" });
    download(`${title}.${format}`, format === "png" ? await pixels(blob) : blob);
  }

  // pixels converts an SVG file to PNG.
  async function pixels(blob) {
    const image = new Image(), address = URL.createObjectURL(blob);
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
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

  // Sections are fetched when they come near the window. Before that, changes of the study do not matter.
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

  // Printing does not wait, so everything is fetched before the dialogue opens.
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
    print();
  });
})();
