"""Connections opened by a data source name as an application opens them, and the trial of an upgrade on them."""

from . import codes
from .driver import Fault, Session

# The first INSERT violates the constraint in a database in memory, which has no file.
_TABLE = "CREATE TABLE litelab_upgrade(a CHECK (a <> ''))"
_FILE = "INSERT INTO litelab_upgrade SELECT file FROM pragma_database_list WHERE name = 'main'"
_READ = "SELECT count(*) FROM litelab_upgrade"
_WRITE = "INSERT INTO litelab_upgrade VALUES (1)"
_DROP = "DROP TABLE litelab_upgrade"


def inspect(driver: type[Session], request: dict) -> dict:
    """Opens all connections at the same time and adds nothing to what the driver does."""
    sessions, connections = [], []
    for _ in range(request["connections"]):
        try:
            session = driver.by_dsn(request["dsn"], request["options"])
            sessions.append(session)
            session.script([setting["sql"] for setting in request["settings"]])
            settings = session.settings(request["read_back"])
            session.abandon()
        except Exception as error:
            raise Fault.of(error, driver.code(error)) from error
        connections.append({"database": 0, "label": "connection", "settings": settings})
    outcome = upgrade(*sessions[:2]) if len(sessions) > 1 else None
    for session in sessions:
        session.close()
    return {"connections": connections, **({"upgrade": outcome} if outcome else {})}


def upgrade(a: Session, b: Session) -> str | None:
    """Reads in a transaction of `a`, writes through `b`, and then writes in the transaction of `a`.

    Returns the outcome as in the protocol, or None for a database that is read-only or in memory.
    """
    try:
        _alone(b, _TABLE)
    except Fault as fault:
        if _is(fault, "SQLITE_READONLY"):
            return None
        raise
    try:
        _alone(b, _FILE)
        # SQLite calls no busy handler for an upgrade; a write that is none waits for at most a second.
        a.script(["PRAGMA busy_timeout = 1000"])
        b.script(["PRAGMA busy_timeout = 0"])
        return _tried(a, b)
    except Fault as fault:
        if _is(fault, "SQLITE_CONSTRAINT"):
            return None
        raise
    finally:
        a.abandon()
        if b.connection.in_transaction:
            b.script(["ROLLBACK"])
        _alone(b, _DROP)


def _tried(a: Session, b: Session) -> str:
    a.begin()
    a.script([_READ])
    if _locked(b, "BEGIN IMMEDIATE"):
        return "immediate"
    # With a rollback journal the commit is refused while `a` reads, and the transaction stays open.
    _locked(b, _WRITE, "COMMIT")
    return "fails" if _locked(a, _WRITE) else "succeeds"


def _alone(session: Session, sql: str) -> None:
    """Runs a statement that commits by itself, also on a connection whose module begins transactions."""
    for statement in ("COMMIT", sql, "COMMIT"):
        if statement != "COMMIT" or session.connection.in_transaction:
            session.script([statement])


def _locked(session: Session, *statements: str) -> bool:
    """Runs statements and returns whether one was refused because of another connection."""
    try:
        session.script(list(statements))
        return False
    except Fault as fault:
        if _is(fault, "SQLITE_BUSY", "SQLITE_LOCKED"):
            return True
        raise


def _is(fault: Fault, *names: str) -> bool:
    return fault.code is not None and codes.primary(fault.code) in names
