// The groups that a policy decides on, in layers from left to right: area by cost, colour and shape by device.

// Pixels when all of it is shown.
const graphMargin = 16;
const leastRadius = 2.5;

// In proportion to the width, but less for a graph that is little more than a chain.
function graphHeight(width, across) {
  return Math.round(Math.min(Math.max(260, width * 0.36), 60 * across + 2 * graphMargin + 40));
}

class GroupGraph {
  constructor(placed) {
    this.placed = placed;
    this.groups = placed.groups;
    const {groups} = this;
    this.nodes = groups.cost_us.map((_, g) => this.makeNode(g));
    this.size = {width: 0, height: 0};
    this.view = null;
    this.readout = element("p", {class: "readout", "aria-live": "polite"});
    this.hint = "Point at a group, or focus the graph: ← → next group, + − 0 zoom, Shift + arrows pan. The wheel zooms while it has the focus.";
    this.readout.textContent = this.hint;
    this.root = svgElement("svg", {class: "graph", tabindex: 0, role: "img", "aria-label": this.ariaLabel(),
      onkeydown: (event) => this.key(event), onblur: () => this.select(null)});
    this.tools = navigation(this.root, this);
    this.box = element("div", {class: "plot"}, this.root);
    drawAtWidth(this.box, (width) => this.draw(width));
  }

  makeNode(g) {
    const {groups} = this;
    const onDevice = groups.ops_on[g];
    const device = onDevice.indexOf(Math.max(...onDevice));
    return {g, device, split: onDevice.filter((ops) => ops > 0).length > 1, share: groups.cost_us[g] / Math.max(...groups.cost_us, 1e-9)};
  }

  ariaLabel() {
    const {groups, placed} = this;
    const onDevice = placed.devices.map((device, d) => `${plural(this.nodes.filter((node) => node.device === d).length, "group")} on ${device.name}`);
    return `Graph of ${plural(this.nodes.length, "group")} and ${plural(groups.edges.from.length, "edge")} in ${plural(groups.num_layers, "layer")}; ${onDevice.join(", ")}. Arrow keys walk through the groups.`;
  }

  // Fills the drawing, however many layers there are and however wide they are.
  placeNodes(width) {
    const {groups} = this;
    const across = Math.max(1, ...groups.position);
    this.size = {width, height: graphHeight(width, across)};
    const stepX = (width - 2 * graphMargin) / Math.max(1, groups.num_layers - 1);
    const stepY = Math.min(60, (this.size.height - 2 * graphMargin) / across);
    const top = (this.size.height - stepY * across) / 2;
    const most = Math.max(5, Math.min(14, 0.6 * Math.sqrt(stepX * stepY)));
    for (const node of this.nodes) {
      node.x = graphMargin + groups.layer[node.g] * stepX;
      node.y = top + groups.position[node.g] * stepY;
      node.radius = Math.max(leastRadius, most * Math.sqrt(node.share));
    }
  }

  draw(width) {
    this.placeNodes(width);
    const {groups} = this;
    const largest = Math.max(1, ...groups.edges.bytes);
    const edges = svgElement("g", {class: "edges"});
    this.edges = groups.edges.from.map((from, i) => {
      const to = groups.edges.to[i];
      const a = this.nodes[from];
      const b = this.nodes[to];
      const bend = (b.x - a.x) / 2;
      const crosses = a.device !== b.device;
      const path = svgElement("path", {class: crosses ? "edge crossing" : "edge", "stroke-width": (0.6 + 2.4 * Math.sqrt(groups.edges.bytes[i] / largest)).toFixed(2),
        d: `M${a.x} ${a.y}C${a.x + bend} ${a.y} ${b.x - bend} ${b.y} ${b.x} ${b.y}`});
      edges.append(path);
      return {from, to, path};
    });
    const marks = svgElement("g");
    for (const node of this.nodes) {
      node.mark = svgElement("path", {class: node.split ? "mark split" : "mark", style: `--c: var(--s${node.device % seriesCount})`,
        d: markerPath(markers[node.device % seriesCount], node.x, node.y, node.radius),
        onpointerenter: () => this.select(node.g), onpointerleave: () => this.select(null)}, svgElement("title", {}, this.describe(node)));
      marks.append(node.mark);
    }
    this.root.replaceChildren(edges, marks);
    this.reset();
  }

