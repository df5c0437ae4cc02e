#!/usr/bin/env python3
"""Adds the tests of a JUnit file, as ctest writes it, to the results of tests/run.sh (see record.sh), and prints what went wrong.

Usage: junit.py JUNIT_FILE RESULTS_FILE
"""
import re
import sys
import xml.etree.ElementTree

SKIPPED_LINE = re.compile(r"^skipped ([^:]+): (.*)$", re.M)  # Of a script: a part of it was skipped.
GTEST_REASON = re.compile(r": Skipped\n(.*)")
LONGEST_OUTPUT = 12_000  # Characters of a failed test's output.


def reason(output: str) -> str:
    """Why a test was skipped as a whole: what it says itself, else its last line."""
    if found := GTEST_REASON.search(output):
        return found.group(1)
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].removeprefix("skipped: ") if lines else "it does not say why"


def main() -> int:
    junit, results = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with open(results, "a") as out:
        def record(status, seconds, name, why=""):
            counts[status] += 1
            out.write("\t".join([status, f"{seconds:.1f}", name, " ".join(why.split())]) + "\n")

        for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
            # A value's parameter is an array of bytes to GoogleTest.
            name = case.get("name").split("  # GetParam()")[0]
            seconds = float(case.get("time"))
            output = case.findtext("system-out") or ""
            if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                why = case.find("skipped").get("message") if case.find("skipped") is not None else ""
                # A program that is missing is no skipped test: ctest calls both "not run".
                missing = "Unable to find executable" in (why or "") or "NOT_BUILT" in name
                if missing:
                    print(f"FAILED {name}: it was not built")
                    record("failed", seconds, name)
                else:
                    record("skipped", 0, name, reason(output))
            elif case.find("failure") is not None or case.get("status") == "fail":
                print(output[-LONGEST_OUTPUT:])
                print(f"FAILED {name}")
                record("failed", seconds, name)
            else:
                record("passed", seconds, name)
                for part, why in SKIPPED_LINE.findall(output):
                    record("skipped", 0, f"{name}: {part}", why)
    print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
