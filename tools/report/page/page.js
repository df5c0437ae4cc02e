// The sections of the page, from the embedded document of tools/report/report_data.h.

const data = JSON.parse(document.getElementById("report-data").textContent);

function section(id, title, ...content) {
  document.getElementById("contents").append(element("li", {}, element("a", {href: `#${id}`}, title)));
  document.getElementById("content").append(element("section", {id, "aria-labelledby": `${id}-title`}, element("h2", {id: `${id}-title`}, title), content));
}

function missing(what, how) {
  return element("p", {class: "missing"}, `${what} ${how}`);
}

// Buttons of which one is pressed; show(value) draws what it stands for.
function choice(label, options, show) {
  const group = element("div", {class: "choice", role: "group", "aria-label": label});
  const buttons = options.map(([text, value]) => button(text, {"aria-pressed": "false"}, () => press(value)));
  function press(value) {
    buttons.forEach((each, i) => each.setAttribute("aria-pressed", String(options[i][1] === value)));
    show(value);
  }
  group.append(element("span", {}, label), ...buttons);
  press(options[0][1]);
  return group;
}

const timeAxes = {
  seconds: {label: "training time (s)", format: (x) => formatSeconds(x)},
  update: {label: "updates", format: (x) => `update ${formatCount(x)}`},
};

// A choice of x axis over charts that makeCharts(axis) makes.
function overTime(makeCharts) {
  const charts = element("div", {class: "charts"});
  const pick = choice("Over", [["Seconds", "seconds"], ["Updates", "update"]], (axis) => charts.replaceChildren(...makeCharts(axis)));
  return [pick, charts];
}

// ---- Learning ----

const ratioSeries = [
  {key: "test_ratio", table: "evaluations", name: "test graphs", style: 0},
  {key: "validation_ratio", table: "evaluations", name: "validation graphs", style: 1},
  {key: "mean_ratio", table: "updates", name: "batch mean", style: 2},
  {key: "measured_ratio", table: "updates", name: "batch mean of measured rewards", style: 3},
];

function anyNumber(values) {
  return values.some((value) => value !== null && Number.isFinite(value));
}

const ratioAxis = {xFrom: 0, yLabel: "makespan / one device", yFormat: formatRatio, reference: {y: 1, label: "one device"}};

// One run: all its curves in one chart.
function runChart(group, run, axis) {
  const series = ratioSeries.filter(({key, table}) => anyNumber(run[table][key])).map(({key, table, name, style}) => ({name, style, x: run[table][axis], y: run[table][key]}));
  if (series.length === 0) return missing(`${group.name} has no metrics yet.`, "They come with the first update.");
  return lineChart({...ratioAxis, title: group.name, xLabel: timeAxes[axis].label, xFormat: timeAxes[axis].format, series});
}

// Several runs: a chart a curve, since bands in one chart would cover each other; on one scale, so that they compare.
function bandCharts(group, runs, axis) {
  const curves = ratioSeries.filter(({key}) => group.bands[axis][key].x.length > 0);
  const yRange = paddedRange([1, ...curves.flatMap(({key, table}) => runs.flatMap((run) => run[table][key]))]);
  return curves.map(({key, table, name}) => {
    const band = group.bands[axis][key];
    const each = runs.map((run) => ({name, style: 0, faint: true, x: run[table][axis], y: run[table][key]}));
    return lineChart({...ratioAxis, yRange, title: `${group.name}: ${name}, ${plural(runs.length, "run")}`, xLabel: timeAxes[axis].label, xFormat: timeAxes[axis].format,
      series: [...each, {name: "mean, from least to greatest", style: 0, x: band.x, y: band.mean, low: band.low, high: band.high}]});
  });
}

function learningCharts(group, axis) {
  const runs = group.runs.map((r) => data.runs[r]);
  const charts = group.bands ? bandCharts(group, runs, axis) : [];
  return charts.length > 0 ? charts : runs.map((run) => runChart(group, run, axis));
}

