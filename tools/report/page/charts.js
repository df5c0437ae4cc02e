// A line chart: lines, steps and bands over one x axis, with legend, a cursor for pointer and keys, and a data table.
//
// spec: {title, summary, xLabel, yLabel, xFormat, yFormat, yFloor, yRange, xRange, xFrom, xTicks, xTickFormat, yTickFormat, reference: {y, label}, series: [...]}
// series: {name, x, y, style (index into the palette), step, faint, low, high, rangeName}
//   low, high  a band around the line
//   faint      a thin line without marker, legend entry or table column: one run among several

const chartHeight = 300;

function pathThrough(points, step) {
  let path = "";
  let pen = false;
  for (const [x, y] of points) {
    if (y === null || !Number.isFinite(y)) {
      pen = false;
      continue;
    }
    if (!pen) path += `M${x.toFixed(1)} ${y.toFixed(1)}`;
    else if (step) path += `H${x.toFixed(1)}V${y.toFixed(1)}`;
    else path += `L${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  }
  return path;
}

function bandPath(xs, low, high) {
  const there = xs.map((_, i) => i).filter((i) => low[i] !== null && high[i] !== null && Number.isFinite(low[i]));
  if (there.length === 0) return "";
  const forth = there.map((i) => `${xs[i].toFixed(1)} ${high[i].toFixed(1)}`);
  const back = there.reverse().map((i) => `${xs[i].toFixed(1)} ${low[i].toFixed(1)}`);
  return `M${forth.join("L")}L${back.join("L")}Z`;
}

function seriesKey(series) {
  const look = lineLook(series.style);
  const swatch = svgElement("svg", {class: "key", viewBox: "0 0 34 14", width: 34, height: 14, "aria-hidden": "true", style: look.colour});
  swatch.append(svgElement("line", {class: "line", x1: 1, x2: 33, y1: 7, y2: 7, "stroke-dasharray": look.dash}));
  swatch.append(svgElement("path", {class: "marker", d: markerPath(look.marker, 17, 7, 4)}));
  return element("li", {}, swatch, series.name);
}

function valueText(spec, series, i) {
  const value = series.y[i];
  const text = spec.yFormat(value);
  const isRange = series.low && value !== null;
  return isRange ? `${text} (${spec.yFormat(series.low[i])} to ${spec.yFormat(series.high[i])})` : text;
}

// The last point at or before x of a step, the nearest one of a line.
function indexAt(series, x) {
  const before = lastBefore(series.x.length, (i) => series.x[i] > x);
  const after = before + 1;
  if (series.step || before < 0 || after === series.x.length) return before;
  return series.x[after] - x < x - series.x[before] ? after : before;
}

function lineChart(spec) {
  const named = spec.series.filter((series) => !series.faint);
  const plot = element("div", {class: "plot"});
  const readout = element("p", {class: "readout", "aria-live": "polite"});
  const hint = "Point at the chart, or focus it and use the arrow keys, to read values.";
  readout.textContent = hint;
  const titleId = freshId("chart");
  const table = dataDetails(() => chartTable(spec, named));
  const figure = element("figure", {class: "chart", "aria-labelledby": titleId},
    element("figcaption", {}, element("h3", {id: titleId}, spec.title), spec.summary ? element("p", {}, spec.summary) : null),
    named.length > 1 || named[0].low ? element("ul", {class: "legend"}, named.map(seriesKey)) : null, plot, readout, table);

  const stops = [...new Set(named.flatMap((series) => series.x))].sort((a, b) => a - b);
  let stop = -1;
  let moveCursor = () => {};

  function read(index) {
    stop = Math.max(0, Math.min(stops.length - 1, index));
    const x = stops[stop];
    moveCursor(x);
    const values = named.map((series) => {
      const i = indexAt(series, x);
      return i < 0 ? null : `${series.name} ${valueText(spec, series, i)}`;
    });
    readout.textContent = `${spec.xFormat(x)}: ${values.filter((text) => text !== null).join(" · ")}`;
  }

  function leave() {
    stop = -1;
    moveCursor(null);
    readout.textContent = hint;
  }

  drawAtWidth(plot, (width) => {
    const box = {left: 50, top: 26, right: width - 8, bottom: chartHeight - 46};
    const everyX = spec.series.flatMap((series) => series.x);
    const xRange = spec.xRange ?? [Math.min(spec.xFrom ?? Infinity, ...everyX), Math.max(...everyX)];
    const yRange = spec.yRange ?? paddedRange([...spec.series.flatMap((s) => [...s.y, ...(s.low ?? []), ...(s.high ?? [])]), ...(spec.reference ? [spec.reference.y] : [])], spec.yFloor);
    const x = {scale: linearScale(xRange, [box.left, box.right]), range: xRange, label: spec.xLabel, ticks: spec.xTicks, format: spec.xTickFormat};
    const y = {scale: linearScale(yRange, [box.bottom, box.top]), range: yRange, label: spec.yLabel, format: spec.yTickFormat};
    const root = svgElement("svg", {viewBox: `0 0 ${width} ${chartHeight}`, role: "img", tabindex: 0,
      "aria-label": `${spec.title}. ${spec.yLabel} over ${spec.xLabel}. ${plural(named.length, "series", "series")}: ${named.map((s) => s.name).join(", ")}. Arrow keys read values.`});
    drawAxes(root, box, x, y);
    const clipId = freshId("clip");
    root.append(svgElement("clipPath", {id: clipId}, svgElement("rect", {x: box.left, y: box.top - 6, width: box.right - box.left, height: box.bottom - box.top + 7})));
    const marks = svgElement("g", {"clip-path": `url(#${clipId})`});
    root.append(marks);
    if (spec.reference) {
      const at = y.scale(spec.reference.y);
      marks.append(svgElement("line", {class: "reference", x1: box.left, x2: box.right, y1: at, y2: at}),
        svgElement("text", {class: "reference-label", x: box.right - 4, y: at - 5, "text-anchor": "end"}, spec.reference.label));
    }
    for (const series of spec.series) marks.append(drawSeries(series, x.scale, y.scale, box));
    const cursor = svgElement("g", {class: "cursor"});
    root.append(cursor);
    moveCursor = (at) => {
      cursor.replaceChildren();
      if (at === null) return;
      cursor.append(svgElement("line", {x1: x.scale(at), x2: x.scale(at), y1: box.top, y2: box.bottom}));
      for (const series of named) {
        const i = indexAt(series, at);
        if (i < 0 || series.y[i] === null) continue;
        cursor.append(svgElement("circle", {cx: x.scale(series.step ? at : series.x[i]), cy: y.scale(series.y[i]), r: 4.5, style: lineLook(series.style).colour}));
      }
    };
    const nearestStop = (event) => {
      const at = x.scale.invert((event.clientX - root.getBoundingClientRect().left) * (width / root.getBoundingClientRect().width));
      let nearest = 0;
      stops.forEach((value, i) => { if (Math.abs(value - at) < Math.abs(stops[nearest] - at)) nearest = i; });
      return nearest;
    };
    setAttributes(root, {
      onpointermove: (event) => read(nearestStop(event)),
      onpointerleave: leave,
      onblur: leave,
      onkeydown: (event) => {
        const leaps = {ArrowRight: stop + 1, ArrowLeft: stop < 0 ? stops.length - 1 : stop - 1, PageDown: stop + 10, PageUp: stop - 10, Home: 0, End: stops.length - 1};
        if (event.key === "Escape") leave();
        if (!(event.key in leaps)) return;
        event.preventDefault();
        read(leaps[event.key]);
      },
    });
    plot.replaceChildren(root);
  });
  return figure;
}

