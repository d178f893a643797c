// Elements from tags, attributes and children. Data becomes text nodes and attribute values, never markup.
const el = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  set(node, attributes);
  append(node, children);
  return node;
};

const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS(SVG, tag);
  set(node, attributes);
  append(node, children);
  return node;
};

const set = (node, attributes) => {
  for (const name in attributes) {
    const value = attributes[name];
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
};

const append = (node, children) => {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child);
  }
};

const clear = (node, ...children) => {
  node.replaceChildren();
  append(node, children);
  return node;
};

const byId = (id) => document.getElementById(id);
const plural = (count, noun) => number(count) + " " + noun + (count === 1 ? "" : "s");
const number = (count) => count.toLocaleString("en");
const spoken = (text) => el("span", { class: "spoken" }, text);

// The first items, and a button for the rest: a list of any length stays cheap.
const limited = (items, limit, show, parent) => {
  items.slice(0, limit).forEach((item) => parent.append(show(item)));
  if (items.length > limit) {
    const rest = items.slice(limit);
    const more = el("button", { class: "more", type: "button" }, "Show " + number(rest.length) + " more");
    more.addEventListener("click", () => {
      more.remove();
      const first = parent.childNodes.length;
      limited(rest, limit * 5, show, parent);
      const next = parent.childNodes[first];
      const target = next && (next.matches("a,button") ? next : next.querySelector("a,button"));
      if (target) target.focus();
    });
    parent.append(more);
  }
  return parent;
};

// Says something to screen readers.
const announce = (text) => { byId("status").textContent = text; };

const copy = async (text, button) => {
  try {
    await navigator.clipboard.writeText(text);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1200);
  } catch {
    announce("The browser does not allow copying. Select the address and copy it.");
  }
};
