"""Setting a connection, and asking what took effect: the same SQL for every driver."""

from time import monotonic, sleep

from . import codes
from .driver import Fault, Session


def apply(session: Session, settings: list[dict]) -> None:
    """In order, each run to its end."""
    session.script([setting["sql"] for setting in settings])


def script(session: Session, statements: list[str]) -> None:
    """Runs each to its end and drops its rows."""
    for sql in statements:
        try:
            for _ in session.run(sql):
                pass
        except Exception as error:
            raise Fault.of(error, session.code(error), sql) from error


def read_back(session: Session, names: list[str]) -> dict:
    """The value of each PRAGMA after one read transaction: some are only decided when the file is first read."""
    script(session, ["SELECT count(*) FROM sqlite_schema"])
    values = {}
    for name in names:
        row = next(iter(session.run(f"PRAGMA {name}")), (None,))
        values[name] = row[0]
    # A row left behind would keep its statement, and so a read transaction, open.
    script(session, ["SELECT 1"])
    return values


# Seconds for which a lock is waited for that another process of the trial holds.
PATIENCE = 10.0


def settings_at_end(session: Session, names: list[str]) -> dict:
    """What is set when all workers have ended. Empty where the database does not let itself be asked: what became of it
    the core sees for itself."""
    patient_until = monotonic() + PATIENCE
    while True:
        try:
            return session.settings(names)
        except Exception as error:
            code = error.code if isinstance(error, Fault) else session.code(error)
            if code is None:
                raise
            if codes.primary(code) not in ("SQLITE_BUSY", "SQLITE_LOCKED") or monotonic() > patient_until:
                return {}
            sleep(0.001)


def chosen(options: dict, known: set[str]) -> dict:
    """The options, refused where the driver has none of that name: it was meant to have an effect."""
    for name in options:
        if name not in known:
            raise Fault(f"option `{name}`: this driver has {', '.join(sorted(known)) or 'none'}")
    return dict(options)


def address(database: dict) -> tuple[str, bool]:
    """The file name to open, and whether it is a URI."""
    match database:
        case {"kind": "file", "path": path}:
            return path, False
        case {"kind": "memory", "shared": True, "name": name}:
            return f"file:{name}?mode=memory&cache=shared", True
        case {"kind": "memory"}:
            return ":memory:", False
    raise Fault(f"database of kind `{database.get('kind')}`")
