// Scales, places along them, round tick values, and the two axes of a chart.

// Index of the last of `count` ascending entries that is not after a place, by isAfter(index); -1: all are after it.
function lastBefore(count, isAfter) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

// About `count` round values within [low, high].
function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

// All ticks with as many decimals as the finest of them needs, at most 4.
function tickFormatter(ticks) {
  const decimals = Math.max(...ticks.map((tick) => (String(tick).split(".")[1] ?? "").length));
  return (tick) => tick.toLocaleString("en", {minimumFractionDigits: Math.min(decimals, 4), maximumFractionDigits: Math.min(decimals, 4)});
}

function linearScale([low, high], [from, to]) {
  const scale = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  scale.invert = (position) => low + ((position - from) / (to - from)) * (high - low);
  return scale;
}

// The least range that holds the values, a little more on either side, and nothing below `floor`.
function paddedRange(values, floor = -Infinity) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  const padding = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  return [Math.max(floor, low - padding), high + padding];
}

// Grid lines, tick labels and axis titles into `root`. box: {left, top, right, bottom} of the plot, in pixels.
function drawAxes(root, box, x, y) {
  const xTicks = x.ticks ?? niceTicks(...x.range, (box.right - box.left) / 90);
  const yTicks = y.ticks ?? niceTicks(...y.range, (box.bottom - box.top) / 42);
  const xText = x.format ?? tickFormatter(xTicks);
  const yText = y.format ?? tickFormatter(yTicks);
  const grid = svgElement("g", {class: "grid"});
  for (const tick of yTicks) grid.append(svgElement("line", {x1: box.left, x2: box.right, y1: y.scale(tick), y2: y.scale(tick)}));
  const labels = svgElement("g", {class: "ticks"});
  for (const tick of xTicks) {
    grid.append(svgElement("line", {x1: x.scale(tick), x2: x.scale(tick), y1: box.bottom, y2: box.bottom + 4}));
    const anchor = x.scale(tick) > box.right - 14 ? "end" : "middle";
    labels.append(svgElement("text", {x: Math.min(x.scale(tick), box.right), y: box.bottom + 18, "text-anchor": anchor}, xText(tick)));
  }
  for (const tick of yTicks) {
    labels.append(svgElement("text", {x: box.left - 7, y: y.scale(tick) + 4, "text-anchor": "end"}, yText(tick)));
  }
  root.append(grid, labels,
    svgElement("line", {class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}),
    svgElement("text", {class: "axis-title", x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle"}, x.label),
    svgElement("text", {class: "axis-title", x: 0, y: 12}, y.label));
}
