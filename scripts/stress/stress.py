"""Common parts of the scripts in this folder: arguments, folders, commands with a deadline, leftover processes, counts.

Linux only. Every process that a command starts stays a descendant of the script even if it detaches itself, because the
script adopts orphans (PR_SET_CHILD_SUBREAPER, prctl(2)). So all are found in /proc, and no other process is signalled.

The environment variable LITELAB names the command under test (default: target/release/litelab). The exit code of a
script is 1 if any check failed; its last line is its row of the table of `run`.
"""

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LITELAB = Path(os.environ.get("LITELAB", ROOT / "target/release/litelab")).absolute()
HEADER = f"{'script':<9}{'cases':>6}{'seconds':>9}{'wrong':>7}  counts"
PR_SET_CHILD_SUBREAPER = 36
# Maximum number of cases of one kind that are printed; all are counted.
PRINTED = 8
# Bytes of a command's output that are checked.
OUTPUT = 16 << 20
LONGEST_LINE = 2100
PANIC = re.compile(r"panicked at|has overflowed its stack|memory allocation of \d+ bytes failed|RUST_BACKTRACE")
# C0 except tab and newline, DEL, C1; marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Two variants in one process and one with two worker processes: a run of a few seconds.
STUDY = """\
name = "stress"
title = "Is every round stored?"
rounds = 7
[[scenario]]
name = "threads"
workload = "insert"
role.writers = { run = "insert", workers = 2, for = "60ms" }
vary.sharing = ["own-connection", "one-connection"]
[[scenario]]
name = "processes"
workload = "insert"
executor = "processes"
role.writers = { run = "insert", workers = 2, count = 50 }
"""


def processes():
    """Returns parent, state and command line of every process."""
    found = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stat = Path("/proc", number, "stat").read_text(errors="replace")
            state, parent = stat[stat.rindex(")") + 2 :].split()[:2]
            line = Path("/proc", number, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            found[int(number)] = (int(parent), state, line)
    return found


def descendants(of=None):
    """Returns the command lines of the living descendants of a process, by number, without zombies; default: this."""
    found, tree, level = processes(), {}, {of or os.getpid()}
    while level:
        level = {number for number, (parent, _, _) in found.items() if parent in level}
        tree |= {number: found[number][2] for number in level if found[number][1] != "Z"}
    return tree


def kill(numbers):
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


@dataclass
class Ended:
    """Result of a command. A negative code is the signal that killed it."""

    code: int
    out: str
    err: str
    seconds: float
    hung: bool

    def says(self):
        return " | ".join(line for line in self.err.splitlines() if line.strip())[-300:]


class Command:
    """A running litelab. Its output goes to files, so that a descendant that keeps them open causes no delay."""

    def __init__(self, arguments, cwd, limits=None, environment=None):
        self.out, self.err, self.begun = tempfile.TemporaryFile(), tempfile.TemporaryFile(), time.monotonic()
        self.process = subprocess.Popen(
            [LITELAB, *map(str, arguments)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
            env=os.environ | {"NO_COLOR": "1"} | (environment or {}), start_new_session=True)
        for limit, value in (limits or {}).items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self.process.pid, limit, (value, value))

    def end(self, deadline):
        """Waits at most `deadline` seconds for the end of the process, then kills it and its descendants."""
        hung = False
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            hung = True
            kill([self.process.pid, *descendants(self.process.pid)])
            self.process.wait()
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read(OUTPUT).decode(errors="replace"))
            file.close()
        return Ended(self.process.returncode, *texts, time.monotonic() - self.begun, hung)


@dataclass
class Examined:
    """Contents of a run file."""

    problems: list
    trials: dict = field(default_factory=dict)
    planned: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    finished: bool = False

    def uneven(self):
        """Whether the variants of a scenario differ in their number of trials."""
        numbers = {}
        for (scenario, _), trials in self.trials.items():
            numbers.setdefault(scenario, set()).add(trials)
        return any(len(n) > 1 for n in numbers.values())


def examine(file):
    """Reads a run file as any SQLite client does, so that a hot journal is rolled back."""
    try:
        with contextlib.closing(sqlite3.connect(file, timeout=10)) as db:
            problems = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            if problems:
                return Examined(problems)
            values = dict(db.execute("SELECT key, value FROM run WHERE key IN ('plan', 'finished')"))
            plan = json.loads(values["plan"])
            variants = [(variant["scenario"], index) for index, variant in enumerate(plan["variants"]) if not variant.get("skipped")]
            trials = dict.fromkeys(variants, 0)
            for scenario, variant, number, rounds in db.execute(
                    "SELECT scenario, variant, count(*), count(DISTINCT round) FROM trial GROUP BY 1, 2"):
                trials[scenario, variant] = number
                if number != rounds:
                    problems.append(f"variant {variant} has {number} trials of {rounds} rounds")
            failures = db.execute("SELECT json_extract(failure, '$.reason'), seconds FROM trial WHERE failure NOT NULL")
            planned = {(scenario, variant): plan["scenarios"][scenario]["rounds"] for scenario, variant in variants}
            return Examined(problems, trials, planned, failures.fetchall(), "finished" in values)
    except (sqlite3.Error, KeyError, ValueError) as error:
        return Examined([f"{type(error).__name__}: {error}"])