  describe(node) {
    const {groups, placed} = this;
    const where = node.split ? `on ${groups.ops_on[node.g].map((ops, d) => [ops, d]).filter(([ops]) => ops > 0).map(([ops, d]) => `${placed.devices[d].name} (${plural(ops, "op")})`).join(" and ")}` : `on ${placed.devices[node.device].name}`;
    const op = groups.costliest_op[node.g];
    return `Group ${node.g}, ${where}: ${plural(groups.ops[node.g], "op")}, ${formatMicros(groups.cost_us[node.g])}, outputs ${formatBytes(groups.output_bytes[node.g])}; costliest op ${placed.ops.name[op]} (${placed.types[placed.ops.type[op]]})`;
  }

  select(g) {
    for (const {from, to, path} of this.edges) path.classList.toggle("near", g !== null && (from === g || to === g));
    this.nodes.forEach((node) => node.mark.classList.toggle("selected", node.g === g));
    this.selected = g;
    this.readout.textContent = g === null ? this.hint : this.describe(this.nodes[g]);
  }

  key(event) {
    const moves = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
    if (event.key === "Escape") return this.select(null);
    if (!(event.key in moves) || this.nodes.length === 0) return undefined;
    event.preventDefault();
    const next = this.selected === null || this.selected === undefined ? 0 : this.selected + moves[event.key];
    return this.select(Math.max(0, Math.min(this.nodes.length - 1, next)));
  }

  // Of navigation().
  zoom(factor, fx, fy) {
    const {x, y, width, height} = this.view;
    const scale = Math.max(0.02, Math.min(1, width / this.size.width / factor)) / (width / this.size.width);
    this.view = {x: x + width * fx * (1 - scale), y: y + height * fy * (1 - scale), width: width * scale, height: height * scale};
    this.show();
  }
  pan(dx, dy) {
    this.view.x += dx * this.view.width;
    this.view.y += dy * this.view.height;
    this.show();
  }
  reset() {
    this.view = {x: 0, y: 0, ...this.size};
    this.show();
  }
  show() {
    const {view, size} = this;
    view.x = Math.max(0, Math.min(size.width - view.width, view.x));
    view.y = Math.max(0, Math.min(size.height - view.height, view.y));
    this.root.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }
}

function graphFigure(placed) {
  const graph = new GroupGraph(placed);
  const {groups} = placed;
  const key = (device, d) => element("li", {}, svgElement("svg", {class: "key", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", style: `--c: var(--s${d % seriesCount})`}, svgElement("path", {class: "mark", d: markerPath(markers[d % seriesCount], 8, 8, 5.5)})), device.name);
  const columns = [{label: "Group", number: true}, {label: "Costliest op"}, {label: "Type"}, {label: "Ops", number: true, format: formatCount}, {label: "Cost", number: true, format: formatMicros}, {label: "Outputs", number: true, format: formatBytes}, {label: "Device"}];
  const rows = graph.nodes.map(({g, device, split}) => {
    const op = groups.costliest_op[g];
    return [g, placed.ops.name[op], placed.types[placed.ops.type[op]], groups.ops[g], groups.cost_us[g], groups.output_bytes[g], split ? "several" : placed.devices[device].name];
  });
  const titleId = freshId("graph");
  const split = graph.nodes.filter((node) => node.split).length;
  const notes = [`Data flows from left to right. Area is cost, shape and colour are the device, an edge is as wide as its tensors are large; strong edges cross between devices.`];
  if (split > 0) notes.push(`${plural(split, "group")} with a broken outline ${split === 1 ? "is" : "are"} spread over several devices and shown where most ops are.`);
  if (groups.feedback_edges.from.length > 0) notes.push(`${plural(groups.feedback_edges.from.length, "edge")} that ${groups.feedback_edges.from.length === 1 ? "points" : "point"} back, from a parameter's update to the parameter, ${groups.feedback_edges.from.length === 1 ? "is" : "are"} not drawn.`);
  return element("figure", {class: "chart", "aria-labelledby": titleId},
    element("figcaption", {}, element("h3", {id: titleId}, "Groups and their devices"), element("p", {}, notes.join(" "))),
    element("ul", {class: "legend"}, placed.devices.map(key)), graph.tools, graph.box, graph.readout,
    dataDetails(() => sortableTable(columns, rows, "Groups of the graph", 0), `Data table of ${plural(rows.length, "group")}`));
}
