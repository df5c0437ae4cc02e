// The simulated step of a placed graph: a row a device with its ops, a row a link with its transfers, and each device's
// memory below, all over the same stretch of time. On a canvas, so that 15,000 ops stay quick; what is narrower than a
// pixel is summed up by pixel, the more opaque the busier.

const gantt = {labelHeight: 17, deviceHeight: 26, linkHeight: 15, memoryHeight: 56, gap: 5, axisHeight: 42};
const transferStyle = "ink";

// The seven op types that take longest have colours of their own, all others share one.
function typeStyles(placed) {
  const time = placed.types.map(() => 0);
  placed.ops.type.forEach((type, i) => { time[type] += placed.ops.duration_us[i]; });
  const longest = time.map((_, type) => type).sort((a, b) => time[b] - time[a]).slice(0, 7).filter((type) => time[type] > 0);
  return {longest, styleOf: (type) => { const rank = longest.indexOf(type); return rank < 0 ? "s7" : `s${rank}`; }};
}

// {label, height, items: [{begin, end, style, text, describe()}]} by time, or {label, height, memory}.
function ganttRows(placed, styleOf) {
  const {ops, transfers} = placed;
  const rows = placed.devices.map((device) => ({label: `${device.name} · ${device.kind}`, height: gantt.deviceHeight, items: []}));
  const links = placed.links.map((name) => ({label: name, height: gantt.linkHeight, items: []}));
  ops.name.forEach((name, i) => {
    rows[ops.device[i]].items.push({begin: ops.start_us[i], end: ops.start_us[i] + ops.duration_us[i], style: styleOf(ops.type[i]), text: name,
      describe: () => `${name}: ${placed.types[ops.type[i]]}, starts at ${formatInstant(ops.start_us[i])}, takes ${formatMicros(ops.duration_us[i])}, on ${placed.devices[ops.device[i]].name}`});
  });
  transfers.link.forEach((link, i) => {
    links[link].items.push({begin: transfers.start_us[i], end: transfers.start_us[i] + transfers.duration_us[i], style: transferStyle, text: "",
      describe: () => `Transfer of ${formatBytes(transfers.bytes[i])} from ${ops.name[transfers.op[i]]}: starts at ${formatInstant(transfers.start_us[i])}, takes ${formatMicros(transfers.duration_us[i])}, on ${placed.links[link]}`});
  });
  const memory = placed.devices.map((device, d) => ({label: memoryLabel(device), height: gantt.memoryHeight, memory: placed.memory[d], device, items: []}));
  const all = [...rows, ...links, ...memory];
  for (const row of all) row.items.sort((a, b) => a.begin - b.begin);
  let top = 4;
  for (const row of all) {
    row.top = top + gantt.labelHeight;
    top = row.top + row.height + gantt.gap;
  }
  return {rows: all, height: top + gantt.axisHeight};
}

function memoryLabel(device) {
  const share = device.memory_bytes > 0 ? `, ${formatPercent(device.peak_bytes / device.memory_bytes)}` : "";
  return `Memory of ${device.name}: peak ${formatBytes(device.peak_bytes)} of ${formatBytes(device.memory_bytes)}${share}`;
}

