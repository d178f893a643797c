// The filters beside the list: actions, modules, types and attributes with their counts.
const counted = (items, keys) => {
  const counts = new Map();
  for (const item of items) for (const key of keys(item)) counts.set(key, (counts.get(key) || 0) + 1);
  return counts;
};

const pressed = (isPressed, onclick, ...content) =>
  el("button", { type: "button", class: "facet", "aria-pressed": String(isPressed), onclick }, ...content);

const MANY_FACETS = 40;

// A list of values to choose one of, with a field to narrow it when it is long.
const facetList = (title, values, current, choose, label) => {
  const list = el("div", { class: "options" });
  const fill = (wanted) => {
    const some = values.filter(([value]) => value.toLowerCase().includes(wanted));
    clear(list);
    limited(some, MANY_FACETS, ([value, count]) => {
      const button = pressed(current() === value, () => {
        choose(current() === value ? null : value);
        for (const other of list.querySelectorAll(".facet")) other.setAttribute("aria-pressed", String(current() !== null && other.dataset.value === current()));
      }, label(value), el("span", { class: "count" }, number(count)));
      button.dataset.value = value;
      return button;
    }, list);
  };
  fill("");
  const narrow = values.length > 12 && el("input", {
    type: "search", class: "narrow", placeholder: "Find " + title.toLowerCase(), "aria-label": "Find " + title.toLowerCase(),
    oninput: (event) => fill(event.target.value.toLowerCase()),
  });
  return el("details", { class: "facets", open: values.length <= MANY_FACETS || title !== "Attributes" }, el("summary", {}, title, " ", el("span", { class: "count" }, number(values.length))), narrow, list);
};

const byCount = (counts) => [...counts].sort((a, b) => b[1] - a[1] || compareText(a[0], b[0]));

const modulesWithParents = (item) => {
  const path = item.module || "";
  if (!path) return [""];
  const found = [];
  let at = -1;
  // Quoted keys may contain the separator.
  let isQuoted = false;
  for (let i = 0; i < path.length; i++) {
    if (path[i] === '"' && path[i - 1] !== "\\") isQuoted = !isQuoted;
    if (!isQuoted && path.startsWith(".module.", i)) found.push(path.slice(0, (at = i)));
  }
  found.push(path);
  return found;
};

const drawFacets = () => {
  const actions = counted(items, (item) => [item.shown]);
  const names = [...actions.keys()].sort((a, b) => (ranked.get(a) ?? 99) - (ranked.get(b) ?? 99));
  const box = byId("facets");
  const actionList = el("div", { class: "options" }, names.map((name) => pressed(chosen.actions.has(name), (event) => {
    if (chosen.actions.has(name)) chosen.actions.delete(name);
    else chosen.actions.add(name);
    event.currentTarget.setAttribute("aria-pressed", String(chosen.actions.has(name)));
    choose();
  }, badge(name), el("span", { "aria-hidden": "true" }, actionOf(name).word), el("span", { class: "count" }, number(actions.get(name))))));
  const choice = (name) => [() => chosen[name], (value) => { chosen[name] = value; choose(); }];
  const modules = [...counted(items, modulesWithParents)].sort((a, b) => compareText(a[0], b[0]));
  const [module, chooseModule] = choice("module");
  const [type, chooseType] = choice("type");
  const [provider, chooseProvider] = choice("provider");
  const providers = byCount(counted(items, (item) => (item.provider ? [providerOf(item)] : [])));
  clear(box,
    el("details", { class: "facets", open: true }, el("summary", {}, isState ? "Status" : "Actions"), actionList),
    modules.length > 1 && facetList("Modules", modules, module, chooseModule, (path) => {
      const depth = path ? modulesWithParents({ module: path }).length - 1 : 0;
      const label = el("span", { class: "path" }, path ? path.slice(path.lastIndexOf(".module.") + 1) || path : "Root module");
      label.title = path;
      label.style.paddingLeft = depth * 12 + "px";
      return label;
    }),
    facetList("Types", byCount(counted(items, (item) => (item.type ? [item.type] : []))), type, chooseType, (name) => el("span", { class: "path", title: name }, name)),
    providers.length > 1 && facetList("Providers", providers, provider, chooseProvider, (name) => el("span", { class: "path", title: name }, name.slice(name.lastIndexOf("/", name.includes("[") ? name.indexOf("[") : undefined) + 1))),
    el("div", { id: "attributes" }));
};

// Attributes need a look at every diff, so they come when the page has time.
const drawAttributes = () => {
  const box = byId("attributes");
  if (!box || !items.every((item) => item.words !== undefined)) return;
  const counts = counted(items, (item) => item.paths);
  const values = byCount(counts).slice(0, 500);
  if (values.length) {
    clear(box, facetList("Attributes", values, () => chosen.attr, (value) => { chosen.attr = value; choose(); }, (path) => el("span", { class: "path", title: path }, path)));
  }
};

const indexWhenIdle = (from) => {
  const idle = window.requestIdleCallback || ((run) => setTimeout(() => run({ timeRemaining: () => 8 }), 1));
  idle((deadline) => {
    let at = from;
    while (at < items.length && (deadline.timeRemaining() > 2 || at === from)) {
      for (const end = Math.min(at + 100, items.length); at < end; at++) index(items[at]);
    }
    if (at < items.length) indexWhenIdle(at);
    else drawAttributes();
  });
};
