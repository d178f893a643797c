// The page: reads the report, shows it, and follows what the person does.
let report, items, changes, drift, isState, graph;
let order = "risk";
let isGrouped = true;
let rows, driftRows, visible = [], sorted = {};

// The report is plain JSON, or JSON compressed by deflate in base64.
const unpack = async () => {
  const block = byId("report");
  const text = block.textContent;
  if (block.dataset.form !== "deflate") return JSON.parse(text);
  if (!window.DecompressionStream) throw new Error("This browser is too old to read the compressed report. Use a current version of Chrome, Edge, Firefox or Safari.");
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
};

const stateOf = (object) => (object.deposed ? "deposed" : object.tainted ? "tainted" : object.mode === "data" ? "data" : "object");

// A node of the graph is a resource: each of its objects leads to it.
const nodesOfItems = () => {
  const byId = new Map();
  const idOf = (item) => withoutKeys(item.module || "") + (item.module ? "." : "") + (item.mode === "managed" ? "" : item.mode + ".") + item.type + "." + item.name;
  for (const item of isState ? items : []) byId.set(idOf(item), [...(byId.get(idOf(item)) || []), item]);
  graph.nodes.forEach((node, at) => {
    node.items = isState ? byId.get(node.id) || [] : (node.changes || []).map((index) => changes[index]);
    for (const item of node.items) if (item.node === undefined) item.node = at;
  });
};

const prepare = (data) => {
  report = data.report;
  isState = report.subject === "state";
  graph = report.graph && report.graph.nodes && report.graph.nodes.length ? { ...report.graph, ...data.layout } : null;
  const flags = (item) => ["moved_from", "import", "generated", "disabled", "deposed", "forces", "tainted", "relevant"].filter((name) => item[name] !== undefined && item[name] !== false && item[name].length !== 0).map((name) => name.replace("_from", ""));
  const item = (noun, drift) => (found, at) => Object.assign(found, {
    at, noun, drift, id: noun[0] + at, tree: found.diff || found.values, flags: flags(found), shown: isState ? stateOf(found) : shownAction(found),
  });
  changes = (report.changes || []).map(item("change", false));
  items = isState ? (report.resources || []).map(item("resource", false)) : changes;
  drift = (report.drift || []).map(item("drift", true));
  if (graph) nodesOfItems();
};

// Shows what the chosen filters leave.
const choose = () => {
  if (sorted.order !== order) sorted = { order, items: [...items].sort(ORDERS[order]) };
  visible = sorted.items.filter(matches);
  const entries = entriesOf(visible, order, isGrouped);
  rows.set(entries);
  const text = isFiltered() ? number(visible.length) + " of " + plural(items.length, noun()) : plural(items.length, noun());
  clear(byId("found"), text, entries.length < visible.length && " in " + plural(entries.length, "row"));
  byId("empty").hidden = visible.length > 0;
  byId("clear").hidden = !isFiltered();
  if (drift.length) driftRows.set(entriesOf(drift.filter((item) => chosen.terms.every((term) => meets(item, term) !== term.not)), "plan", false));
  if (!isPermalink) setHash(filtersToHash());
};

const noun = () => (isState ? "resource instance" : "change");

// Same page, other fragment: a new entry of the history for every letter would be in the way.
let isPermalink = false;
const setHash = (hash) => {
  const now = location.hash || "#";
  if (now !== hash) {
    try { history.replaceState(null, "", hash); } catch { /* Some viewers forbid it: the page works without. */ }
  }
};

const syncFilters = () => {
  byId("search").value = chosen.text;
  drawFacets();
  drawAttributes();
};

const TABS = ["changes", "drift", "outputs", "checks", "warnings", "disabled", "graph", "run"];
const select = (name) => {
  for (const tab of TABS) {
    const button = byId("tab-" + tab);
    const isOn = tab === name;
    button.setAttribute("aria-selected", String(isOn));
    button.tabIndex = isOn ? 0 : -1;
    byId("panel-" + tab).hidden = !isOn;
  }
  document.body.dataset.tab = name;
  if (name === "graph") drawGraph();
};

