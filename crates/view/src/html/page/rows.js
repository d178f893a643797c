// Entries of the list of changes: one change, or several with the identical diff.
const open = new Set();
const keyOf = (entry) => (entry.members ? "g" + entry.members[0].group + ":" + entry.members[0].shown : entry.item.id);

const rowOf = (entry, rows) => {
  const item = entry.members ? entry.members[0] : entry.item;
  const isOpen = open.has(keyOf(entry));
  const row = el("div", { class: "item" });
  if (entry.heading) row.append(el("h3", { class: "section" }, entry.heading, " ", el("span", { class: "count" }, number(entry.headingCount))));
  const toggle = el("button", { class: "toggle", type: "button", "aria-expanded": String(isOpen) },
    el("span", { class: "caret", "aria-hidden": "true" }), badge(item.shown), entry.members ? groupTitle(entry) : addressText(item));
  toggle.addEventListener("click", () => {
    const key = keyOf(entry);
    if (open.has(key)) open.delete(key);
    else open.add(key);
    rows.replace(Number(row.dataset.at));
  });
  const head = el("div", { class: "head t-" + actionOf(item.shown).tone }, toggle, tags(entry, item), entry.members ? null : tools(item));
  row.append(head);
  if (isOpen) row.append(body(entry, item));
  return row;
};

// Members of a group differ in what does not change and in what only the provider sets: their group has the common part.
const treeOfEntry = (entry, item) => (entry.members ? (report.groups[item.group] || {}).diff : null) || item.tree;

const groupTitle = (entry) => {
  const [first] = entry.members;
  return el("span", { class: "address" }, el("b", {}, first.type || ""), " ",
    el("span", { class: "times" }, "× " + number(entry.members.length)), " ",
    el("span", { class: "module" }, first.address + " and " + plural(entry.members.length - 1, "other") + " with the identical diff"));
};

const tag = (text, tone, title) => el("span", { class: "tag " + (tone || ""), title }, text);

const tags = (entry, item) => {
  const list = el("span", { class: "tags" });
  const add = (...children) => append(list, children);
  if (entry.members) return list;
  if (item.tainted) add(tag("tainted", "bad"));
  if (item.problem) add(tag("no values", "warn", item.problem));
  if (item.forces && item.forces.length) add(tag("forced by " + item.forces[0] + (item.forces.length > 1 ? " +" + (item.forces.length - 1) : ""), "bad", item.forces.join("\n")));
  else if (item.reason && ["destroy", "replace", "forget"].includes(item.shown)) add(tag(shorten(item.reason.text), "bad", item.reason.text));
  if (item.moved_from && item.shown !== "move") add(tag("moved"));
  if (item.import && item.shown !== "import") add(tag("import"));
  if (item.generated) add(tag("generated configuration"));
  if (item.disabled) add(tag("disabled", "warn"));
  if (item.relevant) add(tag("used by the configuration", "warn"));
  if (item.provider_key !== undefined) add(tag("provider " + keyText(item.provider_key)));
  if (item.dependents && item.dependents.length && ["destroy", "replace"].includes(item.shown)) add(tag(plural(item.dependents_total || item.dependents.length, "dependent")));
  return list;
};

const keyText = (key) => (typeof key === "number" ? "[" + key + "]" : '["' + key + '"]');
const shorten = (text) => (text.length > 60 ? text.slice(0, 58) + "…" : text);

const tools = (item) => el("span", { class: "tools" },
  el("a", { href: "#" + encodeURIComponent(nameOf(item)), title: "Link to this " + item.noun, class: "tool" }, "#", spoken(" link to " + nameOf(item))),
  el("button", { type: "button", class: "tool", title: "Copy the address", onclick: (event) => copy(item.address, event.currentTarget) }, "Copy", spoken(" the address " + item.address)),
  item.node !== undefined && el("button", { type: "button", class: "tool", onclick: () => showInGraph(item.node) }, "Graph", spoken(" of " + item.address)));