function outcomeTable() {
  const parts = ["train", "validation", "test"];
  const rows = data.runs.filter((run) => run.summary).map((run) => [run.path, run.seed, run.summary.updates ?? null, run.summary.train_seconds ?? null,
    ...parts.map((part) => run.summary[part]?.policy ?? null), run.summary.test?.start ?? null]);
  if (rows.length === 0) return missing("No run has ended yet, so there is no outcome.", "A run writes summary.json when it ends.");
  const columns = [{label: "Run"}, {label: "Seed", number: true}, {label: "Updates", number: true, format: formatCount}, {label: "Training", number: true, format: formatSeconds},
    {label: "Policy on training graphs", number: true, format: formatRatio}, {label: "On validation graphs", number: true, format: formatRatio}, {label: "On test graphs", number: true, format: formatRatio}, {label: "Start placement on test graphs", number: true, format: formatRatio}];
  return sortableTable(columns, rows, "Makespan / one device at the end of each run, geometric mean, greedy placements", 0);
}

function learningSection() {
  if (data.runs.length === 0) return section("learning", "Learning", missing("No run directory was given.", "Name one, RUN_DIR, to see its learning curves."));
  const make = (axis) => data.run_groups.flatMap((group) => learningCharts(group, axis));
  const notes = ["Makespan over that of the best single device; lower is better. Greedy placements on test and validation graphs, sampled episodes in the batch mean."];
  if (data.run_groups.some((group) => group.bands)) notes.push("Of several runs the bold line is the mean and the band reaches from the least to the greatest, as far as all of them go; thin lines are the runs.");
  return section("learning", "Learning", outcomeTable(), element("p", {}, notes.join(" ")), overTime(make));
}

// ---- Methods ----

const farthestRatio = 3;  // Beyond it a placement is bad however far it is; the rest of the plot is worth more.

function minimizedOf(results) {
  return results.objective === "throughput" ? "load of the busiest device" : "makespan";
}

function cdfChart(results) {
  const drawn = results.methods.filter((method) => method.cdf.ratio.length > 0);
  if (drawn.length === 0) return missing("No method has a placement to compare with one device.", "Evaluate with --methods single,... to have its time.");
  const ratios = drawn.flatMap((method) => method.cdf.ratio);
  const [low, high] = paddedRange(ratios, 0);
  const xRange = [low, Math.min(high, Math.max(farthestRatio, low * 1.5))];
  const series = drawn.map((method) => ({name: method.method, style: results.methods.indexOf(method), step: true,
    x: [method.cdf.ratio[0], ...method.cdf.ratio], y: [0, ...method.cdf.share]}));
  return lineChart({
    title: "Distribution of runtime", summary: "The share of graphs whose step takes at most so long; further left is faster. A placement that does not fit the memory never counts, so a line that ends below 100% has such.",
    xLabel: `${minimizedOf(results)} / one device`, yLabel: "share of graphs", xFormat: (x) => `up to ${formatRatio(x)}`, yFormat: formatPercent, yTickFormat: formatPercent,
    xRange, yRange: [0, 1.02], series,
  });
}

function methodsTable(results) {
  const columns = [{label: "Method"}, {label: `Geometric mean of ${minimizedOf(results)} / one device`, number: true, format: formatRatio}, {label: "Wins", number: true, format: formatCount}, {label: "Feasible", number: true, format: formatCount},
    {label: "Placements", number: true, format: formatCount}, {label: "Time to place", number: true, format: (s) => formatMicros(1e6 * s)}, {label: "Simulated placements", number: true, format: formatCount}];
  const rows = results.methods.map((method) => [method.method, method.geometric_mean_ratio, method.wins, method.feasible, method.placements, method.seconds, method.evaluations]);
  return sortableTable(columns, rows, `Methods on ${plural(results.graphs, "graph")}. Wins are graphs on which no other method is faster.`, 1);
}

function methodsSection() {
  if (data.results.length === 0) return section("methods", "Methods compared", missing("No evaluation was given.", "Write one with emplace evaluate --json > results.json and name results.json."));
  return section("methods", "Methods compared", data.results.map((results) => [
    data.results.length > 1 ? element("h3", {class: "source"}, results.path) : null,
    element("div", {class: "charts"}, cdfChart(results)), methodsTable(results),
    results.rows_without_single > 0 ? element("p", {class: "note"}, `${plural(results.rows_without_single, "row")} left out of the ratios: the file does not say how long one device takes.`) : null,
  ]));
}

