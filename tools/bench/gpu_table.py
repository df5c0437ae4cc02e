"""The part of docs/speed.md about GPUs, made from the document that gpu.py prints."""
import pathlib

BEGIN = "<!-- begin: tools/bench/gpu.sh --write -->"
END = "<!-- end -->"
NOT_MEASURED = "not measured"


def number(value):
    """Three digits that count."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"


def tests(result):
    failed = f", {len(result['failed'])} failed ({', '.join(result['failed'])})" if result["failed"] else ""
    skipped = f", {result['skipped']} skipped" if result["skipped"] else ""
    return f"{result['passed']} passed{failed}{skipped}"


def update(result):
    return (f"{number(result['times_libtorch'])} times LibTorch: {number(result['update_states_per_s'])} against "
            f"{number(result['libtorch_states_per_s'])} states/s")


def kernels(result):
    return f"{number(result['update_states_per_s'])} states/s, {result['share_of_float32_peak']:.1%} of the float32 peak"


def end_to_end(result):
    return f"{number(result['median'])} steps/s ({number(result['low'])} to {number(result['high'])})"


def kind(result):
    return f"{number(result['cuda']['update_ms'])} ms an update, {number(result['cpu']['update_ms'])} ms on the CPU"


def executor(result):
    return f"{number(result['measured_us'] / 1e3)} ms measured, {number(result['predicted_us'] / 1e3)} ms simulated"


def nccl(result):
    exchanges = ", ".join(f"{number(entry['us'])} us for {entry['floats']:,} floats" for entry in result["exchanges"])
    return f"{exchanges}; {number(result['first_ms'])} ms the first time"


# Of each section of the document: what it measures, the goal, and how its result is told.
ROWS = {
    "tests_kernels": ("Tests of the kernels against LibTorch on the CPU, and against the same kernels on the host", "", tests),
    "tests_learner": ("Tests of the learner's engine, and of NCCL with one rank", "", tests),
    "tests_torch": ("Tests of the kinds that LibTorch computes, against the CPU", "", tests),
    "update_512": ("An update of 512 states of a graph of 128 groups, 4 devices", "5 times LibTorch", update),
    "update_8192": ("An update of 8,192 states, messages 16 floats wide", "5 times LibTorch", update),
    "kernels_512": ("The kernels of an update of 512 states", "", kernels),
    "kernels_8192": ("The kernels of an update of 8,192 states, messages 16 floats wide", "", kernels),
    "end_to_end_cuda": ("End to end: the learner on the GPU and 14 actors", "", end_to_end),
    "end_to_end_cpu": ("End to end: the learner on the CPU and 14 actors", "", end_to_end),
    "kind_placeto": ("The learner of kind `placeto`", "", kind),
    "kind_sgdp": ("The learner of kind `sgdp`", "", kind),
    "kind_rnn": ("The learner of kind `rnn`", "", kind),
    "kind_hierarchical": ("The learner of kind `hierarchical`", "", kind),
    "executor": ("A step of a ptb graph on `cuda:0`", "", executor),
    "nccl": ("An exchange of a gradient by NCCL, one rank", "", nccl),
}
ROOFLINES = {"kernels_512": "512 states", "kernels_8192": "8,192 states"}


def plain(text):
    """As a cell of a table: one line, and no bars."""
    return " ".join(text.split()).replace("|", "\\|")


def row(key, section):
    what, goal, told = ROWS[key]
    why = section.get("not_measured")
    figure = f"{NOT_MEASURED}: {why}" if why else NOT_MEASURED
    if "result" in section:
        try:
            figure = told(section["result"])
        except KeyError as missing:
            figure = f"{NOT_MEASURED}: the result has no {missing}"
    command = "; ".join(f"`{command}`" for command in section.get("commands", []))
    return f"| {what} | {plain(figure)} | {goal} | {plain(command)} |"


def rooflines(sections):
    """A table of the kernels, or nothing where none was measured."""
    measured = {title: sections.get(key, {}).get("result", {}).get("kernels") for key, title in ROOFLINES.items()}
    if not any(measured.values()):
        return []
    lines = ["", "Each kernel beside the roofline, the time that the GPU would need at its peak rates, which it tells of itself. "
             "Padding and what is computed again count as work; of memory each array counts once."]
    for title, timed in measured.items():
        if not timed:
            continue
        lines += ["", f"| kernel, {title} | time | MFLOP | MB | bound by | of the roofline |", "| --- | ---: | ---: | ---: | --- | ---: |"]
        lines += [f"| `{kernel['kernel']}` | {number(kernel['us'])} us | {number(kernel['flops'] / 1e6)} | {number(kernel['bytes'] / 1e6)} "
                  f"| {kernel['bound']} | {kernel['share_of_roofline']:.1%} |" for kernel in timed]
    return lines


def text(document):
    """Lines of Markdown. A document without sections is that of no measurement."""
    sections = document.get("sections", {})
    if document.get("gpu"):
        lines = [f"Measured on {document['date']} on one {document['gpu']}, driver {document['driver']}, beside {document['cores']} cores "
                 f"of {document['processor']}, commit {document['commit']}."]
    else:
        lines = ["Nothing has been measured yet."]
    lines += ["", "| what | figure | goal | command |", "| --- | --- | --- | --- |"]
    lines += [row(key, sections.get(key, {})) for key in ROWS]
    return [*lines, *rooflines(sections)]


def write(document, path):
    page = pathlib.Path(path).read_text()
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise SystemExit(f"gpu.py: {path}: expected one line '{BEGIN}' and after it one line '{END}'")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    pathlib.Path(path).write_text("\n".join([before + BEGIN, "", *text(document), "", END + after]))
