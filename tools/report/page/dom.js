"use strict";
// Elements, and colours that follow the theme. Text goes in as text, never as markup: names come from files.

function appendAll(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) parent.append(child);
  }
  return parent;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  return node;
}

function element(tag, attributes = {}, ...children) {
  return appendAll(setAttributes(document.createElement(tag), attributes), children);
}

function svgElement(tag, attributes = {}, ...children) {
  return appendAll(setAttributes(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes), children);
}

function button(label, attributes, onclick) {
  return element("button", {type: "button", onclick, ...attributes}, label);
}

// Ids that nothing else on the page has.
let lastId = 0;
function freshId(prefix) {
  return `${prefix}-${++lastId}`;
}

// A canvas knows no custom properties: the colour that `var(--name)` stands for now, as "rgb(...)".
const colourProbe = document.createElement("span");
colourProbe.hidden = true;
document.body.append(colourProbe);
function themeColour(name) {
  colourProbe.style.color = `var(--${name})`;
  return getComputedStyle(colourProbe).color;
}

// What has colours of its own redraws when the theme changes, and for paper.
const themeListeners = [];
function onThemeChange(redraw) {
  themeListeners.push(redraw);
}
function themeChanged() {
  for (const redraw of themeListeners) redraw();
}
for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(query).addEventListener("change", themeChanged);
}

// Calls draw(width) once the element is in the page, and whenever its width changes on the screen.
function drawAtWidth(node, draw) {
  let drawn = 0;
  const drawIfChanged = () => {
    const width = node.clientWidth;
    if (width === drawn || width === 0 || matchMedia("print").matches) return;
    drawn = width;
    draw(width);
  };
  queueMicrotask(drawIfChanged);  // Whoever makes the element puts it into the page before: nobody sees it empty.
  new ResizeObserver(() => requestAnimationFrame(drawIfChanged)).observe(node);  // Not within: an observer must not resize.
}

// Series differ in colour, dash and marker, so that no one has to tell colours apart.
const seriesCount = 8;
const dashes = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "8 2 2 2 2 2"];
const markers = ["circle", "square", "triangle", "diamond", "down", "cross", "plus", "bar"];

// How the line of a style looks. Past the eighth, colours come again, with another dash and another marker each.
function lineLook(style) {
  const round = Math.floor(style / seriesCount);
  return {colour: `--c: var(--s${style % seriesCount})`, dash: dashes[(style + 3 * round) % seriesCount], marker: markers[(style + 5 * round) % seriesCount]};
}

// The outline of a marker of radius r around (x, y), as a path.
function markerPath(shape, x, y, r) {
  switch (shape) {
    case "circle": return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    case "square": return `M${x - r * 0.9} ${y - r * 0.9}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`;
    case "triangle": return `M${x} ${y - 1.15 * r}L${x + 1.1 * r} ${y + 0.85 * r}H${x - 1.1 * r}Z`;
    case "diamond": return `M${x} ${y - 1.25 * r}L${x + 1.25 * r} ${y}L${x} ${y + 1.25 * r}L${x - 1.25 * r} ${y}Z`;
    case "down": return `M${x} ${y + 1.15 * r}L${x + 1.1 * r} ${y - 0.85 * r}H${x - 1.1 * r}Z`;
    case "plus": return `M${x - r * 0.4} ${y - r}h${r * 0.8}v${r * 0.6}h${r * 0.6}v${r * 0.8}h${-r * 0.6}v${r * 0.6}h${-r * 0.8}v${-r * 0.6}h${-r * 0.6}v${-r * 0.8}h${r * 0.6}Z`;
    case "cross": return `M${x} ${y - r * 0.5}l${r * 0.6} ${-r * 0.6}l${r * 0.5} ${r * 0.5}l${-r * 0.6} ${r * 0.6}l${r * 0.6} ${r * 0.6}l${-r * 0.5} ${r * 0.5}l${-r * 0.6} ${-r * 0.6}l${-r * 0.6} ${r * 0.6}l${-r * 0.5} ${-r * 0.5}l${r * 0.6} ${-r * 0.6}l${-r * 0.6} ${-r * 0.6}l${r * 0.5} ${-r * 0.5}Z`;
    default: return `M${x - 0.45 * r} ${y - 1.2 * r}h${0.9 * r}v${2.4 * r}h${-0.9 * r}Z`;
  }
}
