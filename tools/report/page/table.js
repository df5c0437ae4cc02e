// Tables: plain ones, ones that sort, and the data behind a chart.
//
// columns: [{label, number (aligned right), format (value -> text)}]; rows: arrays of values.

function cell(column, value, index) {
  const text = column.format ? column.format(value) : String(value ?? "–");
  const attributes = {class: column.number ? "number" : null};
  return index === 0 ? element("th", {scope: "row", ...attributes}, text) : element("td", attributes, text);
}

// A wide table scrolls in its own box, which keys must reach as well. The caption stands outside: it must not scroll.
function tableBox(caption, ...content) {
  const id = freshId("table");
  return element("div", {class: "table"}, element("p", {class: "caption", id}, caption),
    element("div", {class: "table-box", tabindex: 0, role: "region", "aria-labelledby": id}, element("table", {"aria-labelledby": id}, content)));
}

function tableRows(columns, rows) {
  return rows.map((row) => element("tr", {}, row.map((value, i) => cell(columns[i], value, i))));
}

function plainTable(columns, rows, caption) {
  const head = element("tr", {}, columns.map((column) => element("th", {scope: "col", class: column.number ? "number" : null}, column.label)));
  return tableBox(caption, element("thead", {}, head), element("tbody", {}, tableRows(columns, rows)));
}

function sortableTable(columns, rows, caption, sortedBy) {
  const body = element("tbody");
  const heads = columns.map((column, i) => element("th", {scope: "col", class: column.number ? "number" : null},
    button([column.label, element("span", {class: "arrow", "aria-hidden": "true"})], {class: "sort"}, () => sort(i))));
  let by = sortedBy;
  let ascending = true;

  function compare(a, b) {
    const missing = (value) => value === null || value === undefined || Number.isNaN(value);
    if (missing(a[by]) || missing(b[by])) return missing(a[by]) - missing(b[by]);  // Last, whichever way.
    const order = typeof a[by] === "number" ? a[by] - b[by] : String(a[by]).localeCompare(String(b[by]), "en", {numeric: true});
    return ascending ? order : -order;
  }

  function show() {
    heads.forEach((head, i) => {
      if (i === by) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...tableRows(columns, [...rows].sort(compare)));
  }

  function sort(column) {
    ascending = column === by ? !ascending : true;
    by = column;
    show();
  }

  show();
  return tableBox(caption, element("thead", {}, element("tr", {}, heads)), body);
}

// The table is built when it is first opened: most never are.
function dataDetails(makeTable, label = "Data table") {
  const details = element("details", {class: "data"}, element("summary", {}, label));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(makeTable());
  });
  return details;
}
