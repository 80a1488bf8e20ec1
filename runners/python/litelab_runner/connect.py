"""Applying settings to a connection and reading them back, with the same SQL for every driver."""

from time import monotonic, sleep

from . import codes
from .driver import Fault, Session


def apply(session: Session, settings: list[dict]) -> None:
    """Applies the settings in order."""
    session.script([setting["sql"] for setting in settings])


def script(session: Session, statements: list[str]) -> None:
    """Runs each statement to completion and discards its rows."""
    for sql in statements:
        try:
            for _ in session.run(sql):
                pass
        except Exception as error:
            raise Fault.of(error, session.code(error), sql) from error


def read_back(session: Session, names: list[str]) -> dict:
    """Returns the value of each PRAGMA after one read transaction.

    Some settings take effect at the first read of the file only.
    """
    script(session, ["SELECT count(*) FROM sqlite_schema"])
    values = {}
    for name in names:
        row = next(iter(session.run(f"PRAGMA {name}")), (None,))
        values[name] = row[0]
    # An unread row would keep its statement, and so a read transaction, open.
    script(session, ["SELECT 1"])
    return values


# Seconds to wait for a lock held by another process of the trial.
PATIENCE = 10.0


def settings_at_end(session: Session, names: list[str]) -> dict:
    """Returns the settings after all workers have ended.

    Returns no settings if the database cannot be queried; the core checks the state of the database itself.
    """
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
    """Returns the options. Rejects unknown ones, because every option is meant to have an effect."""
    for name in options:
        if name not in known:
            raise Fault(f"option `{name}`: this driver has {', '.join(sorted(known)) or 'none'}")
    return dict(options)


def address(database: dict) -> tuple[str, bool]:
    """Returns the file name to open, and whether it is a URI."""
    match database:
        case {"kind": "file", "path": path}:
            return path, False
        case {"kind": "memory", "shared": True, "name": name}:
            return f"file:{name}?mode=memory&cache=shared", True
        case {"kind": "memory"}:
            return ":memory:", False
    raise Fault(f"database of kind `{database.get('kind')}`")
