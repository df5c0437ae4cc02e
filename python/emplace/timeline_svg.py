"""A simulated step as a picture for notebooks."""
import html

import numpy as np

from emplace._core import Graph, Machine
from emplace.simulation import Timeline

_ROW = 22  # Height of a row in pixels.
_LABEL = 110  # Width of the rows' names.
_NARROW = 0.7  # Neighbours that are narrower than this many pixels are drawn as one.
_COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b")
_MERGED = "#bab0ac"


def _color(op_type: str) -> str:
    # Not hash(): the same type has the same color in every picture.
    return _COLORS[sum(op_type.encode()) % len(_COLORS)]


def _bars(spans: list[tuple[float, float, str, str]], scale: float, y: int) -> list[str]:
    """Rectangles of (start, end, color, title), sorted by start; runs of narrow neighbours become one."""
    bars: list[list] = []
    for start, end, color, title in spans:
        left, width = start * scale, (end - start) * scale
        if bars and width < _NARROW and bars[-1][4] and left - (bars[-1][0] + bars[-1][1]) < _NARROW:
            bars[-1][1] = left + width - bars[-1][0]
            bars[-1][2], bars[-1][3] = _MERGED, "many short ones"
        else:
            bars.append([left, width, color, title, width < _NARROW])
    return [f'<rect x="{_LABEL + left:.2f}" y="{y + 2}" width="{max(width, 0.3):.2f}" height="{_ROW - 4}" fill="{color}">'
            f"<title>{html.escape(title)}</title></rect>" for left, width, color, title, _ in bars]


def draw(graph: Graph, machine: Machine, placement: np.ndarray, timeline: Timeline, width: int) -> str:
    """SVG text: a row of ops for each device, and a row of what it sends where it sends anything."""
    scale = (width - _LABEL) / max(timeline.makespan_us, 1e-9)
    names, types = graph.op_names, graph.op_types
    parts, y = [], 0

    def add_row(label: str, spans: list[tuple[float, float, str, str]]) -> None:
        nonlocal y
        parts.append(f'<text x="0" y="{y + _ROW - 7}" font-size="12" font-family="sans-serif">{html.escape(label)}</text>')
        parts.extend(_bars(spans, scale, y))
        y += _ROW

    by_start = np.argsort(timeline.start_us, kind="stable")
    for index, device in enumerate(machine.devices):
        add_row(device.name, [
            (timeline.start_us[op], timeline.finish_us[op], _color(types[op]),
             f"{names[op]} ({types[op]}): {timeline.finish_us[op] - timeline.start_us[op]:.1f} us")
            for op in by_start if placement[op] == index and timeline.finish_us[op] > timeline.start_us[op]])
        sent = [transfer for transfer in timeline.transfers if transfer.source == index]
        if sent:
            add_row(f"  {device.name} sends", [(transfer.start_us, transfer.sent_us, "#888", f"{names[transfer.op]}: {transfer.bytes} bytes")
                                              for transfer in sent])
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}">{"".join(parts)}</svg>'


def page(title: str, rows: list[dict], svg: str) -> str:
    """HTML text: the title, the picture, and a table of the rows."""
    head = "".join(f"<th>{html.escape(key)}</th>" for key in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) + "</tr>" for row in rows)
    return f"<div><p>{html.escape(title)}</p>{svg}<table><tr>{head}</tr>{body}</table></div>"