class Work:
    """A running script: its arguments, its folder below litelab-runs (removed at the end), and its counts."""

    def __init__(self, name, description, count, unit):
        parser = argparse.ArgumentParser(prog=f"scripts/stress/{name}", description=description,
                                         formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("count", nargs="?", type=int, default=count, help=f"{unit} ({count})")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases")
        parser.add_argument("--case", type=int, help="this case alone")
        parser.add_argument("--keep", action="store_true", help="keep the folder")
        self.name, self.arguments, self.begun = name, parser.parse_args(), time.monotonic()
        if not LITELAB.exists():
            parser.error(f"{LITELAB} is missing: make build, or name it by LITELAB")
        self.counts, self.kinds, self.done, self.lock, self.mounts = Counter(), Counter(), 0, threading.Lock(), []

    def __enter__(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        (ROOT / "litelab-runs").mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"stress-{self.name}-", dir=ROOT / "litelab-runs"))
        self.folder.chmod(0o755)  # Servers run under other users.
        tempfile.tempdir = str(self.folder)
        return self

    def __exit__(self, kind, *_):
        kill(descendants())
        while self.mounts:
            self.unmount(self.mounts[-1])
        if self.arguments.keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder)
        if kind is None:
            wrong = sum(self.kinds.values())
            counts = ", ".join(f"{name} {n}" for name, n in sorted(self.counts.items()))
            kinds = ", ".join(f"{name} {n}" for name, n in sorted(self.kinds.items()))
            print(f"{self.name:<9}{self.done:>6}{time.monotonic() - self.begun:>9.0f}{wrong:>7}  {counts}"
                  + (f"; wrong: {kinds}" if wrong else ""))
            sys.exit(1 if wrong else 0)

    def cases(self, count=None):
        """Yields the numbers of cases, each with its own random generator."""
        one = self.arguments.case
        for case in range(count or self.arguments.count) if one is None else [one]:
            yield case, random.Random(f"{self.arguments.seed}/{case}")

    def fresh(self, case):
        """Creates an empty folder for a case, which `drop` removes."""
        folder = self.folder / str(case)
        folder.mkdir()
        return folder

    def drop(self, folder):
        with self.lock:
            self.done += 1
        if not self.arguments.keep:
            shutil.rmtree(folder)

    def start(self, *arguments, cwd, **more):
        return Command(arguments, cwd, **more)

    def run(self, case, *arguments, cwd, codes, deadline=60, **more):
        """Runs litelab to its end, and checks the conditions that hold for every command."""
        ended = self.start(*arguments, cwd=cwd, **more).end(deadline)
        self.check(case, ended, codes, " ".join(str(a) for a in arguments[:2]))
        return ended

    def check(self, case, ended, codes, what):
        """Checks the exit code, and that there is no panic, hang, endless line or control sequence."""
        if ended.hung:
            self.wrong(case, "hang", f"{what}: no end after {ended.seconds:.0f} s")
        elif ended.code not in codes:
            self.wrong(case, f"exit {ended.code}", f"{what}: {ended.says() or ended.out[-200:]!r}")
        for stream, text in (("stdout", ended.out), ("stderr", ended.err)):
            if PANIC.search(text):
                self.wrong(case, "panic", f"{what}: {text[-300:]!r}")
            if found := CONTROL.search(text):
                around = text[max(0, found.start() - 40) : found.end() + 20]
                self.wrong(case, "control character", f"{what}: {stream} {around!r}")
            if (longest := max(map(len, text.splitlines()), default=0)) > LONGEST_LINE:
                self.wrong(case, "long line", f"{what}: {stream} has a line of {longest} characters")

    def one_line(self, case, ended, what):
        """Checks that a refusal is one line that begins with `error:`."""
        lines = [line for line in ended.err.splitlines() if line.strip()]
        if not ended.hung and (len(lines) != 1 or not lines[0].startswith("error:")):
            self.wrong(case, "not one line", f"{what}: exit {ended.code}: {ended.says()}")

    def wrong(self, case, kind, detail):
        with self.lock:
            self.kinds[kind] += 1
            if self.kinds[kind] <= PRINTED:
                print(f"WRONG {self.name} {case}: {kind}: {detail}", flush=True)

    def count(self, name, number=1):
        with self.lock:
            self.counts[name] += number

    def left(self, case, folder, expected=()):
        """Reports every file in a folder that is not expected there, including hidden ones."""
        names = {path.name for path in folder.iterdir()} if folder.exists() else set()
        if more := sorted(names - set(expected)):
            self.wrong(case, "left behind", f"in {folder.relative_to(self.folder)}: {', '.join(more)}")

    def gone(self, case, seconds=5, but=()):
        """Waits until no other process than `but` is left. Kills and reports the remaining ones."""
        deadline = time.monotonic() + seconds
        while living := {n: line for n, line in descendants().items() if n not in but}:
            if time.monotonic() > deadline:
                self.wrong(case, "process alive", f"after {seconds} s: {list(living.values())[:3]}")
                kill(living)
                break
            time.sleep(0.02)
        for number, (parent, state, _) in processes().items():
            if parent == os.getpid() and state == "Z" and number not in but:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(number, os.WNOHANG)

    def mount(self, folder, *arguments):
        """Mounts on a folder. Returns the reason why this is impossible, or an empty text."""
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["mount", *arguments, folder], capture_output=True, text=True)
        if done.returncode == 0:
            self.mounts.append(folder)
        return " ".join(done.stderr.split()) if done.returncode else ""

    def unmount(self, folder):
        self.mounts.remove(folder)
        subprocess.run(["umount", folder], check=True)

    def skipped(self, what):
        """Prints what cannot be tested here, and the reason."""
        self.count("skipped")
        print(f"skipped: {self.name}: {what}", flush=True)


def digest(path):
    """Returns hash, size, time of change and inode of a file; None if it does not exist."""
    with contextlib.suppress(FileNotFoundError):
        stat = path.stat()
        return hashlib.sha256(path.read_bytes()).hexdigest(), stat.st_size, stat.st_mtime_ns, stat.st_ino