const tabKeys = (event) => {
  const shown = TABS.filter((name) => !byId("tab-" + name).hidden);
  const at = shown.indexOf(event.target.id.replace("tab-", ""));
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shown.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  const name = shown[(next + shown.length) % shown.length];
  select(name);
  byId("tab-" + name).focus();
};

// #ADDRESS opens a change, #?... sets filters.
const follow = () => {
  const hash = location.hash.slice(1);
  if (hash.startsWith("?")) {
    filtersFromHash(hash.slice(1));
    isPermalink = true;
    syncFilters();
    choose();
    isPermalink = false;
    return;
  }
  let address;
  try { address = decodeURIComponent(hash); } catch { return; }
  if (!address) return;
  const named = (item) => nameOf(item) === address;
  const item = items.find(named) || drift.find(named) || items.find((item) => item.address === address);
  if (!item) {
    announce("No " + noun() + " with the address " + address);
    return;
  }
  show(item);
};

const show = (item) => {
  const list = item.drift ? driftRows : rows;
  isPermalink = true;
  if (!item.drift && !visible.includes(item)) {
    unfilter();
    syncFilters();
    choose();
  }
  select(item.drift ? "drift" : "changes");
  const at = list.entries.findIndex((entry) => (entry.members ? entry.members.includes(item) : entry.item === item));
  if (at >= 0) {
    open.add(keyOf(list.entries[at]));
    list.row(at);
    list.replace(at);
    list.go(at);
    for (const old of document.querySelectorAll(".target")) old.classList.remove("target");
    list.row(at).classList.add("target");
  }
  isPermalink = false;
};

const openAll = (isOpen) => {
  const list = document.body.dataset.tab === "drift" ? driftRows : rows;
  for (const entry of list.entries) {
    if (isOpen) open.add(keyOf(entry));
    else open.delete(keyOf(entry));
  }
  list.set(list.entries);
};

// The row with the focus, or the first one that is visible.
const step = (by) => {
  const panel = byId(document.body.dataset.tab === "drift" ? "drift-list" : "list");
  const list = document.body.dataset.tab === "drift" ? driftRows : rows;
  const focused = document.activeElement.closest && document.activeElement.closest("[data-at]");
  if (focused && panel.contains(focused)) {
    const next = Number(focused.dataset.at) + by;
    if (next >= 0 && next < list.entries.length) list.go(next);
    return;
  }
  const first = [...panel.querySelectorAll("[data-at]")].find((row) => row.getBoundingClientRect().bottom > 80);
  if (first) list.go(Number(first.dataset.at));
};

