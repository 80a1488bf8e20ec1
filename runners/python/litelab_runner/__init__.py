"""A runner for Python: one trial on a driver of SQLite or of a server, controlled by JSON on standard input.

Read in this order: `trial` opens; `stage` starts and reports; `worker` is the loop; `transaction` is one execution;
`statement` is the driver under measurement, with `stdlib` and `apsw_driver` for the differences; `noop` is a driver
without a database. `queues` contains drivers that offer a task queue in place of SQL. `params` draws values,
`record` keeps counts and latencies. `aio` runs the same workers as tasks on an event loop, and `aiosqlite_driver` is
a driver for these only. `dsn` opens connections by a name of the application. `server` is the common part of server
connections, `psycopg_driver` the specific part.

A new driver is a module like `apsw_driver` and a line in `driver.DRIVERS`.
"""

from pathlib import Path

PROTOCOL = 3

RUNNER = "python"

# The tables shared by all runners, relative to `runners/python`.
SHARED = Path(__file__).resolve().parents[3] / "crates" / "protocol"
