// The parts besides the list: summary, outputs, checks, warnings.
const drawHeader = () => {
  const kind = isState ? "State" : report.mode === "destroy" ? "Destroy plan" : report.mode === "refresh-only" ? "Refresh-only plan" : "Plan";
  const facts = [report.workspace && "Workspace " + report.workspace, report.timestamp, report.tool].filter(Boolean);
  clear(byId("title"), kind);
  clear(byId("origin"), facts.map((fact, at) => [at > 0 && " · ", el("span", {}, fact)]));
};

const sentence = () => {
  if (isState) return plural(items.length, "resource instance") + ", " + plural((report.outputs || []).length, "output") + ".";
  const totals = report.totals || {};
  const parts = [["import", "to import"], ["add", "to add"], ["change", "to change"], ["destroy", "to destroy"], ["forget", "to forget"]];
  const shown = parts.filter(([name]) => totals[name] || ["add", "change", "destroy"].includes(name));
  return shown.map(([name, words]) => number(totals[name] || 0) + " " + words).join(", ") + ".";
};

const drawSummary = () => {
  const box = byId("summary");
  const total = items.length || 1;
  const counts = counted(items, (item) => [item.shown]);
  const names = [...counts.keys()].sort((a, b) => (ranked.get(a) ?? 99) - (ranked.get(b) ?? 99));
  const cards = el("div", { class: "cards" }, names.map((name) => el("button", {
    type: "button", class: "card t-" + actionOf(name).tone,
    onclick: () => { unfilter(); chosen.actions.add(name); syncFilters(); choose(); select("changes"); byId("search").focus(); },
  }, el("span", { class: "big" }, number(counts.get(name))), el("span", { class: "label" }, el("span", { "aria-hidden": "true" }, actionOf(name).sign + " "), actionOf(name).word))));
  let x = 0;
  const bar = svg("svg", { class: "bar", viewBox: "0 0 1000 8", preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const name of names) {
    // The rare and dangerous stay visible among thousands.
    const width = Math.max(6, (counts.get(name) / total) * 1000);
    bar.append(svg("rect", { x, y: 0, width, height: 8, class: "f-" + actionOf(name).tone }));
    x += width;
  }
  bar.setAttribute("viewBox", "0 0 " + Math.max(x, 1) + " 8");
  clear(box, el("p", { class: "sentence" }, sentence()), notes(), !isState && items.length > 0 && [cards, bar], risky());
};

const notes = () => {
  const list = [];
  if (report.errored) list.push(el("p", { class: "note bad" }, "Planning failed. This plan is incomplete and cannot be applied."));
  if (!isState && !items.length && !drift.length) list.push(el("p", { class: "note good" }, "No changes. Your infrastructure matches the configuration."));
  const failed = (report.checks || []).filter((check) => check.status === "fail" || check.status === "error").length;
  if (failed) list.push(el("button", { type: "button", class: "note bad", onclick: () => select("checks") }, plural(failed, "failed check")));
  const warnings = (report.warnings || []).length;
  if (warnings) list.push(el("button", { type: "button", class: "note warn", onclick: () => select("warnings") }, plural(warnings, "warning")));
  const disabled = (report.disabled || []).length;
  if (disabled) list.push(el("button", { type: "button", class: "note", onclick: () => select("disabled") }, plural(disabled, "disabled object")));
  if (drift.length) list.push(el("button", { type: "button", class: "note warn", onclick: () => select("drift") }, plural(drift.length, "change") + " outside of Yuba"));
  return list.length > 0 && el("div", { class: "notes" }, list);
};

// Destroyed, replaced and forgotten objects are on the first screen, each with its reason.
const RISKY = 8;
const risky = () => {
  const high = items.filter((item) => !item.drift && ["destroy", "replace", "forget"].includes(item.shown)).sort(ORDERS.risk);
  if (isState || !high.length) return null;
  const line = (item) => el("li", {}, badge(item.shown), el("div", {}, el("a", { href: "#" + encodeURIComponent(nameOf(item)), class: "to" }, addressText(item)), " ",
    el("span", { class: "why" }, why(item))));
  const list = el("ul", {}, high.slice(0, RISKY).map(line));
  const more = high.length > RISKY && el("button", {
    type: "button", class: "more", onclick: () => {
      unfilter();
      for (const name of ["destroy", "replace", "forget"]) chosen.actions.add(name);
      syncFilters();
      choose();
      select("changes");
      byId("list").scrollIntoView();
    },
  }, "Show all " + number(high.length));
  return el("section", { class: "risk", "aria-labelledby": "risk-title" }, el("h2", { id: "risk-title" }, "Removed or replaced ", el("span", { class: "count" }, number(high.length))), list, more);
};

const why = (item) => {
  const parts = [];
  if (item.forces && item.forces.length) parts.push(item.forces.slice(0, 3).join(", ") + (item.forces.length === 1 ? " forces" : " force") + " the replacement");
  else if (item.reason) parts.push(item.reason.text);
  if (item.dependents && item.dependents.length) parts.push(plural(item.dependents_total || item.dependents.length, "dependent") + " among the changes");
  return parts.join(" · ");
};

const drawOutputs = () => {
  const outputs = report.outputs || [];
  clear(byId("panel-outputs"), el("h2", { class: "spoken" }, "Outputs"), outputs.length === 0 && el("p", { class: "none" }, "No outputs."),
    limited(outputs, 200, (output) => el("div", { class: "item plain" }, el("div", { class: "head" },
      !isState && badge(output.action), el("span", { class: "address" }, el("b", {}, output.name)), el("span", { class: "tags" }, output.sensitive && tag("sensitive"))),
    el("div", { class: "body" }, diffView(output.diff))), el("div", {})));
};

const STATUS = { pass: ["✓", "create"], fail: ["✗", "destroy"], error: ["!", "destroy"], unknown: ["?", "quiet"] };
const drawChecks = () => {
  const checks = [...(report.checks || [])].sort((a, b) => Object.keys(STATUS).indexOf(b.status) % 3 - Object.keys(STATUS).indexOf(a.status) % 3);
  clear(byId("panel-checks"), el("h2", { class: "spoken" }, "Checks"), limited(checks, 300, (check) => {
    const [sign, tone] = STATUS[check.status] || ["?", "quiet"];
    return el("div", { class: "item plain" }, el("div", { class: "head" }, el("span", { class: "badge t-" + tone, "aria-hidden": "true" }, sign),
      el("span", { class: "address" }, el("b", {}, check.address)), el("span", { class: "tags" }, tag(check.status, tone === "destroy" ? "bad" : ""))),
    check.messages && check.messages.length > 0 && el("div", { class: "body" }, check.messages.map((text) => el("p", {}, text))));
  }, el("div", {})));
};

const fileLine = (one) => one.file && el("code", {}, one.file + (one.line ? ":" + one.line : ""));
const drawWarnings = () => {
  clear(byId("panel-warnings"), el("h2", { class: "spoken" }, "Warnings"), limited(report.warnings || [], 300, (warning) => el("div", { class: "item plain" },
    el("div", { class: "head" }, el("span", { class: "badge t-update", "aria-hidden": "true" }, "!"), el("span", { class: "address" }, el("b", {}, warning.summary)), warning.deprecated && el("span", { class: "tags" }, tag("deprecated: " + warning.deprecated, "warn"))),
    el("div", { class: "body" }, warning.detail && el("p", { class: "detail" }, warning.detail),
      warning.address && el("p", {}, "At ", link(warning.address)),
      warning.file && el("p", {}, fileLine(warning)))), el("div", {})));
};

const drawDisabled = () => {
  clear(byId("panel-disabled"), el("h2", { class: "spoken" }, "Disabled"), el("p", { class: "lead" }, "Resources and modules that the configuration disables with enabled = false."),
    limited(report.disabled || [], 300, (one) => el("div", { class: "item plain" },
      el("div", { class: "head" }, el("span", { class: "badge t-quiet", "aria-hidden": "true" }, "○"), el("span", { class: "address" }, el("b", {}, one.address))),
      el("div", { class: "body" }, el("p", {}, "Disabled at ", fileLine(one)))), el("div", {})));
};
