"""Runs the runner and the hand-written loop alternately on copies of the same file, and compares the pairs.

`compare.py DRIVER insert|batch|read|first [PAIRS [connection]]`; `first` reads one row without stepping to the end.
Prints operations per second of both, and the median ratio of the pairs with its quartiles.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER))

from examples import handwritten
from tests import runs

COUNTS = {"insert": 20_000, "batch": 200, "read": 100_000}
ROWS = 10_000


def trial(driver: str, verb: str, path: Path, seed: int, fetch: str) -> dict:
    k = [runs.param("k", "uniform", low=1, high=1_000_000)]
    insert = runs.statement(handwritten.INSERT, [0], repeat=1000 if verb == "batch" else 1)
    read = runs.statement(handwritten.READ, [0], fetch=fetch, work={"kind": "read"})
    transaction = {
        "insert": runs.transaction("insert", k, insert),
        "batch": runs.transaction("batch", k, insert, begin="immediate"),
        "read": runs.transaction("read", [runs.param("id", "uniform", low=1, high=ROWS)], read, writes=False),
    }[verb]
    roles = [runs.role("r", [0], 1, {"transactions": COUNTS[verb]})]
    return runs.trial(driver, path, [transaction], roles, seed=seed, tick_ms=1000, probe_ms=0)


def main(driver: str, verb: str, pairs: str = "15", *style: str) -> None:
    verb, fetch = ("read", "first") if verb == "first" else (verb, "all")
    ratios, by_runner, by_hand = [], [], []
    with tempfile.TemporaryDirectory() as directory:
        origin = runs.made(directory, ROWS)
        path = Path(directory) / "copy.db"
        for pair in range(int(pairs)):
            for which in ("runner", "hand") if pair % 2 else ("hand", "runner"):
                shutil.copy(origin, path)
                if which == "runner":
                    result = runs.Outcome(trial(driver, verb, path, pair, fetch)).result
                    by_runner.append(COUNTS[verb] * 1e9 / result["elapsed_ns"])
                else:
                    words = [driver, verb, str(path), str(COUNTS[verb]), str(pair), *style]
                    command = [sys.executable, str(FOLDER / "examples" / "handwritten.py"), *words]
                    by_hand.append(float(subprocess.run(command, check=True, capture_output=True).stdout))
            ratios.append(by_runner[-1] / by_hand[-1])
    low, middle, high = statistics.quantiles(ratios, n=4)
    runner, hand = statistics.median(by_runner), statistics.median(by_hand)
    print(f"{driver} {verb} {fetch}: runner {runner:.0f}/s, by hand {hand:.0f}/s", end="")
    print(f", ratio {middle:.3f} ({low:.3f}–{high:.3f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