function drawSeries(series, x, y, box) {
  const look = lineLook(series.style);
  const group = svgElement("g", {class: series.faint ? "series faint" : "series", style: look.colour});
  const xs = series.x.map(x);
  const ys = series.y.map((value) => (value === null ? null : y(value)));
  if (series.low) {
    const scaled = (values) => values.map((value) => (value === null ? null : y(value)));
    group.append(svgElement("path", {class: "band", d: bandPath(xs, scaled(series.low), scaled(series.high))}));
  }
  const points = xs.map((at, i) => [at, ys[i]]);
  // A distribution stays where it is up to the edge of the plot.
  if (series.step && points.length > 0) points.push([box.right, points.at(-1)[1]]);
  group.append(svgElement("path", {class: "line", d: pathThrough(points, series.step), "stroke-dasharray": series.faint ? "" : look.dash}));
  if (series.faint) return group;
  // A few markers tell the lines apart; one on every point would hide them.
  const every = Math.max(1, Math.ceil(points.length / 9));
  const first = Math.floor((every * (series.style % seriesCount)) / seriesCount);
  for (let i = first; i < xs.length; i += every) {
    if (ys[i] !== null) group.append(svgElement("path", {class: "marker", d: markerPath(look.marker, xs[i], ys[i], 3.5)}));
  }
  return group;
}

// At most 60 rows, evenly among all x that a series has a point at.
function chartTable(spec, named) {
  const stops = [...new Set(named.flatMap((series) => series.x))].sort((a, b) => a - b);
  const count = Math.min(60, stops.length);
  const rows = Array.from({length: count}, (_, i) => {
    const x = stops[count === 1 ? 0 : Math.round((i * (stops.length - 1)) / (count - 1))];
    return [x, ...named.map((series) => {
      const at = indexAt(series, x);
      return at < 0 ? "–" : valueText(spec, series, at);
    })];
  });
  const columns = [{label: spec.xLabel, number: true, format: spec.xFormat}, ...named.map((series) => ({label: series.name, number: true}))];
  return plainTable(columns, rows, `${spec.title}: ${spec.yLabel}`);
}