class Gantt {
  constructor(placed) {
    this.placed = placed;
    const {longest, styleOf} = typeStyles(placed);
    this.longestTypes = longest;
    Object.assign(this, ganttRows(placed, styleOf));
    this.end = placed.makespan_us || 1;
    this.view = [0, this.end];
    this.selected = null;  // {row, index}
    this.canvas = element("canvas", {tabindex: 0, role: "img", "aria-label": this.ariaLabel()});
    this.readout = element("p", {class: "readout", "aria-live": "polite"});
    this.hint = "Point at an op, or focus the timeline: ← → next op, ↑ ↓ next row, + − 0 zoom, Shift + ← → pan. The wheel zooms while it has the focus.";
    this.readout.textContent = this.hint;
    this.tools = navigation(this.canvas, this);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.select(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.box = element("div", {class: "plot"}, this.canvas);
    drawAtWidth(this.box, (width) => { this.width = width; this.draw(); });
    onThemeChange(() => this.draw());
  }

  ariaLabel() {
    const devices = this.placed.devices.map((device) => `${device.name} runs ${plural(device.ops, "op")} and is busy ${formatPercent(device.busy_us / this.placed.makespan_us)} of the time`);
    return `Timeline of one step, ${formatMicros(this.placed.makespan_us)}. ${devices.join("; ")}. ${plural(this.placed.transfers.link.length, "transfer")}. Arrow keys walk through the ops.`;
  }

  // Of navigation().
  zoom(factor, fx) {
    const [begin, end] = this.view;
    const length = Math.min(this.end, Math.max(this.end / 1e5, (end - begin) / factor));
    this.show(begin + (end - begin) * fx - length * fx, length);
  }
  pan(dx) {
    const length = this.view[1] - this.view[0];
    this.show(this.view[0] + dx * length, length);
  }
  reset() {
    this.show(0, this.end);
  }
  show(begin, length) {
    const from = Math.max(0, Math.min(this.end - length, begin));
    this.view = [from, from + length];
    this.draw();
  }

  x(time) {
    return ((time - this.view[0]) / (this.view[1] - this.view[0])) * this.width;
  }

  // The item under the pointer; near misses count, since most ops are narrow.
  point(event) {
    const rect = this.canvas.getBoundingClientRect();
    const at = {x: ((event.clientX - rect.left) * this.width) / rect.width, y: ((event.clientY - rect.top) * this.height) / rect.height};
    const row = this.rows.findIndex(({top, height}) => at.y >= top - 3 && at.y <= top + height + 3);
    if (row < 0 || this.rows[row].memory) return this.select(null, row >= 0 ? this.memoryAt(row, at.x) : null);
    const {items} = this.rows[row];
    const time = this.view[0] + (at.x / this.width) * (this.view[1] - this.view[0]);
    let index = lastAtOrBefore(items, time);
    const distance = (i) => (i < 0 || i >= items.length ? Infinity : Math.max(this.x(items[i].begin) - at.x, at.x - this.x(items[i].end), 0));
    if (distance(index + 1) < distance(index)) ++index;
    this.select(distance(index) <= 4 ? {row, index} : null);
  }

  memoryAt(row, x) {
    const {memory, device} = this.rows[row];
    const time = this.view[0] + (x / this.width) * (this.view[1] - this.view[0]);
    const index = lastSample(memory, time);
    return `${device.name} holds ${formatBytes(index < 0 ? 0 : memory.bytes[index])} at ${formatInstant(time)}`;
  }

  key(event) {
    const moves = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]};
    if (event.key === "Escape") return this.select(null);
    if (!(event.key in moves)) return undefined;
    event.preventDefault();
    const [down, right] = moves[event.key];
    const filled = this.rows.map((row, i) => i).filter((i) => this.rows[i].items.length > 0);
    if (filled.length === 0) return undefined;
    if (!this.selected) return this.moveTo(filled[0], Math.max(0, lastAtOrBefore(this.rows[filled[0]].items, this.view[0])));
    const {row, index} = this.selected;
    if (down === 0) return this.moveTo(row, index + right);
    const next = filled[Math.max(0, Math.min(filled.length - 1, filled.indexOf(row) + down))];
    return this.moveTo(next, Math.max(0, lastAtOrBefore(this.rows[next].items, this.rows[row].items[index].begin)));
  }

  moveTo(row, wanted) {
    const index = Math.max(0, Math.min(this.rows[row].items.length - 1, wanted));
    const item = this.rows[row].items[index];
    const length = this.view[1] - this.view[0];
    if (item.end > this.view[1] || item.begin < this.view[0]) this.show((item.begin + item.end) / 2 - length / 2, length);
    this.select({row, index});
  }

  select(selected, otherwise = null) {
    const changed = this.selected?.row !== selected?.row || this.selected?.index !== selected?.index;
    this.selected = selected;
    this.readout.textContent = selected ? this.rows[selected.row].items[selected.index].describe() : otherwise ?? this.hint;
    if (changed) this.draw();
  }

  draw() {
    if (!this.width) return;
    const scale = Math.max(2, devicePixelRatio || 1);  // Two at least: paper is finer than a screen.
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.aspectRatio = `${this.width} / ${this.height}`;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "12px system-ui, sans-serif";
    this.colours = Object.fromEntries(["ink", "ink-2", "ink-3", "line", "paper-2", "warn", "accent", "on-mark", ...Array.from({length: seriesCount}, (_, i) => `s${i}`)].map((name) => [name, themeColour(name)]));
    this.drawTimeAxis(context);
    for (const row of this.rows) {
      context.globalAlpha = 1;
      context.fillStyle = this.colours["paper-2"];
      context.fillRect(0, row.top, this.width, row.height);
      context.fillStyle = this.colours["ink-2"];
      context.textAlign = "left";
      context.fillText(row.label, 0, row.top - 5, this.width);
      if (row.memory) this.drawMemory(context, row);
      else this.drawItems(context, row);
    }
    if (this.selected) this.drawSelection(context);
  }

  drawTimeAxis(context) {
    const bottom = this.height - gantt.axisHeight + 4;
    const unit = this.view[1] >= 2e6 ? [1e6, "s"] : this.view[1] >= 2e3 ? [1e3, "ms"] : [1, "µs"];
    const ticks = niceTicks(this.view[0] / unit[0], this.view[1] / unit[0], this.width / 110);
    const text = tickFormatter(ticks);
    for (const tick of ticks) {
      const x = this.x(tick * unit[0]);
      context.fillStyle = this.colours.line;
      context.fillRect(Math.min(Math.round(x), this.width - 1), 4, 1, bottom - 4);
      context.fillStyle = this.colours["ink-2"];
      context.textAlign = x < 20 ? "left" : x > this.width - 20 ? "right" : "center";
      context.fillText(text(tick), Math.max(0, Math.min(this.width, x)), bottom + 14);
    }
    context.textAlign = "center";
    context.fillText(`time (${unit[1]})`, this.width / 2, bottom + 32);
  }

  drawItems(context, row) {
    const coverage = new Map();  // Style -> busy share of each pixel, of what is narrower than one.
    for (let i = Math.max(0, lastAtOrBefore(row.items, this.view[0])); i < row.items.length && row.items[i].begin <= this.view[1]; ++i) {
      const item = row.items[i];
      const left = this.x(item.begin);
      const width = this.x(item.end) - left;
      if (left + width < 0) continue;
      if (width >= 1) this.drawItem(context, row, item, left, width);
      else if (left >= 0 && left < this.width) {
        if (!coverage.has(item.style)) coverage.set(item.style, new Float32Array(this.width + 1));
        coverage.get(item.style)[Math.floor(left)] += Math.max(width, 0.05);
      }
    }
    for (const [style, pixels] of coverage) {
      context.fillStyle = this.colours[style];
      for (let x = 0; x < this.width; ++x) {
        if (pixels[x] === 0) continue;
        context.globalAlpha = 0.25 + 0.75 * Math.min(1, pixels[x]);
        context.fillRect(x, row.top, 1, row.height);
      }
    }
    context.globalAlpha = 1;
  }

  drawItem(context, row, item, left, width) {
    const from = Math.max(left, -1);
    const shown = Math.min(left + width, this.width + 1) - from;
    context.fillStyle = this.colours[item.style];
    context.fillRect(from, row.top, width > 3 ? shown - 0.75 : shown, row.height);
    if (shown < 44 || item.text === "") return;
    context.save();
    context.beginPath();
    context.rect(from, row.top, shown - 3, row.height);
    context.clip();
    context.fillStyle = this.colours["on-mark"];
    context.textAlign = "left";
    context.fillText(item.text, Math.max(from, 0) + 4, row.top + row.height / 2 + 4);
    context.restore();
  }

  drawMemory(context, row) {
    const {memory, device} = row;
    // The limit belongs into the picture unless that would press the curve flat.
    const withLimit = device.peak_bytes * 4 >= device.memory_bytes;
    const top = Math.max(device.peak_bytes, withLimit ? device.memory_bytes : 0, 1) * 1.08;
    const y = (bytes) => row.top + row.height * (1 - bytes / top);
    context.beginPath();
    context.moveTo(0, row.top + row.height);
    let bytes = 0;
    const first = lastSample(memory, this.view[0]);
    if (first >= 0) bytes = memory.bytes[first];
    context.lineTo(0, y(bytes));
    for (let i = first + 1; i < memory.time_us.length && memory.time_us[i] <= this.view[1]; ++i) {
      const x = this.x(memory.time_us[i]);
      context.lineTo(x, y(bytes));
      bytes = memory.bytes[i];
      context.lineTo(x, y(bytes));
    }
    context.lineTo(this.width, y(bytes));
    context.lineTo(this.width, row.top + row.height);
    context.globalAlpha = 0.55;
    context.fillStyle = this.colours.s0;
    context.fill();
    context.globalAlpha = 1;
    if (withLimit) {
      const limit = y(device.memory_bytes);
      context.strokeStyle = this.colours.warn;
      context.setLineDash([6, 4]);
      context.beginPath();
      context.moveTo(0, limit);
      context.lineTo(this.width, limit);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = this.colours["ink-2"];
      context.textAlign = "right";
      context.fillText("limit", this.width - 4, limit + 13);
    }
  }

  drawSelection(context) {
    const row = this.rows[this.selected.row];
    const item = row.items[this.selected.index];
    const left = this.x(item.begin);
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 2;
    context.strokeRect(left - 1, row.top - 1, Math.max(2, this.x(item.end) - left) + 1, row.height + 2);
    context.lineWidth = 1;
  }
}

