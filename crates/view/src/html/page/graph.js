// The graph: columns and rows come with the report, the page only leaves out what is collapsed or far from a change.
const view = { hops: 1, expanded: new Set(), selected: null, zoom: 1, found: "", drawn: null };
const NODE_HEIGHT = 28;
const NODE_ROW = 40;
const LETTER = 7;
const LETTERS = 40;
const MAX_NODES = 1000;
const SMALL = 60;

const links = () => {
  if (graph.out) return;
  graph.out = graph.nodes.map(() => []);
  graph.in = graph.nodes.map(() => []);
  for (const [from, to] of graph.edges || []) {
    graph.out[from].push(to);
    graph.in[to].push(from);
  }
};

const isChanged = (node) => node.action && node.action !== "no-op";

// Changed nodes, and what is at most `hops` edges away from one.
const near = () => {
  const all = graph.nodes.map((_, at) => at);
  const start = all.filter((at) => isChanged(graph.nodes[at]));
  if (view.hops === "all" || !start.length) return all;
  const seen = new Set(start);
  let edge = start;
  for (let hop = 0; hop < view.hops; hop++) {
    const next = [];
    for (const at of edge) for (const to of [...graph.out[at], ...graph.in[at]]) if (!seen.has(to)) { seen.add(to); next.push(to); }
    edge = next;
  }
  if (view.selected && view.selected.startsWith("n")) seen.add(Number(view.selected.slice(1)));
  return [...seen].sort((a, b) => a - b);
};

// Keys may contain any letter, so a quoted key ends at its quote.
const withoutKeys = (path) => path.replace(/\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g, "");

// The node that stands for each: itself, or its outermost collapsed module.
const standIn = (at) => {
  const node = graph.nodes[at];
  const collapsed = node.module && modulesWithParents(node).find((path) => !view.expanded.has("m" + path));
  return collapsed ? "m" + collapsed : "n" + at;
};

const worst = (names) => ACTION_NAMES.find((name) => names.has(name)) || "no-op";

const gather = () => {
  links();
  const nodes = near();
  const shown = new Map();
  const of = new Map();
  for (const at of nodes) {
    const key = standIn(at);
    of.set(at, key);
    const known = shown.get(key);
    if (known) known.members.push(at);
    else shown.set(key, { key, members: [at] });
  }
  for (const node of shown.values()) {
    const mean = (list) => node.members.reduce((sum, at) => sum + list[at], 0) / node.members.length;
    node.layer = Math.round(mean(graph.layers));
    node.order = mean(graph.rows);
    const first = graph.nodes[node.members[0]];
    node.action = worst(new Set(node.members.map((at) => graph.nodes[at].action || "no-op")));
    const count = node.members.length;
    if (node.key[0] === "m") node.label = node.key.slice(1).replace(/^.*\.(module\.)/, "$1") + " (" + number(count) + ")";
    else node.label = first.id + (first.items.length > 1 ? " × " + number(first.items.length) : "");
    node.title = node.key[0] === "m" ? node.key.slice(1) : first.id;
    node.items = node.members.flatMap((at) => graph.nodes[at].items);
    node.out = new Set();
    node.in = new Set();
  }
  for (const [from, to] of graph.edges || []) {
    const [a, b] = [of.get(from), of.get(to)];
    if (a !== undefined && b !== undefined && a !== b) {
      shown.get(a).out.add(b);
      shown.get(b).in.add(a);
    }
  }
  return shown;
};

