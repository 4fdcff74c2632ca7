// The page: asks the server for a part of the figures every second, keeps the last five minutes, and shows them. While it is hidden it asks nothing.
import {bar, bytes, chart, colourOf, count, duration, element, part, percent, rangeText, show, space, table} from "/draw.js";

const POLL_MS = 1000, TIMEOUT_MS = 8000, HISTORY = 150, TRANSFERS = 50;

// What one poll after the other asks for: so none makes the server work for long (bench/remote/page_cost.py has the same).
const CYCLE = [[askMain], [askRanges], [askMain], [askRanges], [askMain], [askRest]];

const state = {
  polls: 0, lost: null,           // since when there is no answer
  last: null, now: null,          // {at, server, stats}
  object: null, marked: undefined,  // the chosen object, and the AEU whose ranges are marked
  hot: null, ranges: null, rangesOf: "",  // of the object: its load, and its ranges with keys as they are written
  balancer: null, memory: null, transfers: null,
  history: {times: [], keys: [], busy: []}, charts: null,
};

async function ask(path) {
  const abort = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await fetch(path, {signal: abort, cache: "no-store"});
  if (answer.status === 404) return null;  // an object that has been dropped
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${(await answer.text()).trim()}`);
  return answer.json();
}
const named = (path, object) => `${path}=${encodeURIComponent(object)}`;

// --- asking ---

async function poll() {
  const first = state.now === null || state.lost;
  const parts = first ? [askMain, askRanges, askRest] : state.hot === null && state.object !== null ? [askRanges] : CYCLE[state.polls++ % CYCLE.length];
  for (const asked of parts) await asked();
}

async function askMain() {
  const [server, stats, balancer] = await Promise.all(["/api/server", "/api/stats", "/api/balancer"].map(ask));
  const at = performance.now() / 1000;
  const restarted = state.now && Number(server.uptime_ms) < Number(state.now.server.uptime_ms);
  if (restarted) state.history = {times: [], keys: [], busy: []};
  state.last = restarted ? null : state.now;
  state.now = {at, server, stats};
  const moved = (one) => JSON.stringify(one?.transfers);
  const more = state.balancer !== null && moved(balancer) !== moved(state.balancer);
  state.balancer = balancer;
  if (more) await askTransfers();
  if (!stats.objects.some((one) => one.name === state.object)) choose(stats.objects[0]?.name ?? null);
  remember();
}

async function askRanges() {
  const object = state.object;
  const hot = object === null ? null : await ask(named("/api/hot?limit=24&object", object));
  if (object === state.object) await takeHot(object, hot);
}

async function askTransfers() {
  state.transfers = await ask(`/api/transfers?limit=${TRANSFERS}`);
}
async function askRest() {
  state.memory = await ask("/api/memory");
  await askTransfers();
}

// The ranges' keys are asked for only if the ranges have changed.
async function takeHot(object, hot) {
  state.hot = hot;
  const signature = hot === null ? "" : `${object} ${hot.starts.join()} ${hot.aeus.join()}`;
  if (signature === state.rangesOf) return;
  const answer = hot === null ? null : await ask(named("/api/object?name", object));
  if (object !== state.object) return;
  state.ranges = answer?.object.partitions ?? null;
  state.rangesOf = signature;
}

function choose(object) {
  Object.assign(state, {object, hot: null, ranges: null, rangesOf: "", marked: undefined});
}

const seconds = () => (state.last ? state.now.at - state.last.at : 0);
function rate(now, before) {
  return seconds() > 0 ? Math.max(0, Number(now) - Number(before)) / seconds() : 0;
}
function aeuRates() {
  return state.now.stats.aeus.map((aeu, at) => {
    const before = state.last?.stats.aeus[at];
    return {...aeu, keys_s: before ? rate(aeu.keys, before.keys) : 0, rows_s: before ? rate(aeu.rows_scanned, before.rows_scanned) : 0,
            busy: before ? Math.min(1, rate(aeu.busy_ns, before.busy_ns) / 1e9) : 0};
  });
}
function nodes() {
  return [...new Set(state.now.stats.aeus.map((aeu) => aeu.numa_node))].sort((a, b) => a - b);
}

function remember() {
  if (!state.last) return;
  const aeus = aeuRates(), {times, keys, busy} = state.history;
  times.push(Date.now() / 1000);
  keys.push(aeus.reduce((sum, aeu) => sum + aeu.keys_s, 0));
  busy.push(nodes().map((node) => {
    const own = aeus.filter((aeu) => aeu.numa_node === node);
    return own.reduce((sum, aeu) => sum + aeu.busy, 0) / own.length;
  }));
  for (const list of [times, keys, busy]) if (list.length > HISTORY) list.shift();
}

// --- showing ---

function showServer() {
  const {server, stats} = state.now, calls = state.last ? rate(server.calls, state.last.server.calls) : 0;
  const reserved = stats.numa_nodes.reduce((sum, node) => sum + Number(node.reserved_bytes), 0);
  const figures = [["version", server.version || "unknown"], ["up", duration(Number(server.uptime_ms))],
                   ["calls", `${count(calls)}/s, ${server.calls_in_flight} in flight`],
                   ["bytes in flight", bytes(Number(server.in_flight_bytes))],
                   ["memory", `${bytes(reserved)} of ${bytes(Number(stats.memory_limit_bytes))}`]];
  show("server", ...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function showAeus() {
  const aeus = aeuRates();
  show("aeus", ...nodes().map((node) => element("div", {class: "node"}, element("h3", {}, `NumaNode ${node}`),
    element("div", {class: "tiles"}, ...aeus.filter((aeu) => aeu.numa_node === node).map(tile)))));
}
function tile(aeu) {
  const where = aeu.cpu < 0 ? "not pinned" : `cpu ${aeu.cpu}`;
  const made = element("button", {class: "tile", type: "button", "aria-pressed": String(state.marked === aeu.id), "data-key": `aeu${aeu.id}`,
    title: `AEU ${aeu.id}, ${where}: ${percent(aeu.busy)} busy, ${count(aeu.keys_s)} keys/s, ${count(aeu.rows_s)} rows scanned/s, `
         + `${count(Number(aeu.rows))} rows, ${bytes(Number(aeu.memory_bytes))}`});
  const swatch = element("span", {class: "swatch"});
  swatch.style.background = colourOf(aeu.id, state.now.stats.aeus);
  const full = element("b");
  full.style.width = part(aeu.busy);
  made.append(swatch, `${aeu.id}: ${(100 * aeu.busy).toFixed(0)} %`, element("br"), `${count(aeu.keys_s)}/s`, element("i", {}, full));
  made.addEventListener("click", () => { state.marked = state.marked === aeu.id ? undefined : aeu.id; showAll(); });
  return made;
}

function showCharts() {
  const {times, keys, busy} = state.history, all = nodes();
  const shape = `${all.join()} ${matchMedia("(prefers-color-scheme: dark)").matches}`;
  if (state.charts?.shape !== shape) {
    state.charts?.keys.end();
    state.charts?.busy.end();
    const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
    const cell = getComputedStyle(document.documentElement).getPropertyValue("--cell").trim();
    const colours = all.map((_, at) => `hsl(${(210 + 360 * at / all.length) % 360} 70% ${cell})`);
    state.charts = {shape, keys: chart("keys-chart", ["keys/s"], [accent], count, 10),
                    busy: chart("busy-chart", all.map((node) => `NumaNode ${node}`), colours, percent, 0.05)};
  }
  state.charts.keys.redraw(times, [keys]);
  state.charts.busy.redraw(times, all.map((_, at) => busy.map((one) => one[at] ?? null)));
}

function showObjects() {
  const imbalances = new Map((state.balancer.objects ?? []).map((one) => [one.object, one.imbalance]));
  const rows = state.now.stats.objects.map((object) => {
    const imbalance = imbalances.get(object.name);
    return {properties: {tabindex: "0", "data-key": object.name, class: object.name === state.object ? "selected" : ""},
            cells: [object.name, object.kind.replace("OBJECT_KIND_", "").toLowerCase().replace("_", " "), count(Number(object.keys)),
                    bytes(Number(object.memory_bytes)), imbalance === undefined ? "–" : imbalance.toFixed(2)]};
  });
  show("objects", table([{title: "object", text: true}, {title: "kind", text: true}, {title: "rows"}, {title: "memory"}, {title: "imbalance"}],
                        rows, "There is no object. `eris create NAME` or `eris import` makes one."));
}
for (const kind of ["click", "keydown"]) {
  document.getElementById("objects").addEventListener(kind, (event) => {
    const row = event.target.closest("tr[tabindex]");
    if (!row || (kind === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    choose(row.dataset.key);
    showAll();
    wake();
  });
}

function showTraffic() {
  const all = state.now.stats.numa_nodes, before = state.last?.stats.numa_nodes;
  const rates = all.map((from, at) => from.keys_sent_to.map((keys, to) => (before ? rate(keys, before[at]?.keys_sent_to[to] ?? 0) : 0)));
  const most = Math.max(0, ...rates.flat());
  const rows = all.map((from, at) => [`NumaNode ${from.id}`, ...from.keys_sent_to.map((keys, to) => (
    {text: count(rates[at][to]), heat: most > 0 ? rates[at][to] / most : 0, class: at === to ? "own" : "",
     title: `${keys} keys since the start, from NumaNode ${from.id} to NumaNode ${all[to].id}`}))]);
  show("traffic", table([{title: "from", text: true}, ...all.map((to) => ({title: `to ${to.id}`}))], rows, "There is no NumaNode."));
}

function showSpace() {
  for (const place of document.querySelectorAll(".chosen")) place.textContent = state.object ?? "no object";
  const {hot} = state, aeus = state.now.stats.aeus;
  if (hot === null || hot.aeus.length === 0) {
    const empty = state.object === null ? "There is no object." : hot === null ? "Waiting for the ranges." : "It has no range.";
    for (const id of ["space", "hot", "owners"]) show(id, element("p", {class: "empty"}, empty));
    return;
  }
  const colours = new Map(aeus.map((aeu) => [aeu.id, colourOf(aeu.id, aeus)]));
  const ranges = hot.aeus.map((aeu, at) => ({aeu, load: hot.loads_us_per_s[at] / 1e6, rows: Number(hot.rows[at])}));
  show("space", space(ranges, colours, state.marked, (at) => { lookAt(ranges, at); }));
  document.getElementById("legend").textContent =
    `${ranges.length} ${ranges.length === 1 ? "range" : "ranges"}${state.marked === undefined ? "" : `; marked: those of AEU ${state.marked}`}`;
  showHot(hot, colours);
  showOwners(ranges, hot.load, colours);
}
function lookAt(ranges, at) {
  const place = document.getElementById("range");
  if (at < 0) { place.textContent = ""; return; }
  const [from, to] = rangeText(state.ranges?.[at]?.range);
  place.textContent = `Range ${at}: from ${from} to ${to}, AEU ${ranges[at].aeu}, load ${ranges[at].load.toFixed(4)} s/s, ${count(ranges[at].rows)} rows`;
}
function showHot(hot, colours) {
  const rows = hot.hottest.map((one) => {
    const [from, to] = rangeText(one.range);
    return [from, to, {text: one.aeu, colour: colours.get(one.aeu)}, one.load.toFixed(4),
            {text: percent(hot.load > 0 ? one.load / hot.load : 0), share: hot.load > 0 ? one.load / hot.load : 0}];
  });
  show("hot", table([{title: "from"}, {title: "up to"}, {title: "AEU"}, {title: "load, s/s"}, {title: "of the object"}], rows,
                    "No key has been used lately (of a heap table no range is hot)."));
}
function showOwners(ranges, all, colours) {
  const owners = new Map();
  for (const range of ranges) {
    const own = owners.get(range.aeu) ?? {ranges: 0, load: 0, rows: 0};
    owners.set(range.aeu, {ranges: own.ranges + 1, load: own.load + range.load, rows: own.rows + range.rows});
  }
  const rows = [...owners].sort((a, b) => a[0] - b[0]).map(([aeu, own]) => [
    {text: `AEU ${aeu}`, colour: colours.get(aeu)}, count(own.ranges), count(own.rows), own.load.toFixed(4),
    {text: percent(all > 0 ? own.load / all : 0), share: all > 0 ? own.load / all : 0}]);
  show("owners", table([{title: "owner", text: true}, {title: "ranges"}, {title: "rows"}, {title: "load, s/s"}, {title: "of the object"}], rows, ""));
}

const PHASES = {BETWEEN_STEPS: "waits for its next step", OTHER_TRANSFER: "waits for another transfer of the source", SOURCE: "the source gives rows",
                TARGET: "rows are on their way", CONCLUSION: "the source hears how it ended"};
const HOMES = {UNSPECIFIED: "–", UNDER_WAY: "follows", HOME: "is there", STAYS: "some stays"};
const short = (value, prefix) => String(value).replace(prefix, "");
function showTransfers() {
  const columns = [{title: "object", text: true}, {title: "kind", text: true}, {title: "from"}, {title: "up to"}, {title: "AEU → AEU"}, {title: "rows"},
                   {title: "copied"}, {title: "time"}];
  const common = (one) => [one.object, short(one.kind, "TRANSFER_KIND_").toLowerCase(), ...rangeText(one.range), `${one.from_aeu} → ${one.to_aeu}`,
                           count(Number(one.rows)), bytes(Number(one.bytes)), duration(Number(one.duration_us) / 1000)];
  show("running", table([...columns, {title: "now", text: true}],
    state.balancer.running.map((one) => [...common(one), PHASES[short(one.phase, "TRANSFER_PHASE_")] ?? ""]),
    state.balancer.paused ? "The balancer is paused: nothing moves." : "Nothing is moving now."));
  if (!state.transfers) return;
  show("past", table([...columns, {title: "longest pause"}, {title: "memory", text: true}, {title: "began", text: true}, {title: "outcome", text: true}],
    state.transfers.transfers.filter((one) => one.outcome !== "TRANSFER_OUTCOME_RUNNING").map((one) => {
      const outcome = short(one.outcome, "TRANSFER_OUTCOME_").toLowerCase();
      return [...common(one), duration(one.longest_pause_us / 1000), HOMES[short(one.home, "MEMORY_FOLLOWS_")] ?? "",
              new Date(Number(one.started_us) / 1000).toLocaleTimeString(),
              {text: one.reason ? `${outcome}: ${one.reason}` : outcome, class: outcome === "done" ? "" : "bad", title: one.reason}];
    }), "No range has moved since the start."));
}

function showMemory() {
  if (!state.memory) return;
  const {memory} = state, limit = Number(memory.limit_bytes);
  const kinds = [["objects", (node) => node.in_use_bytes - node.buffers_bytes, "var(--accent)"], ["buffers", (node) => node.buffers_bytes, "#c9822b"],
                 ["kept for reuse", (node) => node.kept_bytes, "var(--good)"], ["made ready", (node) => node.ready_bytes, "var(--faint)"]];
  const lines = memory.numa_nodes.map((node) => element("div", {class: "bar-row"}, element("span", {}, `NumaNode ${node.id}`),
    bar(kinds.map(([name, of, colour]) => ({value: of(node), colour, title: `${name}: ${bytes(of(node))}`})), limit),
    element("span", {}, `${bytes(Number(node.reserved_bytes))} reserved`)));
  const keys = element("div", {class: "keys"}, ...kinds.map(([name, , colour]) => {
    const swatch = element("span", {class: "swatch"});
    swatch.style.background = colour;
    return element("span", {}, swatch, name);
  }), `a bar's whole length: the limit of all NumaNodes, ${bytes(limit)}`);
  show("memory-nodes", ...lines, keys);
  const rows = memory.objects.filter((one) => Number(one.committed_bytes) > 0).map((one) => [one.object, one.numa_node, bytes(Number(one.committed_bytes)), bytes(Number(one.used_bytes)),
    bytes(Number(one.cached_bytes)), bytes(Number(one.spilled_bytes))]);
  show("memory-objects", table([{title: "object", text: true}, {title: "NumaNode"}, {title: "committed"}, {title: "used"}, {title: "free, kept by AEUs"},
                                {title: "on other NumaNodes"}], rows, "No object has memory."));
}

