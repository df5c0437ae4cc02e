"""Task graphs and workflows from outside neural networks: emplace.formats.stg and emplace.formats.wfcommons."""
import copy
import json

import emplace
import pytest

# The format's own example has two more tasks of no time, the first and the last one.
STG = """\
   2
   0   0   0
   1   4   1   0
   2   3.5 2   0  0
   3   0   2   1  2
# Standard Task Graph Set Project
#  2 Proc. : 4 4
"""
WORKFLOW = {
    "name": "small", "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "split", "id": "split_1", "parents": [], "children": ["work_2"], "inputFiles": ["all"], "outputFiles": ["left", "right"]},
                {"name": "work", "id": "work_2", "parents": ["split_1"], "children": ["end_3"], "inputFiles": ["right", "right"]},
                {"name": "end", "id": "end_3", "parents": ["work_2", "split_1"], "children": [], "inputFiles": ["left"], "outputFiles": []}],
            "files": [{"id": "all", "sizeInBytes": 30}, {"id": "left", "sizeInBytes": 10}, {"id": "right", "sizeInBytes": 20}]},
        "execution": {"makespanInSeconds": 9, "tasks": [
            {"id": "work_2", "runtimeInSeconds": 2}, {"id": "split_1", "runtimeInSeconds": 0.5}, {"id": "end_3", "runtimeInSeconds": 0}]}}}


def test_a_task_graph_of_the_standard_set(tmp_path):
    (tmp_path / "rand0000.stg").write_text(STG)
    graph = emplace.formats.load_stg(tmp_path / "rand0000.stg", time_unit_us=10)
    assert graph.name == "rand0000"
    assert [(op["name"], op["cost_us"], op["inputs"]) for op in graph.ops] == [
        ("0", 0, []), ("1", 40, ["^0"]), ("2", 35, ["^0"]), ("3", 0, ["^1", "^2"])]


def test_its_tasks_run_without_communication(tmp_path):
    (tmp_path / "t.stg").write_text(STG)
    machine = emplace.Machine([emplace.Device(name, "any", 1e9) for name in "ab"], bandwidth_bytes_per_us=1)
    plan = emplace.Plan.of(emplace.formats.load_stg(tmp_path / "t.stg"), machine, [0, 0, 1, 1])
    assert plan.makespan_us == 4  # Tasks 1 and 2 at once.


def test_tasks_of_no_time_at_both_ends_may_be_missing(tmp_path):
    (tmp_path / "t.stg").write_text("2\n1 4 0\n2 3 1 1\n")
    assert [op["inputs"] for op in emplace.formats.load_stg(tmp_path / "t.stg").ops] == [[], ["^1"]]


@pytest.mark.parametrize("text, error", [
    ("", "begins with no number of tasks"),
    ("# nothing\n", "begins with no number of tasks"),
    ("2 3\n", "begins with no number of tasks"),
    ("-2\n", r"t\.stg:1: is '-2', expected a whole number"),
    ("7\n0 0 0\n", "has 1 tasks, expected 9, or 7 without"),
    ("1\n0 0\n", r"t\.stg:2: has 2 numbers"),
    ("2\n0 0 0\n1 1 1 0 12\n", r"t\.stg:3: has 5 numbers"),
    ("2\n0 0 0\n0 1 0\n", r"t\.stg:3: task 0 is there twice"),
    ("2\n0 0 0\n1 -1 1 0\n", r't\.stg:3: the time is "-1"'),
    ("2\n0 0 0\n1 x 1 0\n", r't\.stg:3: the time is "x"'),
    ("2\n0 0 0\n1 nan 1 0\n", r't\.stg:3: the time is "nan"'),
    ("2\n0 0 0\n1 1 1 5\n", r"t\.stg:3: there is no task 5"),
    ("2\n0 0 1 1\n1 1 1 0\n", "cycle"),
])
def test_bad_task_graphs(text, error, tmp_path):
    (tmp_path / "t.stg").write_text(text)
    with pytest.raises(emplace.BadInput, match=error):
        emplace.formats.load_stg(tmp_path / "t.stg")


def test_a_recorded_workflow(tmp_path):
    (tmp_path / "small.json").write_text(json.dumps(WORKFLOW))
    graph = emplace.formats.load_wfcommons(tmp_path / "small.json")
    split, work, end = graph.ops
    assert graph.name == "small" and split["type"] == "split"
    assert [op["cost_us"] for op in graph.ops] == [500_000, 2_000_000, 0]
    assert split["outputs"] == [{"bytes": 10}, {"bytes": 20}] and split["inputs"] == []
    # A file that is read twice is one tensor; a parent that makes none of the files is waited for.
    assert work["inputs"] == ["split_1:1"] and end["inputs"] == ["split_1:0", "^work_2"]


def changed(path, value):
    """The workflow with another value at this path."""
    workflow = copy.deepcopy(WORKFLOW)
    at = workflow
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return workflow


TASKS = ("workflow", "specification", "tasks")
RUNS = ("workflow", "execution", "tasks")


@pytest.mark.parametrize("workflow, error", [
    ([], "expected an object"),
    ({}, "is no recorded workflow"),
    (changed(("workflow",), {"tasks": []}), "is no recorded workflow, expected WfCommons' WfFormat 1.5"),
    (changed(TASKS, {"a": 3}), "is no recorded workflow"),
    (changed((*TASKS, 1, "id"), "split_1"), "split_1"),
    (changed((*TASKS, 1, "id"), ["split_1"]), "is no recorded workflow"),
    (changed((*TASKS, 1, "id"), 7), "is no recorded workflow"),
    (changed((*TASKS, 1, "outputFiles"), ["left"]), "task work_2 writes left, which split_1 writes, too"),
    (changed((*TASKS, 1, "outputFiles"), ["new"]), "task work_2: the size of new is null"),
    (changed((*TASKS, 1, "inputFiles"), 3), "is no recorded workflow"),
    (changed((*TASKS, 1, "parents"), ["nobody"]), "nobody"),
    (changed((*RUNS, 0, "runtimeInSeconds"), -1), "task work_2: runtimeInSeconds is -1, expected a finite number"),
    (changed((*RUNS, 0, "id"), "other"), "task work_2: runtimeInSeconds is null"),
    (changed((*TASKS, 0, "parents"), ["end_3"]), "cycle"),
])
def test_bad_workflows(workflow, error, tmp_path):
    (tmp_path / "w.json").write_text(json.dumps(workflow))
    with pytest.raises(emplace.BadInput, match=error):
        emplace.formats.load_wfcommons(tmp_path / "w.json")
