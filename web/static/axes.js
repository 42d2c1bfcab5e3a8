// Axes of the charts: scales, ticks, numbers as people read them, and the frame that a chart stands in.
// Colours are the page's own variables, so that a drawn chart follows light, dark and paper by itself.
"use strict";

globalThis.plots = (() => {
  const svgNames = "http://www.w3.org/2000/svg";

  // add appends an element with its attributes, and its text, which is never markup.
  function add(parent, tag, attributes = {}, text = "") {
    const element = document.createElementNS(svgNames, tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
    if (text) element.textContent = text;
    parent.append(element);
    return element;
  }

  const pen = document.createElement("canvas").getContext("2d"), family = getComputedStyle(document.body).fontFamily;

  // widthOf is how many pixels a text takes.
  function widthOf(text, size, weight = 400) {
    pen.font = `${weight} ${size}px ${family}`;
    return pen.measureText(text).width;
  }

  const exponents = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const power = (exponent) => "10" + [...String(exponent)].map((digit) => exponents[digit]).join("");
  const locale = d3.formatLocale({ decimal: ".", thousands: "\u202f", grouping: [3], currency: ["", ""], minus: "−" });

  // From here on numbers are written with a power of ten.
  const largest = 1e6, smallest = 1e-4;

  // fixed writes a number with so many decimals, its thousands apart from five digits on.
  const fixed = (x, decimals) => locale.format((Math.abs(x) >= 1e4 ? "," : "") + `.${decimals}f`)(x);

  // alike returns how to write the ticks of an axis: all with equally many decimals, or with the same power of ten.
  function alike(ticks) {
    const most = Math.max(...ticks.map(Math.abs)), between = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : most || 1;
    const step = Number(between.toPrecision(12)); // without what only the subtraction put into it
    if (most < largest && (most === 0 || most >= smallest)) return (x) => fixed(x, d3.precisionFixed(step));
    const exponent = Math.floor(Math.log10(most)), unit = 10 ** exponent;
    return (x) => (x === 0 ? "0" : fixed(x / unit, d3.precisionFixed(step / unit)) + "×" + power(exponent));
  }

  // brief writes a number with up to four digits that mean something.
  function brief(x) {
    if (x === 0) return "0";
    const exponent = Math.floor(Math.log10(Math.abs(x))), trimmed = (text) => text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
    if (Math.abs(x) >= largest || Math.abs(x) < smallest) return trimmed(fixed(x / 10 ** exponent, 3)) + "×" + power(exponent);
    return trimmed(fixed(x, Math.max(0, 3 - exponent)));
  }

  // scaleOf maps values of an axis to pixels. Choices stand in bands side by side.
  function scaleOf(axis, domain, range) {
    if (axis.categories) return d3.scaleBand(axis.categories, range);
    return (axis.log ? d3.scaleLog : d3.scaleLinear)(domain, range);
  }

  // at is where a value stands; for a choice it is the middle of its band.
  const at = (scale, value) => scale(value) + (scale.bandwidth ? scale.bandwidth() / 2 : 0);

  // shown tells whether a value is between the ends of its axis.
  function shown(scale, value) {
    if (scale.bandwidth) return scale(value) !== undefined;
    const [low, high] = scale.domain(), slack = Math.abs(high - low) * 1e-9;
    return Number.isFinite(value) && value >= low - slack && value <= high + slack;
  }

  function ticksOf(axis, scale, most) {
    if (scale.bandwidth) return axis.categories.map((choice) => [choice, choice]);
    if (axis.log) return logTicks(axis, scale, most);
    const [low, high] = scale.domain();
    let ticks = scale.ticks(axis.whole ? Math.max(1, Math.min(most, Math.floor(high - low))) : most);
    if (axis.whole) ticks = ticks.filter(Number.isInteger);
    const write = alike(ticks.length ? ticks : [0]);
    return ticks.map((x) => [x, write(x)]);
  }

  // Whole powers of ten where there are a few of them, else ones, twos and fives, else even steps.
  function logTicks(axis, scale, most) {
    const [low, high] = scale.domain().map(Math.log10), times = (n, e) => Number(`${n}e${e}`);
    const powers = d3.range(Math.ceil(low - 1e-9), Math.floor(high + 1e-9) + 1);
    if (powers.length >= 3) {
      const every = Math.ceil(powers.length / most);
      return powers.filter((_, i) => i % every === 0).map((e) => [times(1, e), axis.plain ? brief(times(1, e)) : power(e)]);
    }
    const fine = d3.range(Math.floor(low), Math.ceil(high) + 1).flatMap((e) => [1, 2, 5].map((n) => times(n, e))).filter((x) => shown(scale, x));
    const ticks = fine.length > 1 ? fine : d3.ticks(...scale.domain(), most);
    return ticks.map((x) => [x, brief(x)]);
  }

  // fitted writes a text into a width: what does not go in is cut off, and said on hover.
  function fitted(parent, text, width, attributes) {
    const room = (words) => widthOf(words, attributes["font-size"], attributes["font-weight"]) <= width;
    let end = text.length;
    while (end > 1 && !room(text.slice(0, end) + "…")) end--;
    if (room(text)) return add(parent, "text", attributes, text);
    const element = add(parent, "text", attributes, text.slice(0, end) + "…");
    add(element, "title", {}, text);
    return element;
  }

  // frameOf is a place for data: its scales, and its lines and ticks drawn. bare leaves out what is written at an axis, or the
  // lines across; inward keeps what is written at the ends of the x axis within the frame; room is for what is written at the y axis.
  function frameOf(root, place, axes, options = {}) {
    const { left, top, width, height } = place, { size = 12, bare = {}, inward, room = left - 7 } = options;
    const x = scaleOf(axes.x, axes.x.domain, [left, left + width]), y = scaleOf(axes.y, axes.y.domain, [top + height, top]);
    const ink = { "font-size": size, fill: "var(--muted)" };
    const yTicks = ticksOf(axes.y, y, axes.y.ticks ?? Math.max(2, Math.floor(height / 36)));
    const anchored = inward && !x.bandwidth ? (value, half) => anchorOf(at(x, value), place, half) : () => "middle";
    const xTicks = spaced(ticksOf(axes.x, x, axes.x.ticks ?? Math.max(2, Math.floor(width / 80))), x, size, anchored);
    const lines = [...yTicks.map(([value]) => `M${left},${at(y, value)}h${width}`), ...xTicks.map(([value]) => `M${at(x, value)},${top}v${height}`)];
    if (!bare.grid) add(root, "path", { d: lines.join(""), stroke: "var(--grid)", "shape-rendering": "crispEdges" });
    const bones = [`M${left},${top}v${height}h${width}`];
    for (const [value, words] of yTicks) {
      bones.push(`M${left},${at(y, value)}h-4`);
      if (!bare.y) fitted(root, words, room, { ...ink, x: left - 7, y: at(y, value), dy: "0.32em", "text-anchor": "end" });
    }
    const every = x.bandwidth ? sparse(xTicks, x.bandwidth(), size) : 1;
    for (const [i, [value, words]] of xTicks.entries()) {
      if (bare.x || i % every) continue;
      bones.push(`M${at(x, value)},${top + height}v4`);
      fitted(root, words, x.bandwidth ? every * x.bandwidth() - 4 : width, { ...ink, x: at(x, value), y: top + height + 5 + size, "text-anchor": anchored(value, widthOf(words, size) / 2) });
    }
    add(root, "path", { d: bones.join(""), stroke: "var(--line-strong)", fill: "none", "shape-rendering": "crispEdges" });
    return { ...place, x, y };
  }

  const anchorOf = (x, { left, width }, half) => (x - half < left ? "start" : x + half > left + width ? "end" : "middle");

  // sparse is of how many choices one is written, so that short words stand whole; long ones are cut off.
  function sparse(ticks, band, size) {
    const widest = Math.min(60, Math.max(...ticks.map(([, words]) => widthOf(words, size))));
    return Math.max(1, Math.ceil((widest + 4) / band));
  }

  // spaced leaves out ticks whose words would touch those before them.
  function spaced(ticks, scale, size, anchored) {
    if (scale.bandwidth) return ticks;
    let end = -Infinity;
    return ticks.filter(([value, words]) => {
      const half = widthOf(words, size) / 2, middle = scale(value) + { start: half, middle: 0, end: -half }[anchored(value, half)];
      if (middle - half < end) return false;
      end = middle + half + 8;
      return true;
    });
  }

  return { add, family, at, alike, brief, fitted, frameOf, shown, ticksOf, scaleOf, widthOf };
})();
