// Which items are shown: facets that are chosen, and a query of words and field:word.
const FIELDS = ["action", "module", "type", "attr", "address", "provider", "status", "is"];

const parseQuery = (text) => {
  const terms = [];
  for (const match of text.matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi)) {
    let [, not, field, quoted, word] = match;
    let value = quoted !== undefined ? quoted : word;
    // Anything else before a colon is part of the word.
    if (field && !FIELDS.includes(field.toLowerCase())) {
      value = field + ":" + value;
      field = undefined;
    }
    if (value) terms.push({ not: not === "-", field: field && field.toLowerCase(), value: value.toLowerCase() });
  }
  return terms;
};

const index = (item) => {
  if (item.words !== undefined) return item;
  const words = [item.address];
  const paths = new Set();
  for (const extra of [item.reason && item.reason.text, item.moved_from, item.import, item.provider]) if (extra) words.push(extra);
  if (item.tree) collect(item.tree, "", words, paths);
  item.words = words.join("\n").toLowerCase();
  item.paths = [...paths];
  item.pathText = "\n" + item.paths.join("\n").toLowerCase() + "\n";
  return item;
};

// A provider instance: source, alias and key. The search finds the key without its quotes, too.
const providerOf = (item) => (item.provider || "") + (item.provider_alias ? "." + item.provider_alias : "") + (item.provider_key === undefined ? "" : "[" + item.provider_key + "]");

const inModule = (item, module) => {
  const own = item.module || "";
  return own === module || own.startsWith(module + ".") || own.startsWith(module + "[");
};

// A path names an attribute and everything in it. A word in the search can be a part of a path.
const hasAttribute = (item, wanted) => {
  const text = index(item).pathText;
  return text.includes("\n" + wanted + "\n") || text.includes("\n" + wanted + ".");
};

const meets = (item, term) => {
  switch (term.field) {
    case undefined: return index(item).words.includes(term.value);
    case "action": case "status": return item.shown === term.value || actionOf(item.shown).word.toLowerCase() === term.value;
    case "module": return term.value === "root" ? !item.module : inModule({ module: (item.module || "").toLowerCase() }, term.value);
    case "type": return (item.type || "").toLowerCase().includes(term.value);
    case "attr": return index(item).pathText.includes(term.value);
    case "address": return item.address.toLowerCase().includes(term.value);
    case "provider": return providerOf(item).toLowerCase().includes(term.value);
    case "is": return item.flags.includes(term.value);
  }
};

// The chosen facets. Every change of them goes through `choose`, which shows the result.
const chosen = { actions: new Set(), module: null, type: null, provider: null, attr: null, text: "", terms: [] };

const matches = (item) => {
  if (chosen.actions.size && !chosen.actions.has(item.shown)) return false;
  if (chosen.type !== null && item.type !== chosen.type) return false;
  if (chosen.provider !== null && providerOf(item) !== chosen.provider) return false;
  if (chosen.module !== null && !(chosen.module === "" ? !item.module : inModule(item, chosen.module))) return false;
  if (chosen.attr !== null && !hasAttribute(item, chosen.attr.toLowerCase())) return false;
  for (const term of chosen.terms) if (meets(item, term) === term.not) return false;
  return true;
};

const isFiltered = () => chosen.actions.size > 0 || chosen.module !== null || chosen.type !== null || chosen.provider !== null || chosen.attr !== null || chosen.terms.length > 0;

const unfilter = () => {
  chosen.actions.clear();
  chosen.module = chosen.type = chosen.provider = chosen.attr = null;
  chosen.text = "";
  chosen.terms = [];
};

// Filters as part of the address of the page, so that a filtered page can be sent to a colleague.
const filtersToHash = () => {
  const parts = new URLSearchParams();
  if (chosen.actions.size) parts.set("action", [...chosen.actions].join(","));
  if (chosen.module !== null) parts.set("module", chosen.module || "root");
  if (chosen.type !== null) parts.set("type", chosen.type);
  if (chosen.provider !== null) parts.set("provider", chosen.provider);
  if (chosen.attr !== null) parts.set("attr", chosen.attr);
  if (chosen.text) parts.set("q", chosen.text);
  const text = parts.toString();
  return text ? "#?" + text : "#";
};

const filtersFromHash = (text) => {
  const parts = new URLSearchParams(text);
  unfilter();
  for (const name of (parts.get("action") || "").split(",")) if (name) chosen.actions.add(name);
  if (parts.has("module")) chosen.module = parts.get("module") === "root" ? "" : parts.get("module");
  chosen.type = parts.get("type");
  chosen.provider = parts.get("provider");
  chosen.attr = parts.get("attr");
  chosen.text = parts.get("q") || "";
  chosen.terms = parseQuery(chosen.text);
};
