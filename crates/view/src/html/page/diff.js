// A diff or a value as lines. Each node: n name, l label, a action, k kind, b before, t after, f forces, s sensitive, u unknown,
// j JSON in a string, w remark, c parts, h unchanged parts that are left out.
const SIGNS = { "+": "added", "-": "removed", "~": "changed" };
const BRACKETS = { object: "{}", map: "{}", block: "{}", list: "[]", set: "[]" };
const MANY_CHILDREN = 200;

const diffView = (node) => {
  const view = el("div", { class: "diff" });
  const isWhole = node.n === undefined && BRACKETS[node.k] && node.b === undefined && node.t === undefined && !node.j;
  if (isWhole) parts(node, view);
  else view.append(diffNode(node, false));
  return view;
};

const isSequence = (node) => node.k === "list" || node.k === "set";

const parts = (node, into) => {
  limited(node.c || [], MANY_CHILDREN, (child) => diffNode(child, isSequence(node)), into);
  if (node.h) into.append(hidden(node.h, "unchanged " + (isSequence(node) ? "element" : "attribute")));
  return into;
};

const hidden = (count, noun) => line(" ", el("i", { class: "hidden" }, "# " + plural(count, noun)));

const line = (sign, ...content) => {
  const row = el("div", { class: "line s-" + (SIGNS[sign] || "same") });
  const mark = el("span", { class: "sign", "aria-hidden": "true" }, sign || " ");
  append(row, [mark, SIGNS[sign] && spoken(SIGNS[sign] + " "), el("span", { class: "content" }, ...content)]);
  return row;
};

const diffNode = (node, inList) => {
  const sign = node.a || " ";
  const name = node.n === undefined || inList ? null : el("span", { class: "name" }, String(node.n), node.l !== undefined && ' "' + node.l + '"');
  const after = [node.w && el("i", { class: "hidden" }, " # " + node.w), node.f && el("span", { class: "forces" }, " forces replacement")];
  const equals = name && (node.k === "block" ? " " : " = ");
  if (node.k === "text" && node.c) return multiline(node, sign, name, after);
  const brackets = BRACKETS[node.k];
  const isShown = node.c || (brackets && node.b === undefined && node.t === undefined);
  if (brackets && isShown) {
    const [start, end] = node.j ? ["jsonencode(" + brackets[0], brackets[1] + ")"] : brackets;
    if (!node.c && !node.h) return line(sign, name, equals, start + end, after);
    const box = el("div", { class: "nest" }, line(sign, name, equals, start, after), parts(node, el("div", { class: "kids" })));
    box.append(line(" ", end, node.t !== undefined && [arrow(), literal(node.t, "new", node)]));
    return box;
  }
  // A value that changes its type: the old and the new one.
  if (node.c) return el("div", { class: "nest" }, line(sign, name, after), el("div", { class: "kids" }, node.c.map((child) => diffNode(child, false))));
  return line(sign, name, equals, change(node), after);
};

const arrow = () => el("span", { class: "arrow", "aria-label": "becomes", role: "img" }, " → ");

// Before and after. Only the part that differs is marked.
const change = (node) => {
  const { b, t } = node;
  if (b !== undefined && t !== undefined && b !== t) {
    const [before, after] = marked(b, t, node);
    return [before, arrow(), after];
  }
  if (t !== undefined) return literal(t, node.a === "+" ? "new" : "", node);
  if (b !== undefined) return literal(b, node.a === "-" ? "old" : "", node);
  return BRACKETS[node.k] || "";
};

const literal = (text, side, node) => {
  const special = text === "(sensitive value)" ? " sensitive" : text === "(known after apply)" ? " unknown" : text === "null" ? " null" : "";
  return el("span", { class: "value " + side + special, title: special && node.s ? "The report does not contain sensitive values." : null }, text);
};

const marked = (b, t, node) => {
  const isString = b[0] === '"' && t[0] === '"' && b.length < 4000 && t.length < 4000;
  if (!isString) return [literal(b, "old", node), literal(t, "new", node)];
  const limit = Math.min(b.length, t.length) - 1;
  let start = 1;
  while (start < limit && b[start] === t[start]) start++;
  let end = 1;
  while (end < limit - start + 1 && b[b.length - 1 - end] === t[t.length - 1 - end]) end++;
  // A change of nearly everything is easier to read as a whole.
  if (start + end < Math.max(b.length, t.length) * 0.35) return [literal(b, "old", node), literal(t, "new", node)];
  return [part(b, start, end, "old"), part(t, start, end, "new")];
};

const part = (text, start, end, side) => {
  const middle = text.slice(start, text.length - end);
  return el("span", { class: "value " + side }, text.slice(0, start), middle && el("mark", {}, middle), text.slice(text.length - end));
};

const multiline = (node, sign, name, after) => {
  const lines = el("div", { class: "kids text" });
  limited(node.c, MANY_CHILDREN * 2, (row) => (row.h ? hidden(row.h, "unchanged line") : line(row.a || " ", row.t !== undefined ? row.t : row.b || "")), lines);
  return el("div", { class: "nest" }, line(sign, name, name && " = ", el("span", { class: "kind" }, "text"), after), lines);
};

// All words of a diff, for search; and the paths of attributes without indexes.
const collect = (node, path, words, paths) => {
  // Every attribute of a state counts, only changed ones of a plan.
  let here = path;
  if (typeof node.n === "string") {
    here = path ? path + "." + node.n : node.n;
    words.push(node.n);
    if (node.a || isState) paths.add(here);
  }
  if (node.b !== undefined) words.push(node.b);
  if (node.t !== undefined) words.push(node.t);
  if (node.c) for (const child of node.c) collect(child, node.k === "text" ? path : here, words, paths);
};
