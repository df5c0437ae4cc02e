#!/usr/bin/env python3
"""Opens a report in headless Chromium: on a wide screen, on a phone, in the dark and on paper.

Usage: browser_test.py EMPLACE_BINARY [FOLDER]     FOLDER keeps the report and its screenshots
Exit codes: 0 passed, 1 failed, 77 skipped: there is no chromium.
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
METRICS = ROOT / "tests/golden/files/metrics.jsonl"
DEVICES = ROOT / "configs/clusters/k80x2.yaml"
# Ends a script element, and a title, wherever it is not escaped.
HARMFUL = "</script></title><b id=harm><img src=x onerror='harmed=1'>"


def run_lines(seed: int) -> list[dict]:
    """What a learner wrote, with ratios that differ by seed. In the second run, updating takes 90% of the first 60 s, a second for each
    update, and none of the last 60 s, of which the last update took all: 45% in the mean."""
    lines = [json.loads(line) for line in METRICS.read_text().splitlines()]
    updates = [line for line in lines if line["kind"] == "update"]
    for line in lines:
        if seed == 2:
            line["seconds"] = line["update"]
            line.update({key: 0 for key in line if key.endswith("_busy_s")})
    if seed == 2:
        for line in updates:
            line["update_busy_s"] = 0.9
        lines.append({**updates[-1], "update": updates[-1]["update"] + 1, "seconds": 120, "update_busy_s": 0})
    for line in updates:
        line.update(measured_episodes=2, measured_again=0, measured_ratio=0.9, window_s=line["seconds"] / 2)
    for line in lines:
        for key in ("mean_ratio", "best_ratio", "validation_ratio", "test_ratio"):
            if key in line:
                line[key] *= 1 + seed / 20
    return lines


def write_inputs(folder: pathlib.Path) -> list[str]:
    """Two runs, an evaluation, results over time and a placed graph; returns the arguments of `emplace report` that name them."""
    counts = {"produced": 960, "trained": 950, "stale": 10, "rejected": 0, "lost": 0, "measured": 120, "measured_again": 0}
    for seed in (1, 2):
        run = folder / f"run{seed}"
        run.mkdir()
        (run / "config.yaml").write_text(f"name: {json.dumps(HARMFUL)}\nseed: {seed}\nworkload: {{devices: {DEVICES}}}\n")
        (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in run_lines(seed)))
        (run / "ledger.json").write_text(json.dumps({"total": counts, "actors": {HARMFUL: {**counts, "incarnations": 1}}}))
        part = {"graphs": 4, "start": 0.95, "policy": 0.8, "infeasible": 0}
        (run / "summary.json").write_text(json.dumps({"updates": 60, "train_seconds": 120.0, "train": part,
                                                      "validation": part, "test": part}))
    methods = {"single": 1.0, "random": 0.9, "policy": 0.75, HARMFUL: 1.1}
    rows = [{"graph": f"g{g}", "method": method, "makespan_us": 1000 * share * (1 + g * (method != "single") / 50),
             "peak_bytes": [], "feasible": True, "evaluations": 1, "seconds": 0.1}
            for method, share in methods.items() for g in range(12)]
    (folder / "results.json").write_text(json.dumps({"results": rows, "summary": {}}))

    runs = [{"graph": "g", "machine": "two", "seconds": seconds, "seed": 1, "methods": {
                method: {"makespan_us": 1000 * share / (1 + seconds), "feasible": True, "evaluations": 1, "seconds": seconds,
                         "in_time": method != HARMFUL or seconds > 0.1}
                for method, share in methods.items()}} for seconds in (0.1, 1, 10)]
    (folder / "anytime.json").write_text(json.dumps({"format": "emplace.anytime/1", "runs": runs}))

    # 15,000 ops in 50 chains that meet now and then.
    ops = []
    for o in range(15000):
        inputs = [f"op{o - 50}:0"] if o >= 50 else []
        if o >= 50 and o % 7 == 0:
            inputs.append(f"op{o - 49}:0")
        ops.append({"name": f"op{o}" if o != 14999 else HARMFUL, "type": f"aten.t{o % 11}", "cost_us": 5 + o % 13,
                    "inputs": inputs, "outputs": [{"bytes": 10000 * (1 + o % 5)}]})
    (folder / "g.graph.json").write_text(json.dumps({"format": "emplace.graph/1", "name": HARMFUL, "ops": ops}))
    (folder / "p.json").write_text(json.dumps([o % 50 // 25 for o in range(15000)]))
    return [str(folder / "run1"), str(folder / "run2"), str(folder / "results.json"), str(folder / "anytime.json"), "--title", HARMFUL, "--graph",
            str(folder / "g.graph.json"), "--devices", str(DEVICES), "--placement", str(folder / "p.json")]


class Browser:
    def __init__(self, binary: str, folder: pathlib.Path):
        self.binary = binary
        self.folder = folder

    def open(self, page: pathlib.Path, *options: str) -> tuple[str, list[str]]:
        """What the options print, and what the console says."""
        done = subprocess.run(
            [self.binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={self.folder / 'profile'}", "--enable-logging=stderr", "--allow-file-access-from-files",
             "--virtual-time-budget=30000", *options, page.as_uri()],
            capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def check_at_width(browser: Browser, report: pathlib.Path, width: int, *options: str) -> list[str]:
    # A frame can be as narrow as a phone; a headless window cannot.
    harness = report.parent / f"harness_{width}.html"
    harness.write_text(f'<!DOCTYPE html><body><pre id="problems">{{}}</pre><iframe id="report" width="{width}" height="8000" '
                       f'style="border:0" src="{report.name}"></iframe><script>{(HERE / "browser_checks.js").read_text()}</script>')
    printed, console = browser.open(harness, f"--window-size={max(width, 500) + 40},9000", *options, "--dump-dom")
    found = re.search(r'<pre id="problems">(.*?)</pre>', printed, re.S)
    results = json.loads(html.unescape(found.group(1))) if found else {}
    problems = [f"{name}: {problem}" for name, problem in results.items() if problem]
    if len(results) < 20:
        problems.append(f"only {len(results)} checks ran")
    return [f"{width} px: {problem}" for problem in problems + console]


def main() -> int:
    binary = shutil.which("chromium")
    if binary is None:
        print("skipped: chromium is not installed (apt-get install chromium)")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        report = folder / "report.html"
        with tempfile.TemporaryDirectory() as inputs:
            subprocess.run([sys.argv[1], "report", *write_inputs(pathlib.Path(inputs)), "--out", str(report)], check=True)
        browser = Browser(binary, pathlib.Path(temporary))
        dark = "--blink-settings=preferredColorScheme=0"
        problems = check_at_width(browser, report, 1280) + check_at_width(browser, report, 375, dark)
        for name, *options in (("light", "--window-size=1280,6000"), ("dark", "--window-size=1280,6000", dark)):
            picture = folder / f"{name}.png"
            _, console = browser.open(report, *options, f"--screenshot={picture}")
            problems += console
            if picture.stat().st_size < 50_000:
                problems.append(f"{picture}: {picture.stat().st_size} bytes, expected a page full of charts")
        paper = folder / "print.pdf"
        browser.open(report, dark, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
        if paper.stat().st_size < 50_000:
            problems.append(f"{paper}: {paper.stat().st_size} bytes, expected pages of charts")
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