const fact = (name, ...content) => [el("dt", {}, name), el("dd", {}, ...content)];

const ORDER_TEXTS = {
  "create-first": "The new object is created before this one is destroyed.",
  "destroy-first": "This object is destroyed before the new one is created.",
  "forget-first": "This object is removed from the state and stays; then the new one is created.",
};

const body = (entry, item) => {
  const facts = el("dl", { class: "facts" });
  const add = (name, ...content) => append(facts, fact(name, ...content));
  if (entry.members) {
    const list = limited(entry.members, 100, (member) => el("li", {}, linkTo(member)), el("ul", { class: "links" }));
    add("Applies to", list);
  }
  if (item.reason) add("Reason", item.reason.text);
  if (item.forces && item.forces.length) add("Forced by", limited(item.forces, 20, (path) => el("li", {}, el("code", {}, path)), el("ul", { class: "links" })));
  if (item.order) add("Order", ORDER_TEXTS[item.order] || item.order);
  if (!entry.members) {
    if (item.moved_from) add("Moved from", el("code", {}, item.moved_from));
    if (item.import) add("Import", el("code", {}, item.import));
    if (item.generated) add("Generated", el("code", {}, item.generated));
    if (item.disabled) add("Disabled", "The configuration of this resource has enabled = false.");
    if (item.provider) add("Provider", el("code", {}, item.provider + (item.provider_alias ? "." + item.provider_alias : "") + (item.provider_key === undefined ? "" : keyText(item.provider_key))));
    const related = (name, list, total) => list && list.length && add(name, limited(list, 20, (at) => el("li", {}, linkTo(changes[at])), el("ul", { class: "links" })),
      total && el("span", { class: "count" }, "and " + plural(total - list.length, "other change")));
    related("Needed by", item.dependents, item.dependents_total);
    related("Depends on", item.depends, item.depends_total);
  }
  return el("div", { class: "body" }, facts, item.problem ? el("p", { class: "none" }, item.problem) : el("div", {}, diffView(treeOfEntry(entry, item))));
};

// Entries of filtered items: headings where the order has sections, and one entry for identical diffs.
const HEADINGS = {
  risk: (item) => actionOf(item.shown).word,
  module: (item) => item.module || "Root module",
  type: (item) => item.type,
  plan: () => null,
};

const entriesOf = (items, order, isGrouped) => {
  const heading = HEADINGS[order] || HEADINGS.plan;
  const groups = new Map();
  const counts = new Map();
  const entries = [];
  for (const item of items) {
    const title = heading(item);
    counts.set(title, (counts.get(title) || 0) + 1);
    if (isGrouped && item.group !== undefined && !item.drift) {
      const key = title + "\n" + item.group + "\n" + item.shown;
      const known = groups.get(key);
      if (known) {
        known.all.push(item);
        continue;
      }
      const entry = { item, all: [item], title };
      groups.set(key, entry);
      entries.push(entry);
    } else {
      entries.push({ item, title });
    }
  }
  let last = null;
  for (const entry of entries) {
    if (entry.all && entry.all.length > 1) entry.members = entry.all;
    if (entry.title !== null && entry.title !== last) {
      entry.heading = entry.title;
      entry.headingCount = counts.get(entry.title);
      last = entry.title;
    }
  }
  return entries;
};

const ranked = new Map(ACTION_NAMES.map((name, at) => [name, at]));
const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const ORDERS = {
  risk: (a, b) => (ranked.get(a.shown) ?? 99) - (ranked.get(b.shown) ?? 99) || a.at - b.at,
  module: (a, b) => compareText(a.module || "", b.module || "") || ORDERS.risk(a, b),
  type: (a, b) => compareText(a.type || "", b.type || "") || ORDERS.risk(a, b),
  plan: (a, b) => a.at - b.at,
};
