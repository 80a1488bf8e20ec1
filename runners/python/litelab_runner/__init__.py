"""A runner for Python: one trial on a driver of SQLite or a server, driven by JSON on standard input.

Read in this order: `trial` opens; `stage` starts and reports; `worker` is the loop; `transaction` is one execution;
`statement` is the driver under measurement, with `stdlib` and `apsw_driver` for what differs; `noop` is the same
without a database. `queues` has drivers that offer a task queue in place of SQL. `params` draws values, `record` keeps
counts and latencies. `aio` has the same workers as tasks on an event loop, and `aiosqlite_driver` a driver for them alone.
`server` is what connections to a server have in common, `psycopg_driver` the rest.

A new driver is a module like `apsw_driver` and a line in `driver.DRIVERS`.
"""

from pathlib import Path

PROTOCOL = 3

RUNNER = "python"

# The runner lies in `runners/python` of the project, whose `protocol` folder all runners share.
SHARED = Path(__file__).resolve().parents[3] / "crates" / "protocol"