// A curve for each method: how far it is from the best known placement after how many seconds.
function anytimeChart(anytime) {
  const drawn = anytime.methods.filter((method) => anyNumber(method.over_best));
  if (drawn.length === 0) return missing("No method found a placement in time.", "Give more time: anytime.py --seconds.");
  const seconds = (x) => formatSeconds(10 ** x);
  const x = anytime.seconds.map(Math.log10);
  const far = Math.max(...drawn.flatMap((method) => method.over_best.filter(Number.isFinite)));
  return lineChart({
    title: "What each method finds in a given time",
    summary: `Makespan over the best known of the same graph and machine, geometric mean over ${plural(anytime.pairs, "pair")} of them; lower is better. A method that found nothing in time on a pair is left out there.`,
    xLabel: "seconds given (logarithmic)", yLabel: "makespan / best known", xFormat: seconds, xTicks: x, xTickFormat: seconds, yFormat: formatRatio,
    xRange: x.length > 1 ? [x[0], x.at(-1)] : [x[0] - 0.5, x[0] + 0.5], yRange: paddedRange([1, Math.min(far, farthestRatio)]),
    series: drawn.map((method, style) => ({name: method.method, style, x, y: method.over_best})),
  });
}

function anytimeSection() {
  if (data.anytime.length === 0) return;
  section("anytime", "Methods over time", data.anytime.map((anytime) => [
    data.anytime.length > 1 ? element("h3", {class: "source"}, anytime.path) : null, element("div", {class: "charts"}, anytimeChart(anytime))]));
}

// ---- The placed graph ----

function placedSection() {
  const {placed} = data;
  if (!placed) return section("placement", "A placed graph", missing("No placed graph was given.", "Add --graph, --devices and --placement, or a run directory with policy.safetensors and test graphs."));
  const compared = placed.single_device_us > 0 ? `, ${formatRatio(placed.makespan_us / placed.single_device_us)} of the ${formatMicros(placed.single_device_us)} on one device` : "";
  return section("placement", `A placed graph: ${placed.graph}`,
    element("p", {}, `${plural(placed.ops.name.length, "op")} on ${plural(placed.devices.length, "device")}, placed by ${placed.placed_by}. A simulated step takes ${formatMicros(placed.makespan_us)}${compared}.`),
    element("div", {class: "charts"}, ganttFigure(placed), graphFigure(placed)));
}

// ---- Health of the runs ----

const stages = [
  {key: "receive", name: "receiving trajectories"},
  {key: "check", name: "checking them"},
  {key: "batch", name: "collecting a batch"},
  {key: "update", name: "updating the policy"},
  {key: "publish", name: "publishing it, checkpoints, metrics"},
  {key: "evaluate", name: "evaluating it"},
];
const almostAlways = 0.9;  // A stage that works for this share of the time is the one that the others wait for.

