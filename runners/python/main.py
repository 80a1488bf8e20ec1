"""The three verbs of the runner. `docs/reference/protocol.md` specifies them; the package docstring lists the modules."""

import sys

from litelab_runner import describe, inspect, trial
from litelab_runner.driver import Fault
from litelab_runner.message import next_line, say


def run() -> int:
    try:
        trial.run()
        return 0
    except Exception as error:
        say(Fault.of(error).failed())
        return 1


def answer(make) -> int:
    try:
        say(make())
        return 0
    except Exception as error:
        print(Fault.of(error), file=sys.stderr)
        return 1


def main(verbs: list[str]) -> int:
    match verbs:
        case ["describe"]:
            return answer(describe.describe)
        case ["inspect"]:
            return answer(lambda: inspect.inspect(next_line()))
        case ["run"]:
            return run()
    print("usage: main.py describe|run|inspect", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
