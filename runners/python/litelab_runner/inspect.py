"""The verb `inspect`: opens connections as an application would and reports the settings in effect."""

from . import PROTOCOL, dsn
from .driver import Fault, find


def inspect(request: dict | None) -> dict:
    """Opens all connections at the same time, as in the application."""
    if request is None:
        raise Fault("no request on standard input")
    if request["protocol"] != PROTOCOL:
        raise Fault(f"protocol {request['protocol']} is not {PROTOCOL}")
    driver = find(request["driver"])
    if driver.dialect != "sqlite":
        raise Fault(f"driver `{request['driver']}` opens a server of {driver.dialect}, and no file to be inspected")
    if request.get("dsn") is not None:
        return dsn.inspect(driver, request)
    database = {"kind": "file", "path": request["database"]}
    sessions = []
    connections = []
    for _ in range(request["connections"]):
        try:
            session = driver(database, request)
            sessions.append(session)
            settings = session.settings(request["read_back"])
        except Exception as error:
            raise Fault.of(error, driver.code(error)) from error
        connections.append({"database": 0, "label": "connection", "settings": settings})
    for session in sessions:
        session.close()
    return {"connections": connections}