function healthCharts(run, axis) {
  const {updates} = run;
  const common = {xLabel: timeAxes[axis].label, xFormat: timeAxes[axis].format, xFrom: 0, yFloor: 0};
  const line = (key, name, style, more = {}) => ({name, style, x: updates[axis], y: updates[key], ...more});
  // Of shares of the time: points stand for unequally many seconds.
  const mean = (shares) => {
    let sum = 0, seconds = 0;
    shares.forEach((share, i) => {
      if (share === null) return;
      const length = updates.seconds[i] - (i > 0 ? updates.seconds[i - 1] : 0);
      sum += share * length;
      seconds += length;
    });
    return seconds > 0 ? sum / seconds : 0;
  };
  const drawn = stages.filter(({key}) => anyNumber(updates.busy_share[key]));
  const busiest = drawn.reduce((a, b) => (mean(updates.busy_share[a.key]) >= mean(updates.busy_share[b.key]) ? a : b), drawn[0]);
  const positive = (key) => [0, paddedRange(updates[key], 0)[1]];
  const charts = [];
  if (anyNumber(updates.episodes_per_s)) charts.push(lineChart({...common, title: "Episodes", yLabel: "episodes / s", yFormat: (v) => `${formatNumber(v, 1)} / s`, yRange: positive("episodes_per_s"), series: [line("episodes_per_s", "episodes / s", 0)]}));
  if (anyNumber(updates.steps_per_s)) charts.push(lineChart({...common, title: "Steps", yLabel: "steps / s", yFormat: (v) => `${formatNumber(v, 0)} / s`, yRange: positive("steps_per_s"), series: [line("steps_per_s", "steps / s", 0)]}));
  if (anyNumber(updates.mean_lag)) charts.push(lineChart({...common, title: "Policy lag", summary: "Versions between the policy that acted and the one that learns.", yLabel: "versions", yFormat: (v) => formatNumber(v, 2), yRange: [0, Math.max(1, paddedRange(updates.max_lag)[1])],
    series: [{...line("mean_lag", "mean, from least to greatest", 0), low: updates.min_lag, high: updates.max_lag}]}));
  if (drawn.length > 0) {
    const share = mean(updates.busy_share[busiest.key]);
    charts.push(lineChart({...common, title: "Where the learner's time goes",
      summary: `How much of the time each stage of the learner works; they work side by side. The busiest is ${busiest.name}, ${formatPercent(share)} of the time: ${share >= almostAlways ? "it limits the run" : "the learner also waits, for actors or the network"}.`,
      yLabel: "share of the time", yFormat: formatPercent, yTickFormat: formatPercent, yRange: [0, 1],
      series: drawn.map(({key, name}, style) => ({name, style, x: updates[axis], y: updates.busy_share[key]}))}));
  }
  if (anyNumber(updates.blocked_share)) charts.push(lineChart({...common, title: "Full queue", summary: "Share of the time in which the learner's buffer was full and actors had to wait.", yLabel: "share of the time", yFormat: formatPercent, yTickFormat: formatPercent, yRange: [0, Math.max(0.05, paddedRange(updates.blocked_share)[1])], series: [line("blocked_share", "queue full", 0)]}));
  if (anyNumber(updates.measured_episodes_per_s)) {
    charts.push(lineChart({...common, title: "Measured episodes", summary: "Episodes with rewards measured on hardware that updates have used; all others are simulated.", yLabel: "episodes / s", yFormat: (v) => `${formatNumber(v, 2)} / s`, yRange: positive("measured_episodes_per_s"), series: [line("measured_episodes_per_s", "measured episodes / s", 0)]}));
    charts.push(lineChart({...common, title: "Open windows", summary: "Seconds for which hardware actors had the computer to themselves, over all of them, in a second.", yLabel: "seconds / s", yFormat: (v) => `${formatNumber(v, 2)} s / s`, yRange: positive("window_share"), series: [line("window_share", "windows open", 0)]}));
  }
  return charts;
}


function ledgerTable(run) {
  if (!run.ledger?.total) return missing("This run has no ledger.json yet.", "It is written with the first checkpoint.");
  const measures = run.ledger.total.measured > 0 || run.summary?.measured !== undefined;
  const ledgerKeys = ["produced", "trained", "stale", "rejected", "lost", ...(measures ? ["measured", "measured_again"] : [])];
  const row = (name, counts) => [name, ...ledgerKeys.map((key) => counts?.[key] ?? null), counts?.incarnations ?? null];
  const rows = Object.entries(run.ledger.actors ?? {}).map(([name, counts]) => row(name, counts));
  rows.push(row("all actors", run.ledger.total));
  const columns = [{label: "Episodes of"}, ...ledgerKeys.map((key) => ({label: (key[0].toUpperCase() + key.slice(1)).replace("_", " "), number: true, format: formatCount})), {label: "Incarnations", number: true, format: formatCount}];
  return plainTable(columns, rows, `Ledger: produced = trained + stale + rejected + lost${measures ? "; measured on hardware, and of those confirmed by another actor" : ""}`);
}

function healthSection() {
  if (data.runs.length === 0) return section("health", "How the runs went", missing("No run directory was given.", "Name one, RUN_DIR, to see its throughput, lag and ledger."));
  return section("health", "How the runs went", data.runs.map((run) => {
    const hasUpdates = run.updates.update.length > 0;
    return element("section", {class: "run"}, element("h3", {class: "source"}, `${run.name}, seed ${run.seed}: ${run.path}`), ledgerTable(run),
      hasUpdates ? overTime((axis) => healthCharts(run, axis)) : missing("This run has no updates yet.", "metrics.jsonl tells of them."));
  }));
}

// ---- The page ----

function themeButton() {
  const toggle = document.getElementById("theme");
  const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { toggle.textContent = isDark() ? "Light colours" : "Dark colours"; };
  toggle.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
    themeChanged();
  });
  onThemeChange(label);
  label();
}

document.getElementById("sources").textContent = [...data.runs, ...data.results, ...data.anytime].map((source) => source.path).join(" · ");
themeButton();
learningSection();
methodsSection();
anytimeSection();
placedSection();
healthSection();