// Nodes of a column go as near to their neighbours as the order and the distance between rows allow.
const place = (list) => {
  const columns = new Map();
  for (const node of list) {
    if (!columns.has(node.layer)) columns.set(node.layer, []);
    columns.get(node.layer).push(node);
  }
  const sorted = [...columns.keys()].sort((a, b) => a - b).map((layer) => columns.get(layer).sort((a, b) => a.order - b.order));
  let x = 20;
  for (const column of sorted) {
    const width = Math.max(...column.map((node) => Math.min(node.label.length, LETTERS))) * LETTER + 44;
    column.forEach((node, at) => { node.x = x; node.width = width; node.y = 20 + at * NODE_ROW; });
    x += width + 70;
  }
  const byKey = new Map(list.map((node) => [node.key, node]));
  for (let sweep = 0; sweep < 6; sweep++) {
    for (const column of sweep % 2 ? [...sorted].reverse() : sorted) {
      for (const node of column) {
        const around = [...node.out, ...node.in].map((key) => byKey.get(key)).filter(Boolean);
        node.wish = around.length ? around.reduce((sum, other) => sum + other.y, 0) / around.length : node.y;
      }
      column.sort((a, b) => a.wish - b.wish || a.order - b.order);
      let bottom = -Infinity;
      let shift = 0;
      for (const node of column) {
        node.y = Math.max(node.wish, bottom + NODE_ROW);
        shift += node.y - node.wish;
        bottom = node.y;
      }
      for (const node of column) node.y -= shift / column.length;
    }
  }
  const top = Math.min(...list.map((node) => node.y));
  for (const node of list) node.y += 20 - top;
  return { width: x, height: Math.max(...list.map((node) => node.y)) + NODE_ROW + 20 };
};

