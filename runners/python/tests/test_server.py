"""Drivers of servers. Tests that need a server take its url from LITELAB_POSTGRES, and are skipped without it."""

import os
import socket
import threading
import time
import unittest

import psycopg

from litelab_runner import codes
from litelab_runner.driver import Fault, Memory
from litelab_runner.psycopg_driver import Psycopg
from litelab_runner.server import Address, Link, printed
from litelab_runner.transaction import Retry

from .runs import Outcome, lines, param, role, seen, session, statement, transaction, trial

URL = os.environ.get("LITELAB_POSTGRES")
NO_RETRY = {"attempts": 1, "backoff_us": 0, "multiplier": 1.0, "max_backoff_us": 0, "on": []}


class Parts(unittest.TestCase):
    def test_urls(self):
        address = Address("postgres://a%40b:p%2Fw:x@h1,h2:7,[::1]:8/d%20b?sslmode=disable", "postgres", 5432)
        self.assertEqual(address.hosts, [("h1", 5432), ("h2", 7), ("::1", 8)])
        self.assertEqual((address.user, address.password, address.database), ("a@b", "p/w:x", "d b"))
        self.assertEqual(address.options({"options": "-c x=1"}, {"sslmode", "options"})["sslmode"], "disable")
        with self.assertRaises(Fault):
            address.options({"pool": 3}, {"sslmode"})
        for wrong in ("", "h:1", "mysql://u:secret@h/d", "postgres://u:secret@", "postgres://u:secret@h:x/d",
                      "postgres://u:secret@h,/d", "postgres://u:secret@h:70000/d"):  # fmt: skip
            with self.assertRaises(Fault) as refused:
                Address(wrong, "postgres", 5432)
            self.assertNotIn("secret", str(refused.exception))

    def test_numbers_are_printed_as_numbers(self):
        texts = {"7": 7, "-1.5": -1.5, "on": "on", "16MB": "16MB", "inf": "inf", "": "", "1_0": "1_0"}
        self.assertEqual({text: printed(text) for text in texts}, texts)
        self.assertIs(type(printed("7")), int)

    def test_names(self):
        self.assertEqual(codes.of_state("40P01"), "deadlock_detected")
        self.assertEqual(codes.of_state("XX9Y9"), "sqlstate_XX9Y9")
        self.assertTrue(codes.is_busy("serialization_failure") and codes.is_busy("SQLITE_BUSY_SNAPSHOT"))
        self.assertFalse(codes.is_busy("unique_violation") or codes.is_busy("SQLITE_LOCKED"))
        self.assertTrue(Retry({**NO_RETRY, "on": ["CONNECTION_LOST"]}, "postgres").covers("CONNECTION_LOST"))
        for dialect, name in (("postgres", "SQLITE_BUSY"), ("sqlite", "deadlock_detected"), ("postgres", "sqlstate_1")):
            with self.assertRaises(Fault):
                Retry({**NO_RETRY, "on": [name]}, dialect)

    def test_a_lost_connection_goes_on_at_the_next_host(self):
        asked = []

        def host(name: str, fails: bool = False):
            def open() -> str:
                asked.append(name)
                if fails:
                    raise OSError(name)
                return name

            return open

        link = Link([host("a"), host("b", True), host("c")], 4)
        self.assertEqual((link.connection, asked), ("c", ["b", "c"]))
        link.reopen()
        self.assertEqual(link.connection, "a")
        with self.assertRaises(OSError):
            Link([host("b", True), host("c", True)], 0)

    def test_a_driver_refuses_a_database_of_another_kind(self):
        server = {"kind": "server", "url": "postgres://h/d", "schema": "s"}
        for driver, database in (("sqlite3", server), ("psycopg", {"kind": "file", "path": "x.db"})):
            given = {"databases": [database]}
            [failed], code = lines(
                trial(driver, "", [INSERT], [role("w", [0], 1, {"transactions": 1})], **given), go=False
            )
            self.assertEqual((code, failed["code"]), (1, None))
            self.assertIn("server", failed["reason"])

    def test_a_server_that_says_nothing_is_not_waited_for(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            database = {"kind": "server", "url": f"postgres://u:p@127.0.0.1:{silent.getsockname()[1]}/d", "schema": "s"}
            connection = {"settings": [], "read_back": [], "options": {}}
            given = {"databases": [database], "connection": connection}
            [failed], _ = lines(
                trial("psycopg", "", [INSERT], [role("w", [0], 1, {"transactions": 1})], **given), go=False
            )
        self.assertEqual(failed["code"], "CONNECTION_TIMEOUT")


INSERT = transaction(
    "insert",
    [param("id", "sequence", start=1, step=1), param("k", "uniform", low=1, high=1000), param("v", "hex", bytes=9),
     param("h", "sha256-of", param=2)],
    statement("INSERT INTO t(id, k, v, h) VALUES ($1, $2, $3, $4), ($5, $6, $7, $8)", [0, 1, 2, 3], tuples=2),
    begin="immediate",
)  # fmt: skip


def plain(name: str, *sql: str, begin: str = "immediate", hold: int = 0, **given) -> dict:
    made = transaction(name, [], *(statement(text, [], **given) for text in sql), begin=begin)
    made["statements"][0]["hold_us"] = hold
    return made


@unittest.skipUnless(URL, "LITELAB_POSTGRES names no server")
class Server(unittest.TestCase):
    def setUp(self):
        self.schema = f"py_test_{time.time_ns()}"
        self.control = psycopg.connect(URL, autocommit=True)
        self.control.execute(f"CREATE SCHEMA {self.schema}")
        self.control.execute(f"CREATE TABLE {self.schema}.t(id BIGINT PRIMARY KEY, k INT, v TEXT, h TEXT UNIQUE)")

    def tearDown(self):
        self.control.execute(f"DROP SCHEMA {self.schema} CASCADE")
        self.control.close()

    def ask(self, sql: str):
        return self.control.execute(sql.replace("$", f"{self.schema}.")).fetchone()[0]

    def trial(self, transactions: list[dict], workers: int, count: int, **given) -> dict:
        default = {
            "databases": [{"kind": "server", "url": URL, "schema": self.schema}],
            "connection": {"settings": [], "read_back": [], "options": {"application_name": self.schema}},
        }
        roles = [
            role(t["name"], [at], workers, {"transactions": count}, first_worker=at * workers)
            for at, t in enumerate(transactions)
        ]
        return trial("psycopg", "", transactions, roles, **{**default, **given})

    def operation(self, given: dict) -> dict:
        outcome = Outcome(given)
        first = given["transactions"][0]["name"]
        return outcome.operation(first, first)

    def test_counts_are_the_rows(self):
        work = {"kind": "verify", "value": "v", "hash": "h"}
        read = transaction(
            "read",
            [],
            statement("SELECT v, h FROM t ORDER BY id DESC LIMIT 3", [], fetch="all", work=work),
            writes=False,
        )
        for sharing in ({"kind": "own-connection"}, {"kind": "pool", "connections": 2}):
            for prepare in ("once", "each"):
                self.control.execute(f"DELETE FROM {self.schema}.t")
                outcome = Outcome(self.trial([INSERT, read], 3, 50, sharing=sharing, prepare=prepare))
                inserted, seen = outcome.operation("insert", "insert"), outcome.operation("read", "read")
                self.assertEqual((inserted["committed"], inserted["rows"], seen["committed"]), (50, 100, 50))
                self.assertEqual(seen["counters"], {"verified": seen["rows"], "mismatches": 0})
                self.assertEqual(self.ask("SELECT count(*) FROM $t WHERE id BETWEEN 1 AND 100"), 100)
                self.assertEqual(outcome.ticked("committed"), 100)

    def test_values_of_every_kind(self):
        self.control.execute(
            f"CREATE TABLE {self.schema}.v"
            "(a BIGINT, b INT, c SMALLINT, d DOUBLE PRECISION, e NUMERIC(30,2), f TEXT, g BOOLEAN)"
        )
        sent = (-(1 << 63), -7, 300, 0.1, 12, "ü\t'\\\n", None)
        for prepare in ("once", "each"):
            self.control.execute(f"DELETE FROM {self.schema}.v")
            database = {"kind": "server", "url": URL, "schema": self.schema}
            session = Psycopg(database, {"settings": [], "read_back": [], "options": {}}, prepare)
            for values in (sent, (None,) * 7):
                self.assertEqual(
                    session.changing("INSERT INTO v VALUES ($1, $2, $3, $4, $5, $6, $7)")(values, Memory()), 1
                )
            session.run("UPDATE v SET g = true WHERE a IS NOT NULL")
            back = session.run("SELECT * FROM v ORDER BY a", ()).fetchall()
            self.assertEqual(back, [(*sent[:6], 1), (None,) * 7])
            self.assertEqual([type(value) for value in back[0]], [int, int, int, float, int, str, int])
            session.close()

    def test_settings(self):
        settings = [session("synchronous_commit", "off"), session("work_mem", "'3MB'")]
        read_back = ["synchronous_commit", "work_mem", "max_connections"]
        connection = {"settings": settings, "read_back": read_back, "options": {}}
        outcome = Outcome(self.trial([INSERT], 2, 2, connection=connection))
        self.assertEqual(len(outcome.ready["connections"]), 2)
        for settings in outcome.ready["connections"]:
            values = settings["settings"]
            self.assertEqual((values["synchronous_commit"], values["work_mem"]), ("off", "3MB"))
            self.assertIs(type(values["max_connections"]), int)
        connection["settings"] = [session("no_such_setting", "1")]
        [failed], _ = lines(self.trial([INSERT], 1, 1, connection=connection), go=False)
        self.assertEqual(failed["code"], "undefined_object")

    def test_what_is_refused_has_its_name(self):
        address = Address(URL, "postgres", 5432)
        host = URL.split("@")[1].split("/")[0]
        wrong = {
            "invalid_password": URL.replace(f"{address.password}@", "wrong@"),
            "invalid_catalog_name": URL.rsplit("/", 1)[0] + "/no_such_database",
            "CONNECTION_REFUSED": URL.replace(host, "127.0.0.1:1"),
        }
        for name, url in [*wrong.items(), ("CONNECTION_REFUSED", URL.replace(host, "no-such-host.invalid"))]:
            database = {"kind": "server", "url": url, "schema": self.schema}
            [failed], code = lines(self.trial([INSERT], 1, 1, databases=[database]), go=False)
            self.assertEqual((failed["code"], code), (name, 1), failed)
        [failed], _ = lines(self.trial([plain("wrong", "INSRT")], 1, 1), go=False)
        self.assertEqual(failed["code"], "syntax_error")
        few = transaction("few", INSERT["params"], statement("SELECT $1, $2", [0]))
        [failed], _ = lines(self.trial([few], 1, 1), go=False)
        self.assertIn("2 parameters, and 1", failed["reason"])
        same = plain("same", "INSERT INTO t(id, h) VALUES (1, 'a')", "INSERT INTO t(id, h) VALUES (2, 'x'), (3, 'x')")
        operation = self.operation(self.trial([same], 1, 2))
        self.assertEqual((operation["failed"], seen(operation)), (2, {"unique_violation": (2, 0)}))
        self.assertEqual(self.ask("SELECT count(*) FROM $t"), 0)

    def test_contention_is_retried(self):
        self.control.execute(f"INSERT INTO {self.schema}.t(id, k) VALUES (1, 0), (2, 0)")
        update = "UPDATE t SET k = k + 1 WHERE id = {}"
        crossing = [plain(f"c{a}", update.format(a), update.format(b), hold=300_000) for a, b in ((1, 2), (2, 1))]
        retry = {**NO_RETRY, "attempts": 5, "on": ["deadlock_detected", "serialization_failure"]}
        met = 0
        for _ in range(5):
            outcome = Outcome(self.trial(crossing, 1, 1, retry=retry))
            found = [outcome.operation(f"c{n}", f"c{n}") for n in (1, 2)]
            self.assertEqual([o["committed"] for o in found], [1, 1])
            errors = [o["errors"]["deadlock_detected"] for o in found if o["errors"]]
            met = sum(error["seen"] for error in errors)
            self.assertEqual([outcome.ticked("busy"), sum(error["cured"] for error in errors)], [met, met])
            if met:
                break
        # On a busy machine the two may not run at the same time.
        self.assertGreater(met, 0)
        both = plain("both", "SELECT k FROM t", update.format(1), hold=300_000)
        settings = [session("default_transaction_isolation", "'repeatable read'")]
        connection = {"settings": settings, "read_back": [], "options": {}}
        for _ in range(5):
            operation = self.operation(self.trial([both], 2, 2, retry=retry, connection=connection))
            self.assertEqual(operation["committed"], 2)
            if operation["errors"]:
                break
        self.assertEqual(seen(operation), {"serialization_failure": (1, 1)})

    def test_yields_and_fetches(self):
        self.control.execute(f"INSERT INTO {self.schema}.t(id) VALUES (1), (2), (3)")
        free = "SELECT id FROM t WHERE k IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED"
        look = f"UPDATE t SET k = 7 WHERE id = ({free}) RETURNING id"
        claim = transaction(
            "claim", [param("id", "yielded", name="id")],
            statement(look, [], fetch="first", yields=["id"], required=True, work={"kind": "read"}),
            statement("UPDATE t SET v = 'of ' || id WHERE id = $1", [0]), begin="immediate",
        )  # fmt: skip
        operation = self.operation(self.trial([claim], 1, 5))
        self.assertEqual((operation["committed"], operation["empty"], operation["rows"]), (3, 2, 6))
        self.assertEqual(self.ask("SELECT count(*) FROM $t WHERE v = 'of ' || id"), 3)
        for fetch, rows in (("none", 3), ("first", 1), ("all", 3), ("buffer", 3)):
            read = plain("read", "SELECT * FROM t", begin="none", fetch=fetch, work={"kind": "read"})
            self.assertEqual(self.operation(self.trial([read], 1, 2))["rows"], 2 * rows, fetch)

    def test_copy(self):
        copying = {**INSERT, "statements": [{**INSERT["statements"][0], "sql": "COPY t FROM STDIN", "tuples": 50}]}
        self.assertEqual(self.operation(self.trial([copying], 2, 4))["rows"], 200)
        self.assertEqual(self.ask("SELECT count(DISTINCT v) FROM $t WHERE id BETWEEN 1 AND 200 AND k > 0"), 200)

    def test_a_lost_connection_is_opened_again(self):
        slow = {**INSERT, "hold_us": 200_000}
        for retried in (False, True):
            self.control.execute(f"DELETE FROM {self.schema}.t")
            given = {**NO_RETRY, "attempts": 3, "on": ["admin_shutdown"]} if retried else NO_RETRY
            stop = threading.Timer(0.7, self.terminate)
            stop.start()
            operation = self.operation(self.trial([slow], 1, 8, retry=given))
            stop.join()
            met = {"admin_shutdown": (1, int(retried))}
            self.assertEqual((seen(operation), operation["failed"]), (met, int(not retried)))
            self.assertEqual(self.ask("SELECT count(*) FROM $t"), 2 * operation["committed"])

    def terminate(self):
        """Ends the runner's connection from the server in the midst of the 200 ms in which it holds a transaction.

        A server that ends a connection while a request arrives resets it, and its last message may be lost.
        """
        with psycopg.connect(URL, autocommit=True) as other:
            for _ in range(1500):
                ended = other.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE state = 'idle in transaction' AND application_name = %s "
                    "AND clock_timestamp() - state_change BETWEEN interval '20 ms' AND interval '100 ms'",
                    (self.schema,),
                ).fetchone()[0]
                if ended:
                    return
                time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
