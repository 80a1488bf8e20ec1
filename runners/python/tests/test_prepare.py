"""`once` compiles a statement once per connection, `each` at every execution."""

import unittest

from litelab_runner.driver import Memory, find
from litelab_runner.statement import fetching_buffer
from litelab_runner.transaction import compile

from . import runs

MEMORY = {"kind": "memory", "shared": False, "name": "x"}
CONNECTION = {"settings": [], "read_back": [], "options": {}}


class Buffers(unittest.TestCase):
    def test_the_query_has_returned_before_its_rows_are_collected(self):
        memory, test = Memory(), self

        class Cursor:
            def fetchall(self):
                test.assertIsNotNone(memory.query)
                test.assertIsNone(memory.first_row)
                return [(1,)]

        one = fetching_buffer(lambda _sql, _values: Cursor(), "SELECT 1", None, [], True)
        self.assertEqual(one((), memory), 1)
        self.assertIsNotNone(memory.first_row)


class Prepares(unittest.TestCase):
    def compiled(self, driver: str, prepare: str, statements: int) -> int:
        """Counts compilations in ten executions of each statement: SQLite calls the authorizer at each of them."""
        session = find(driver)(MEMORY, CONNECTION, prepare, statements)
        session.script([runs.SCHEMA])
        asked = []

        def authorize(action, *_):
            # SQLITE_INSERT
            asked.append(action == 18)
            return 0

        session.connection.set_authorizer(authorize)
        inserts = [
            runs.transaction("t", [], runs.statement(f"INSERT INTO kv(k, v) VALUES ({n}, 'x')", []))
            for n in range(statements)
        ]
        attempts = [compile(session, insert) for insert in inserts]
        asked.clear()
        for _ in range(10):
            for attempt in attempts:
                self.assertEqual(attempt((), Memory()), 1)
        session.close()
        return sum(asked)

    def test_a_repeated_statement_is_compiled_each_time(self):
        for driver in ("sqlite3", "apsw"):
            session = find(driver)(MEMORY, CONNECTION, "each", 1)
            session.script([runs.SCHEMA])
            asked = []
            insert = runs.statement("INSERT INTO kv(k, v) VALUES (?1, 'x')", [0], repeat=50)
            attempt = compile(session, runs.transaction("t", [runs.param("k", "worker")], insert))
            session.connection.set_authorizer(lambda action, *_, asked=asked: asked.append(action == 18) or 0)
            self.assertEqual(attempt([(1,)] * 50, Memory()), 50)
            session.close()
            self.assertEqual(sum(asked), 50)

    def test_once_and_each(self):
        for driver in ("sqlite3", "apsw"):
            for statements in (1, 300):
                with self.subTest(driver=driver, statements=statements):
                    self.assertEqual(self.compiled(driver, "once", statements), statements)
                    self.assertEqual(self.compiled(driver, "each", statements), 10 * statements)
