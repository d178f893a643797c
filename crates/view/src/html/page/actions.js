// The words of the page for each action, in the order of risk: actions that remove objects are first.
const ACTIONS = {
  "destroy": { sign: "-", word: "Destroy", tone: "destroy" },
  "replace": { sign: "±", word: "Replace", tone: "replace" },
  "forget": { sign: "○", word: "Forget", tone: "forget" },
  "update": { sign: "~", word: "Update", tone: "update" },
  "create": { sign: "+", word: "Create", tone: "create" },
  "read": { sign: "≤", word: "Read", tone: "read" },
  "import": { sign: "↓", word: "Import", tone: "read" },
  "move": { sign: "→", word: "Move", tone: "quiet" },
  "object": { sign: "•", word: "Managed", tone: "create" },
  "data": { sign: "≤", word: "Data", tone: "read" },
  "tainted": { sign: "!", word: "Tainted", tone: "destroy" },
  "deposed": { sign: "○", word: "Deposed", tone: "forget" },
  "no-op": { sign: " ", word: "No change", tone: "quiet" },
};
const ACTION_NAMES = Object.keys(ACTIONS);
const actionOf = (name) => ACTIONS[name] || { sign: "?", word: name, tone: "quiet" };

// An object that is only moved or imported has no other action.
const shownAction = (change) => {
  if (change.action !== "no-op") return change.action;
  if (change.import) return "import";
  return change.moved_from ? "move" : "no-op";
};

const badge = (name) => {
  const action = actionOf(name);
  return el("span", { class: "badge t-" + action.tone }, el("span", { "aria-hidden": "true" }, action.sign), spoken(action.word + " "));
};

// Long addresses break after dots and underscores.
const breakable = (text) => text.split(/(?<=[._])/).flatMap((part, at) => (at > 0 ? [el("wbr"), part] : [part]));

// The address with the module in a quiet tone: the resource is what people look for.
const addressText = (item) => {
  const module = item.module ? item.module + "." : "";
  const rest = item.address.startsWith(module) ? item.address.slice(module.length) : item.address;
  return el("span", { class: "address" },
    rest !== item.address && el("span", { class: "module" }, ...breakable(module)), el("b", {}, ...breakable(rest)),
    item.deposed && el("span", { class: "module" }, " (deposed " + item.deposed + ")"));
};

// A deposed object has the address of its instance: its link names the key too.
const nameOf = (item) => item.address + (item.deposed ? " (deposed " + item.deposed + ")" : "");
const linkTo = (item) => link(nameOf(item));
const link = (address, label) => el("a", { href: "#" + encodeURIComponent(address), class: "to" }, label || address);
