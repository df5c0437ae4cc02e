"""Graphs in the formats of other people's tools."""
from emplace.formats.partitioning import load_partitioning
from emplace.formats.pipedream import load_pipedream
from emplace.formats.stg import load_stg
from emplace.formats.traces import load_trace
from emplace.formats.wfcommons import load_wfcommons

__all__ = ["load_partitioning", "load_pipedream", "load_stg", "load_trace", "load_wfcommons"]