const keys = (event) => {
  // Letters choose an option of a list, and "/" does not.
  const isTyping = event.target.matches("input:not([type=checkbox])") || (event.target.matches("select") && event.key !== "/");
  if (event.key === "Escape" && event.target.id === "search") {
    unfilter();
    syncFilters();
    choose();
    event.target.blur();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const isRow = event.target.closest && event.target.closest("[data-at]");
  const toggle = event.target.matches("button.toggle") && event.target;
  const isOpen = toggle && toggle.getAttribute("aria-expanded") === "true";
  const run = {
    "/": () => { select("changes"); byId("search").focus(); byId("search").select(); },
    "j": () => step(1),
    "k": () => step(-1),
    "ArrowDown": isRow && (() => step(1)),
    "ArrowUp": isRow && (() => step(-1)),
    "ArrowRight": toggle && !isOpen && (() => toggle.click()),
    "ArrowLeft": toggle && isOpen && (() => toggle.click()),
    "o": () => openAll(true),
    "c": () => openAll(false),
    "g": graph && (() => select("graph")),
    "?": () => byId("help").showModal(),
  }[event.key];
  if (!run) return;
  event.preventDefault();
  run();
};

const toggleTheme = () => {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
};

const PRINTED = 1000;
const OPEN_ON_PAPER = 200;
const print = () => {
  for (const tab of TABS) if (!byId("tab-" + tab).hidden && tab !== "graph" && tab !== "run") byId("panel-" + tab).hidden = false;
  const before = new Set(open);
  if (rows.entries.length <= OPEN_ON_PAPER) {
    for (const entry of rows.entries) open.add(keyOf(entry));
    rows.set(rows.entries);
  }
  rows.print(PRINTED);
  driftRows.print(PRINTED);
  byId("cut").hidden = rows.entries.length <= PRINTED;
  addEventListener("afterprint", () => {
    open.clear();
    for (const key of before) open.add(key);
    rows.printed();
    driftRows.printed();
    rows.set(rows.entries);
    byId("cut").hidden = true;
    select(document.body.dataset.tab);
  }, { once: true });
};

const showTabs = () => {
  const has = { changes: true, drift: drift.length, outputs: (report.outputs || []).length, checks: (report.checks || []).length, warnings: (report.warnings || []).length, disabled: (report.disabled || []).length, graph: graph && graph.nodes.length };
  for (const tab of TABS) {
    const button = byId("tab-" + tab);
    button.hidden = tab === "run" ? button.hidden : !has[tab];
    if (tab === "changes" || tab === "graph" || tab === "run") continue;
    clear(button, button.dataset.label, " ", el("span", { class: "count" }, number(has[tab] || 0)));
  }
  clear(byId("tab-changes"), isState ? "Resources" : "Changes", " ", el("span", { class: "count" }, number(items.length)));
};

const draw = (data) => {
  prepare(data);
  rows = new Rows(byId("list"), (entry) => rowOf(entry, rows));
  driftRows = new Rows(byId("drift-list"), (entry) => rowOf(entry, driftRows));
  document.title = (isState ? "State" : "Plan: " + sentence().replace(/\.$/, "")) + (report.workspace ? " · " + report.workspace : "");
  drawHeader();
  drawSummary();
  drawFacets();
  drawOutputs();
  drawChecks();
  drawWarnings();
  drawDisabled();
  showTabs();
  if (isState) {
    byId("order").options[0].text = "by status";
    byId("order").options[3].text = "as stored";
    byId("search").placeholder = "Search addresses and values, or type:aws_ attr:tags";
  }
  byId("group").closest("label").hidden = !(report.groups || []).length;
  select("changes");
  isPermalink = location.hash.length > 1;
  choose();
  isPermalink = false;
  byId("loading").hidden = true;
  document.body.dataset.ready = "yes";
  performance.mark("shown");
  follow();
  indexWhenIdle(0);
};

const listen = () => {
  addEventListener("hashchange", follow);
  document.addEventListener("keydown", keys);
  // A second click on the same link does not change the fragment.
  document.addEventListener("click", (event) => {
    const to = event.target.closest("a[href^='#']");
    if (to && to.getAttribute("href") === location.hash) follow();
  });
  byId("search").addEventListener("input", (event) => {
    chosen.text = event.target.value;
    chosen.terms = parseQuery(chosen.text);
    choose();
  });
  byId("order").addEventListener("change", (event) => { order = event.target.value; choose(); });
  byId("group").addEventListener("change", (event) => { isGrouped = event.target.checked; choose(); });
  byId("clear").addEventListener("click", () => { unfilter(); syncFilters(); choose(); byId("search").focus(); });
  byId("open-all").addEventListener("click", () => openAll(true));
  byId("close-all").addEventListener("click", () => openAll(false));
  byId("theme").addEventListener("click", toggleTheme);
  byId("keys").addEventListener("click", () => byId("help").showModal());
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("search").focus(); });
  byId("tabs").addEventListener("keydown", tabKeys);
  for (const tab of TABS) byId("tab-" + tab).addEventListener("click", () => select(tab));
  addEventListener("beforeprint", print);
  if (matchMedia("(max-width: 60rem)").matches) byId("filters").open = false;
};

const fail = (problem) => {
  const note = byId("loading");
  note.hidden = false;
  note.className = "note bad";
  note.textContent = problem.message;
};
