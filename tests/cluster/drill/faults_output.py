"""An output that nobody reads."""
import pathlib
import sys
import time

import checks
from drill import Drill
from training import Training

SECONDS = 5  # Some lines of progress, one a second.


def nobody_reads(drill: Drill) -> str:
    terminal = pathlib.Path(__file__).with_name("deaf_terminal.py")
    training = Training(drill.folder, learner_prefix=(sys.executable, terminal), sets=["evaluation.every=10"])
    training.start()
    training.wait_for_version(10)
    before = training.version()
    time.sleep(SECONDS)
    training.expect_progress()
    rose = training.version() - before
    totals = training.finish()
    newest = checks.checkpoints(training.run_dir)[-1].name
    return f"a stopped terminal: {rose} updates in {SECONDS} s, then a clean end with {newest}; {totals['lost']} lost"