// From the left side of a node to the right side of its dependency. Collapsed modules can depend on each other, so that a dependency
// is in the same column or to the right: such edges are dashed.
const isForward = (from, to) => to.x + to.width < from.x;
const edgePath = (from, to) => {
  const [y1, y2] = [from.y + NODE_HEIGHT / 2, to.y + NODE_HEIGHT / 2];
  if (isForward(from, to)) {
    const [x1, x2] = [from.x, to.x + to.width];
    const bend = (x1 - x2) / 2;
    return `M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`;
  }
  const isSameColumn = from.x === to.x;
  const [x1, x2] = [from.x + from.width, isSameColumn ? to.x + to.width : to.x];
  const bend = isSameColumn ? 36 : (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${isSameColumn ? x2 + bend : x2 - bend} ${y2} ${x2} ${y2}`;
};

const nodeElement = (node) => {
  // The end of a long name says more than its modules.
  const label = node.label.length > LETTERS ? "…" + node.label.slice(1 - LETTERS) : node.label;
  const isSeveral = node.key[0] !== "n";
  const box = svg("g", { class: "node t-" + actionOf(node.action).tone + (isSeveral ? " several" : ""), transform: `translate(${node.x} ${node.y})`, tabindex: "0", role: "button", "data-key": node.key,
    "aria-label": actionOf(node.action).word + " " + node.title + (isSeveral ? ", " + plural(node.members.length, "resource") : "") + ", depends on " + node.out.size + ", needed by " + node.in.size });
  append(box, [svg("title", {}, node.title), isSeveral && svg("rect", { class: "behind", x: 4, y: 4, width: node.width, height: NODE_HEIGHT, rx: 6 }),
    svg("rect", { class: "box", width: node.width, height: NODE_HEIGHT, rx: 6 }),
    svg("text", { class: "sign", x: 10, y: 18 }, actionOf(node.action).sign), svg("text", { x: 28, y: 18 }, label)]);
  node.box = box;
  return box;
};

const drawGraph = (focus) => {
  if (!graph) return;
  if (view.first === undefined) {
    view.first = true;
    if (graph.nodes.length <= SMALL) for (const node of graph.nodes) for (const path of modulesWithParents(node)) view.expanded.add("m" + path);
  }
  const shown = gather();
  let list = [...shown.values()];
  const total = list.length;
  if (total > MAX_NODES) list = list.sort((a, b) => (ranked.get(a.action) ?? 99) - (ranked.get(b.action) ?? 99)).slice(0, MAX_NODES);
  const size = place(list);
  view.drawn = { list, size, byKey: new Map(list.map((node) => [node.key, node])) };
  const picture = svg("svg", { id: "picture", viewBox: `0 0 ${size.width} ${size.height}`, role: "group", "aria-label": "Dependency graph" });
  const edges = svg("g", { class: "edges" });
  for (const node of list) {
    for (const key of node.out) {
      const to = view.drawn.byKey.get(key);
      if (to) edges.append(svg("path", { d: edgePath(node, to), class: isForward(node, to) ? null : "back", "data-from": node.key, "data-to": key }));
    }
  }
  append(picture, [edges, list.map(nodeElement)]);
  clear(byId("canvas"), picture);
  clear(byId("graph-note"), total > MAX_NODES ? "Showing " + number(MAX_NODES) + " of " + number(total) + " nodes. Collapse modules or reduce the distance." : plural(total, "node") + " for " + plural(graph.nodes.length, "resource") + ".");
  zoom(view.zoom);
  if (!view.fitted) fit();
  pick(focus !== undefined ? focus : view.selected, focus !== undefined);
};

const zoom = (value) => {
  if (!view.drawn) return;
  view.zoom = Math.min(3, Math.max(0.1, value));
  const picture = byId("picture");
  picture.setAttribute("width", view.drawn.size.width * view.zoom);
  picture.setAttribute("height", view.drawn.size.height * view.zoom);
};

const fit = () => {
  const canvas = byId("canvas");
  if (!canvas.clientWidth) return;
  view.fitted = true;
  const { width, height } = view.drawn.size;
  zoom(Math.min(1, Math.max(0.7, Math.min((canvas.clientWidth - 10) / width, (innerHeight * 0.7 - 10) / height))));
};

// Selects a node: its edges stand out, and the panel shows its diff.
const pick = (key, isFocused) => {
  view.selected = key;
  for (const element of byId("canvas").querySelectorAll(".picked,.near")) element.classList.remove("picked", "near");
  const node = key && view.drawn.byKey.get(key);
  byId("picture").classList.toggle("has-picked", Boolean(node));
  if (!node) {
    clear(byId("inspector"), el("p", { class: "none" }, "Select a node to see its changes. Nodes on the left are dependencies of nodes on the right."));
    return;
  }
  node.box.classList.add("picked");
  for (const other of [...node.out, ...node.in]) {
    const near = view.drawn.byKey.get(other);
    if (near) near.box.classList.add("near");
  }
  for (const path of byId("picture").querySelectorAll(".edges path")) if (path.dataset.from === key || path.dataset.to === key) path.classList.add("near");
  if (isFocused) {
    const canvas = byId("canvas");
    canvas.scrollTo(node.x * view.zoom - canvas.clientWidth / 2 + node.width / 2, node.y * view.zoom - canvas.clientHeight / 2);
    node.box.focus({ preventScroll: true });
  }
  inspect(node);
};

const inspect = (node) => {
  const jump = (key) => {
    const other = view.drawn.byKey.get(key);
    return el("li", {}, el("button", { type: "button", class: "jump", onclick: () => pick(key, true) }, badge(other.action), other.title));
  };
  const related = (title, keys) => {
    const known = [...keys].filter((key) => view.drawn.byKey.has(key));
    return known.length > 0 && [el("h3", {}, title, " ", el("span", { class: "count" }, number(known.length))), limited(known, 15, jump, el("ul", { class: "jumps" }))];
  };
  const single = node.key[0] === "n";
  const item = node.items.length === 1 && single && node.items[0];
  const several = !item && node.items.length > 0;
  clear(byId("inspector"), el("h2", {}, badge(node.action), node.title),
    !single && el("button", { type: "button", class: "more", onclick: () => { view.expanded.add(node.key); drawGraph(null); } }, "Expand " + plural(node.members.length, "resource")),
    item && el("p", {}, link(nameOf(item), "Show in the list")),
    item && item.tree && diffView(item.tree),
    several && [el("h3", {}, isState ? "Objects " : "Changes ", el("span", { class: "count" }, number(node.items.length))),
      limited([...node.items].sort(ORDERS.risk), 15, (item) => el("li", {}, badge(item.shown), linkTo(item)), el("ul", { class: "jumps" }))],
    related("Depends on", node.out), related("Needed by", node.in));
};

const showInGraph = (at) => {
  for (const path of modulesWithParents(graph.nodes[at])) view.expanded.add("m" + path);
  view.selected = "n" + at;
  select("graph");
  pick("n" + at, true);
};

const findInGraph = () => {
  const wanted = byId("graph-search").value.toLowerCase();
  if (!wanted) return;
  const hits = graph.nodes.map((_, at) => at).filter((at) => graph.nodes[at].id.toLowerCase().includes(wanted));
  if (!hits.length) {
    clear(byId("graph-note"), "No object matches \"" + wanted + "\".");
    return;
  }
  // The same search again goes to the next hit.
  view.hit = view.found === wanted ? (view.hit + 1) % hits.length : 0;
  view.found = wanted;
  showInGraph(hits[view.hit]);
  clear(byId("graph-note"), number(view.hit + 1) + " of " + plural(hits.length, "match").replace("matchs", "matches") + ".");
  byId("graph-search").focus();
};

const graphKeys = (event) => {
  const box = event.target.closest("[data-key]");
  if (!box) return;
  const node = view.drawn.byKey.get(box.dataset.key);
  const column = view.drawn.list.filter((other) => other.layer === node.layer).sort((a, b) => a.y - b.y);
  const beside = (by) => (column[column.indexOf(node) + by] || {}).key;
  const first = (keys) => [...keys].find((key) => view.drawn.byKey.has(key));
  const next = { ArrowLeft: () => first(node.out), ArrowRight: () => first(node.in), ArrowUp: () => beside(-1), ArrowDown: () => beside(1) }[event.key];
  if (next) {
    event.preventDefault();
    event.stopPropagation();
    const key = next();
    if (key) pick(key, true);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    if (node.key[0] !== "n") { view.expanded.add(node.key); drawGraph(null); }
    else if (node.items.length > 0) show([...node.items].sort(ORDERS.risk)[0]);
  }
};

// Dragging scrolls; a click selects.
const dragGraph = (canvas) => {
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse") from = { x: event.clientX, y: event.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    canvas.scrollTo(from.left - event.clientX + from.x, from.top - event.clientY + from.y);
  });
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
};

const listenGraph = () => {
  const canvas = byId("canvas");
  dragGraph(canvas);
  canvas.addEventListener("click", (event) => {
    const box = event.target.closest("[data-key]");
    pick(box ? box.dataset.key : null, false);
    if (box) box.focus({ preventScroll: true });
  });
  canvas.addEventListener("dblclick", (event) => {
    const box = event.target.closest("[data-key]");
    if (box && box.dataset.key[0] !== "n") { view.expanded.add(box.dataset.key); drawGraph(null); }
  });
  canvas.addEventListener("keydown", graphKeys);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(view.zoom * (event.deltaY < 0 ? 1.15 : 1 / 1.15));
  }, { passive: false });
  byId("zoom-in").addEventListener("click", () => zoom(view.zoom * 1.25));
  byId("zoom-out").addEventListener("click", () => zoom(view.zoom / 1.25));
  byId("zoom-fit").addEventListener("click", fit);
  byId("hops").addEventListener("change", (event) => {
    view.hops = event.target.value === "all" ? "all" : Number(event.target.value);
    drawGraph(null);
    fit();
  });
  byId("collapse").addEventListener("click", () => { view.expanded.clear(); drawGraph(null); fit(); });
  byId("expand").addEventListener("click", () => {
    for (const node of graph.nodes) for (const path of modulesWithParents(node)) view.expanded.add("m" + path);
    drawGraph(null);
    fit();
  });
  byId("graph-search").addEventListener("keydown", (event) => { if (event.key === "Enter") findInGraph(); });
};