function showConnection() {
  const place = document.getElementById("connection"), lost = document.getElementById("lost");
  place.dataset.state = state.lost ? "lost" : state.now ? "live" : "starting";
  place.textContent = state.lost ? "no connection" : state.now ? "live" : "connecting";
  lost.hidden = !state.lost;
  if (state.lost) {
    lost.textContent = `The server has not answered since ${state.lost.since.toLocaleTimeString()} (${state.lost.why}). `
                     + "What is shown is from before. Trying again every second.";
  }
  document.getElementById("main").classList.toggle("old", Boolean(state.lost));
}

function showAll() {
  showConnection();
  if (!state.now) return;
  for (const shown of [showServer, showAeus, showCharts, showObjects, showTraffic, showSpace, showTransfers, showMemory]) shown();
}

// --- the loop ---

let wake = () => {};
async function run() {
  for (;;) {
    if (!document.hidden) {
      try {
        await poll();
        state.lost = null;
      } catch (error) {
        state.lost ??= {since: new Date()};
        state.lost.why = error.name === "TimeoutError" ? "it took too long" : error instanceof TypeError ? "no connection" : error.message;
      }
      showAll();
    }
    await new Promise((resolve) => { wake = resolve; setTimeout(resolve, POLL_MS); });
  }
}
document.addEventListener("visibilitychange", () => wake());
run();
