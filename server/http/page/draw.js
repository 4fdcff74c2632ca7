// Elements, numbers and pictures of the page. Text is only ever set as text: names of objects may be anything.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
function svg(tag, attributes = {}) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// --- numbers ---

export const part = (share) => `${(100 * Math.max(0, Math.min(1, share))).toFixed(2)}%`;  // for CSS

const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
export function count(value) {
  if (value < 1e4 && Number.isInteger(value)) return String(value);
  for (const [unit, letter] of UNITS) {
    if (value >= unit) return `${(value / unit).toFixed(value < 100 * unit ? 1 : 0)} ${letter}`;
  }
  return value >= 10 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}
export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  while (value >= 1024 && at + 1 < units.length) { value /= 1024; ++at; }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}
export function duration(ms) {
  if (ms < 1) return `${(1000 * ms).toFixed(0)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${(ms / 1000).toFixed(1)} s`;
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([unit]) => s >= unit);
  const [unit, name] = parts[first], [next, nextName] = parts[first + 1] ?? [1, "s"];
  return `${Math.floor(s / unit)} ${name} ${Math.floor((s % unit) / next)} ${nextName}`;
}
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.00995 ? 2 : share > 0 && share < 0.0995 ? 1 : 0)} %`;

// A key, or one end of a range that has none.
export function keyText(key, without) {
  if (key === undefined || key === null) return without;
  if (typeof key !== "object") return String(key);
  if ("date32" in key) return new Date(key.date32 * 86400000).toISOString().slice(0, 10);
  return String(key.u64 ?? key.i64 ?? key.f64);
}
export function rangeText(range = {}) {
  const lo = range.start ?? ((range.lo ?? "0") === "0" ? undefined : range.lo);
  return [keyText(lo, "the first"), keyText(range.end ?? range.hi, "the last")];
}

// --- colours ---

// AEUs of a NumaNode have neighbouring hues.
export function colourOf(aeu, aeus) {
  const nodes = [...new Set(aeus.map((one) => one.numa_node))];
  const own = aeus.find((one) => one.id === aeu);
  if (!own) return "var(--faint)";
  const fellows = aeus.filter((one) => one.numa_node === own.numa_node);
  const width = 360 / nodes.length;
  const hue = width * nodes.indexOf(own.numa_node) + 0.8 * width * fellows.indexOf(own) / fellows.length;
  return `hsl(${(hue + 210) % 360} 70% var(--cell))`;
}

// --- tables ---

// `columns`: {title, text: whether it is left-aligned}; a cell is a text, or {text, class, title, heat, share}.
export function table(columns, rows, empty) {
  if (rows.length === 0) return element("p", {class: "empty"}, empty);
  const head = element("tr", {}, ...columns.map((one) => element("th", {class: one.text ? "text" : "", scope: "col"}, one.title)));
  const body = rows.map((row) => {
    const line = element("tr", row.properties ?? {});
    (row.cells ?? row).forEach((cell, at) => line.append(cellOf(cell, columns[at].text)));
    return line;
  });
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
function cellOf(cell, isText) {
  const one = typeof cell === "object" ? cell : {text: cell};
  const made = element("td", {class: `${isText ? "text" : ""} ${one.class ?? ""}`.trim(), title: one.title ?? ""});
  if (one.colour) {
    const swatch = element("span", {class: "swatch"});
    swatch.style.background = one.colour;
    made.append(swatch);
  }
  made.append(String(one.text));
  if (one.heat !== undefined) made.style.background = `rgba(var(--heat), ${(0.6 * one.heat).toFixed(3)})`;
  if (one.share !== undefined) {
    const full = element("b");
    full.style.width = part(one.share);
    made.append(element("span", {class: "share"}, full));
  }
  return made;
}
// Replaces the content, unless the reader is selecting text in it. Keeps the place to which it has been scrolled.
export function show(id, ...children) {
  const place = document.getElementById(id);
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && place.contains(selection.anchorNode)) return;
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const {scrollTop, scrollLeft} = place;
  place.replaceChildren(...children);
  place.scrollTop = scrollTop;
  place.scrollLeft = scrollLeft;
  if (focused !== undefined) place.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

// A bar of parts: {value, colour, title}.
export function bar(parts, whole) {
  const made = element("div", {class: "bar"});
  for (const one of parts) {
    const piece = element("i", {title: one.title});
    piece.style.width = part(whole > 0 ? one.value / whole : 0);
    piece.style.background = one.colour;
    made.append(piece);
  }
  return made;
}

// --- the key space ---

// Cells in rows; large ones if there are few. `ranges`: {aeu, load}; calls onLook(index or -1).
export function space(ranges, colours, marked, onLook) {
  const width = 1200, across = Math.min(ranges.length, [16, 32, 64, 128].find((most) => ranges.length <= 8 * most) ?? 128);
  const cell = width / across, height = Math.min(44, Math.max(14, cell));
  const rows = Math.ceil(ranges.length / across);
  const picture = svg("svg", {viewBox: `0 0 ${width} ${rows * height}`, role: "img",
                              "aria-label": `${ranges.length} ranges`});
  const hottest = Math.max(...ranges.map((one) => one.load));
  ranges.forEach((range, at) => {
    const x = (at % across) * cell, y = Math.floor(at / across) * height;
    const group = svg("g", {"data-aeu": range.aeu, "data-range": at});
    if (marked !== undefined && marked !== range.aeu) group.setAttribute("class", "faded");
    const fill = colours.get(range.aeu) ?? "var(--faint)", tall = height - 2;
    const full = hottest > 0 ? tall * range.load / hottest : 0;
    for (const [kind, top, high] of [["back", y + 1, tall], ["load", y + 1 + tall - full, full]]) {
      const rect = svg("rect", {class: kind, x: x + 1, y: top, width: Math.max(1, cell - 2), height: high});
      rect.style.fill = fill;
      group.append(rect);
    }
    if (cell >= 30 && height >= 14) {
      const label = svg("text", {x: x + cell / 2, y: y + height / 2});
      label.textContent = range.aeu;
      group.append(label);
    }
    picture.append(group);
  });
  picture.addEventListener("pointermove", (event) => {
    const group = event.target.closest("g");
    onLook(group ? Number(group.dataset.range) : -1);
  });
  picture.addEventListener("pointerleave", () => onLook(-1));
  return picture;
}

// --- charts over time ---

// A chart of `names.length` series, whose axis goes up to `least` or further; redraw(times in seconds, columns).
export function chart(id, names, colours, format, least) {
  const place = document.getElementById(id);
  const style = getComputedStyle(document.documentElement);
  const axis = {stroke: style.getPropertyValue("--faint").trim(), grid: {stroke: style.getPropertyValue("--line").trim(), width: 1},
                ticks: {stroke: style.getPropertyValue("--line").trim(), width: 1}};
  place.replaceChildren();
  const series = names.map((label, at) => ({label, stroke: colours[at], width: 1.5, points: {show: false},
                                            value: (_, value) => value == null ? "–" : format(value)}));
  const made = new uPlot({
    width: Math.max(240, place.clientWidth), height: 190, legend: {show: names.length <= 9}, cursor: {drag: {x: false, y: false}},
    scales: {y: {range: (_, low, high) => [0, Math.max(least, high * 1.1)]}},
    axes: [{...axis}, {...axis, size: 64, values: (_, ticks) => ticks.map(format)}],
    series: [{label: "time"}, ...series],
  }, [[], ...names.map(() => [])], place);
  const resize = new ResizeObserver(() => made.setSize({width: Math.max(240, place.clientWidth), height: 190}));
  resize.observe(place);
  return {redraw: (times, columns) => made.setData([times, ...columns]), end: () => { resize.disconnect(); made.destroy(); }};
}
