// Follows a running plan or apply: the messages of `-json`, by requests that wait for the next ones.
const run = { running: new Map(), done: 0, failed: 0, progress: null, started: Date.now(), log: [], phase: "Starting" };
const LOG_LINES = 2000;

const message = (event) => {
  const hook = event.hook || {};
  const address = (hook.resource && hook.resource.addr) || "";
  const key = address + " " + (event.type || "").replace(/_(start|progress|complete|errored)$/, "");
  const ends = /_(complete|errored)$/.test(event.type || "");
  if (/_start$/.test(event.type || "") && address) run.running.set(key, { address, verb: hook.action || event.type.replace(/_start$/, ""), since: Date.now() });
  if (ends) {
    run.running.delete(key);
    run.done++;
    if (event.type.endsWith("_errored")) run.failed++;
  }
  if (event.type === "apply_start") run.phase = "Applying";
  else if (event.type === "refresh_start" && run.phase === "Starting") run.phase = "Planning";
  const problem = event.diagnostic;
  const level = problem ? problem.severity : event["@level"];
  const detail = problem && problem.detail ? "\n" + problem.detail : "";
  run.log.push({ time: event["@timestamp"], level, text: (event["@message"] || "") + detail });
  if (run.log.length > LOG_LINES) run.log.splice(0, run.log.length - LOG_LINES);
};

const duration = (all) => (all < 60 ? all + " s" : Math.floor(all / 60) + " min " + (all % 60) + " s");
const seconds = (since) => duration(Math.floor((Date.now() - since) / 1000));

// The remaining time was estimated a moment ago.
const rest = () => {
  if (run.ended || !run.progress || !run.progress.rest) return "";
  const left = run.progress.rest - Math.floor((Date.now() - run.progressAt) / 1000);
  return left > 1 ? ", about " + duration(left) + " left" : "";
};

const RUNNING_SHOWN = 30;
const drawRun = () => {
  const running = [...run.running.values()];
  const state = run.ended ? (run.failed ? "Finished with errors" : "Finished") : run.phase;
  clear(byId("run-state"), state + " · " + plural(run.done, "operation") + " done" + (run.failed ? ", " + number(run.failed) + " failed" : "") +
    ", " + number(running.length) + " running · " + (run.ended ? run.took : seconds(run.started)) + rest());
  const progress = run.ended ? null : run.progress;
  const bar = byId("run-bar");
  bar.hidden = !progress || !progress.total;
  bar.max = (progress && progress.total) || 1;
  bar.value = (progress && progress.done) || 0;
  bar.textContent = progress ? progress.done + " of " + progress.total : "";
  clear(byId("run-count"), progress && progress.total && number(progress.done) + " of " + number(progress.total) + (progress.refresh ? " objects refreshed" : " operations done"));
  clear(byId("run-now"), running.slice(0, RUNNING_SHOWN).map((one) => el("li", {}, el("span", { class: "address" }, one.address), " ", el("span", { class: "count" }, one.verb + ", " + seconds(one.since)))),
    running.length > RUNNING_SHOWN && el("li", { class: "none" }, "and " + plural(running.length - RUNNING_SHOWN, "other operation")));
};

const drawLog = (from) => {
  const log = byId("run-log");
  const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 30;
  for (const line of run.log.slice(from)) log.append(el("li", { class: "log-" + line.level }, el("time", {}, (line.time || "").slice(11, 19)), " ", line.text));
  while (log.children.length > LOG_LINES) log.firstChild.remove();
  if (isAtEnd) log.scrollTop = log.scrollHeight;
};

const followRun = async () => {
  byId("loading").hidden = true;
  clear(byId("title"), "Run");
  byId("tab-run").hidden = false;
  byId("tab-changes").hidden = true;
  clear(byId("panel-run"), el("p", { id: "run-state", class: "sentence", role: "status" }), el("progress", { id: "run-bar", "aria-label": "Finished operations", hidden: true }), el("p", { id: "run-count", class: "found" }), el("h2", { class: "section" }, "Running"), el("ul", { id: "run-now" }),
    el("h2", { class: "section" }, "Log"), el("ol", { id: "run-log", tabindex: "0", "aria-label": "Log" }));
  select("run");
  drawRun();
  const clock = setInterval(drawRun, 1000);
  let next = 0;
  let reports = 0;
  while (!run.ended) {
    let answer;
    try {
      answer = await (await fetch("events?from=" + next)).json();
    } catch {
      run.phase = "The connection to Yuba is lost";
      break;
    }
    const before = run.log.length;
    answer.events.forEach(message);
    drawLog(run.log.length >= LOG_LINES ? Math.max(0, LOG_LINES - answer.events.length) : before);
    next = answer.next;
    // A saved plan has no run to follow.
    byId("tab-run").hidden = Boolean(answer.ended && !run.log.length);
    run.progress = answer.progress;
    run.progressAt = Date.now();
    // A plan that is made again replaces the one before.
    if (answer.report > reports) {
      reports = answer.report;
      draw(await (await fetch("report")).json());
      // A page that follows an apply stays at its progress.
      if (!answer.ended) select("run");
    }
    if (answer.ended) {
      run.ended = true;
      run.took = seconds(run.started);
    }
    drawRun();
  }
  clearInterval(clock);
  drawRun();
};