function lastAtOrBefore(items, time) {
  return lastBefore(items.length, (i) => items[i].begin > time);
}

function lastSample(memory, time) {
  return lastBefore(memory.time_us.length, (i) => memory.time_us[i] > time);
}

function ganttFigure(placed) {
  const chart = new Gantt(placed);
  const styles = [...chart.longestTypes.map((type, i) => [`s${i}`, placed.types[type]])];
  if (placed.types.length > styles.length) styles.push(["s7", "other types"]);
  styles.push([transferStyle, "transfer"]);
  const key = ([style, name]) => element("li", {}, svgElement("svg", {class: "key", viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true", style: `--c: var(--${style})`}, svgElement("rect", {class: "mark", x: 1, y: 1, width: 12, height: 12})), name);
  const titleId = freshId("gantt");
  const columns = [{label: "Device"}, {label: "Ops", number: true, format: formatCount}, {label: "Busy", number: true, format: formatPercent}, {label: "Peak memory", number: true, format: formatBytes}, {label: "Limit", number: true, format: formatBytes}];
  const rows = placed.devices.map((device) => [device.name, device.ops, device.busy_us / placed.makespan_us, device.peak_bytes, device.memory_bytes]);
  return element("figure", {class: "chart", "aria-labelledby": titleId},
    element("figcaption", {}, element("h3", {id: titleId}, "Timeline of devices, links and memory")),
    element("ul", {class: "legend"}, styles.map(key)), chart.tools, chart.box, chart.readout,
    plainTable(columns, rows, "Devices in this step"));
}
