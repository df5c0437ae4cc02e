// Runs in a page that holds a report in a frame as wide as a screen; returns {"name of a check": what is wrong, or ""}.
"use strict";

// Every chart that a report of two runs, an evaluation, results over time and a placed graph has.
const charts = [
  "Distribution of runtime", "What each method finds in a given time", "Timeline of devices, links and memory", "Groups and their devices",
  "Episodes", "Steps", "Policy lag", "Where the learner's time goes", "Full queue",
  "Measured episodes", "Open windows",
];

const nextFrame = () => new Promise((resolve) => setTimeout(resolve, 200));
// Drawing waits for frames, of which a browser without a screen makes few.
async function until(holds) {
  for (let tries = 0; tries < 50 && !holds(); ++tries) await nextFrame();
  return holds();
}

function colouredPixels(canvas) {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 0) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  }
  return colours.size;
}

function press(node, key) {
  node.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
}

async function checkReport(frame) {
  const page = frame.contentDocument;
  const all = (selector) => [...page.querySelectorAll(selector)];
  const problems = {};
  const expect = (name, holds, detail = "") => { problems[name] = holds ? "" : `failed ${detail}`; };

  expect("sections", all("main > section > h2").length === 5, all("h2").map((h) => h.textContent));
  const sources = page.querySelector("#sources").textContent;
  expect("every source is named", ["run1", "run2", "results.json", "anytime.json"].every((name) => sources.includes(name)), sources);
  expect("nothing is left out", all(".missing").length === 0, all(".missing").map((p) => p.textContent));
  expect("names stay text", all("#harm").length === 0 && frame.contentWindow.harmed === undefined);
  expect("page does not scroll sideways", page.documentElement.scrollWidth <= frame.clientWidth, page.documentElement.scrollWidth);

  const format = frame.contentWindow;
  expect("seconds are rounded before they are divided", format.formatSeconds(179.7) === "3 min 0 s", format.formatSeconds(179.7));
  const figures = all("figure.chart");
  const titles = figures.map((figure) => figure.querySelector("h3").textContent);
  for (const chart of charts) expect(`chart: ${chart}`, titles.includes(chart), titles);
  for (const figure of figures) {
    const title = figure.querySelector("h3").textContent;
    const svg = figure.querySelector(".plot svg");
    const canvas = figure.querySelector(".plot canvas");
    const marks = svg ? [...svg.querySelectorAll("path")].filter((path) => path.getAttribute("d")?.length > 0).length : colouredPixels(canvas);
    expect(`marks: ${title}`, marks >= 3, marks);
    const drawing = svg ?? canvas;
    expect(`label and focus: ${title}`, drawing.getAttribute("aria-label")?.length > 20 && drawing.tabIndex === 0);
    const broken = svg ? [...svg.querySelectorAll("*")].filter((node) => [...node.attributes].some(({value}) => /NaN|undefined|Infinity/.test(value))) : [];
    expect(`sound numbers: ${title}`, broken.length === 0, broken[0]?.outerHTML);

    const readout = figure.querySelector(".readout");
    const before = readout.textContent;
    drawing.focus();
    press(drawing, "ArrowRight");
    expect(`keys read values: ${title}`, readout.textContent !== before, before);
    press(drawing, "Escape");

    const details = figure.querySelector("details.data");
    if (details) {
      details.open = true;
      await nextFrame();
      expect(`data table: ${title}`, details.querySelectorAll("tbody tr").length > 0);
      details.open = false;
    }
  }

  const busiest = figures.map((figure) => figure.textContent.match(/The busiest is [^:]*/)?.[0]).filter(Boolean);
  expect("points count by their seconds", busiest[1] === "The busiest is updating the policy, 45% of the time", busiest);

  expect("the ledger counts measured episodes", all("#health th").some((th) => th.textContent === "Measured again"));

  const canvas = page.querySelector("canvas");
  const whole = canvas.toDataURL();
  press(canvas, "+");
  expect("zoom changes the timeline", canvas.toDataURL() !== whole);
  press(canvas, "0");
  expect("0 shows all again", canvas.toDataURL() === whole);

  page.getElementById("theme").click();
  await nextFrame();
  expect("the other theme redraws the timeline", canvas.toDataURL() !== whole);
  page.getElementById("theme").click();

  const sort = page.querySelector("#methods > .table .sort");
  const firstRow = () => page.querySelector("#methods > .table tbody th").textContent;
  sort.click();
  const ascending = firstRow();
  sort.click();
  expect("a table sorts both ways", ascending !== firstRow() && sort.parentElement.getAttribute("aria-sort") === "descending", ascending);

  for (const pick of all(".choice button[aria-pressed=false]")) pick.click();
  expect("over updates there are charts, too", await until(() => all("#learning .plot svg path").length > 0));
  const unnamed = all("button").filter((each) => (each.getAttribute("aria-label") ?? each.textContent).trim() === "");
  expect("buttons have names", unnamed.length === 0);
  return problems;
}

const frame = document.getElementById("report");
frame.addEventListener("load", async () => {
  let problems;
  try {
    await until(() => [...frame.contentDocument.querySelectorAll(".plot")].every((plot) => plot.querySelector("path") ?? plot.querySelector("canvas[style]")));
    problems = await checkReport(frame);
  } catch (error) {
    problems = {"the checks run": String(error.stack)};
  }
  document.getElementById("problems").textContent = JSON.stringify(problems);
});
