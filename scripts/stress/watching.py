"""A running `litelab watch --json`, for the scripts `watch`, `soak` and `real`."""

import json
import signal
import subprocess
import threading
import time
from pathlib import Path

from stress import LITELAB

# Programs that hold locks for known times.
HOLDERS = Path(__file__).resolve().parent / "holders"
# Looks that are kept; older ones are dropped.
KEPT = 2000


class Watch:
    """The command with all databases, and what it shows."""

    def __init__(self, *databases, interval="50ms", more=()):
        command = [LITELAB, "watch", *databases, "--json", "--interval", interval, *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.views, self.events, self.looks, self.errors = [], [], 0, ""
        # Time between two looks, at most; and that of the end of the longer ones.
        self.gap, self.gaps = 0, []
        self.threads = [threading.Thread(target=read, daemon=True) for read in (self.read, self.read_errors)]
        for thread in self.threads:
            thread.start()

    def read(self):
        for line in self.process.stdout:
            view = json.loads(line)
            if self.views:
                gap = view["at"] - self.views[-1]["at"]
                self.gap = max(self.gap, gap)
                self.gaps += [(view["at"], gap)] if gap > 0.5 else []
            self.views.append(view)
            del self.views[: -KEPT]
            self.events += view["events"]
            self.looks += 1

    def read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def wait(self, until):
        """Waits for a look after this time."""
        deadline = time.time() + 20
        while not self.views or self.views[-1]["at"] < until:
            assert time.time() < deadline, f"watch shows nothing: {self.errors}"
            time.sleep(0.02)

    def within(self, begin, end):
        return [view for view in self.views if begin <= view["at"] <= end]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(10)
        for thread in self.threads:
            thread.join(10)
        return code
