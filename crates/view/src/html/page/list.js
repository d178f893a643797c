// A list of any length: only blocks of rows near the visible part of the page have elements.
const BLOCK = 40;
const ROW_HEIGHT = 37;

class Rows {
  // `show` makes the element of an entry.
  constructor(container, show) {
    this.container = container;
    this.show = show;
    this.entries = [];
    this.blocks = [];
    this.observer = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        const block = this.blocks[Number(target.dataset.block)];
        if (!block || block.element !== target) continue;
        if (isIntersecting) this.fill(block);
        else this.empty(block);
      }
    }, { rootMargin: "900px 0px" });
  }

  set(entries) {
    this.observer.disconnect();
    this.entries = entries;
    this.blocks = [];
    for (let start = 0; start < entries.length; start += BLOCK) {
      const count = Math.min(BLOCK, entries.length - start);
      const element = el("div", { class: "block", role: "presentation", "data-block": this.blocks.length });
      const block = { element, start, count, filled: false, height: count * ROW_HEIGHT };
      element.style.height = block.height + "px";
      this.blocks.push(block);
    }
    this.container.replaceChildren(...this.blocks.map((block) => block.element));
    if (this.blocks[0]) this.fill(this.blocks[0]);
    for (const block of this.blocks) this.observer.observe(block.element);
  }

  fill(block) {
    if (block.filled) return;
    block.filled = true;
    block.element.style.height = "";
    for (let at = block.start; at < block.start + block.count; at++) {
      const row = this.show(this.entries[at]);
      set(row, { role: "listitem", "aria-setsize": this.entries.length, "aria-posinset": at + 1, "data-at": at });
      block.element.append(row);
    }
  }

  // A block with the focus stays: removing it would lose the position of the keyboard.
  empty(block) {
    if (!block.filled || this.printing || block.element.contains(document.activeElement)) return;
    block.height = block.element.offsetHeight;
    // A hidden list has no height to remember.
    if (block.height === 0) return;
    block.filled = false;
    block.element.style.height = block.height + "px";
    block.element.replaceChildren();
  }

  row(at) {
    const block = this.blocks[Math.floor(at / BLOCK)];
    if (!block) return null;
    this.fill(block);
    return block.element.children[at - block.start];
  }

  // Scrolls to an entry and focuses it.
  go(at) {
    const row = this.row(at);
    if (!row) return;
    const button = row.querySelector("button.toggle");
    button.focus({ preventScroll: true });
    const isVisible = row.getBoundingClientRect().top > 60 && row.getBoundingClientRect().bottom < innerHeight;
    if (!isVisible) row.scrollIntoView({ block: "center" });
    // Blocks above get their real height when they come near: look again.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const { top, bottom } = row.getBoundingClientRect();
      if (top < 60 || (bottom > innerHeight && top > innerHeight / 2)) row.scrollIntoView({ block: "center" });
    }));
  }

  replace(at) {
    const block = this.blocks[Math.floor(at / BLOCK)];
    if (!block || !block.filled) return;
    const old = block.element.children[at - block.start];
    const hadFocus = old.contains(document.activeElement);
    const row = this.show(this.entries[at]);
    set(row, { role: "listitem", "aria-setsize": this.entries.length, "aria-posinset": at + 1, "data-at": at });
    old.replaceWith(row);
    if (hadFocus) row.querySelector("button.toggle").focus({ preventScroll: true });
  }

  print(limit) {
    this.printing = true;
    for (const block of this.blocks) {
      if (block.start < limit) this.fill(block);
      else block.element.hidden = true;
    }
  }

  printed() {
    this.printing = false;
    for (const block of this.blocks) block.element.hidden = false;
  }
}
