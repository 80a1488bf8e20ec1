"""The common part of server connections: addresses, timeouts, and the replacement of lost connections."""

import re
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any
from urllib.parse import parse_qsl, unquote

from .connect import chosen
from .driver import Fault

# Timeouts in seconds, so that a dead or stopped server does not block a run forever.
CONNECT_PATIENCE = 5
ANSWER_PATIENCE = 30
# Seconds for which a worker tries to replace a lost connection before its trial fails. A killed server that starts again
# must first replay its log.
REOPEN_PATIENCE = 30
_REOPEN_PAUSE = 0.05

_FORM = re.compile(r"([a-z]+)://(?:([^@/?]*)@)?([^@/?]+)(?:/([^?]*))?(?:\?(.*))?")


class Address:
    """The parts of a server url: `scheme://user:password@host:port,host:port/database?key=value`."""

    def __init__(self, url: str, scheme: str, port: int):
        """Parses a url. Its errors never contain the password."""
        parts = _FORM.fullmatch(url)
        if parts is None or parts[1] != scheme:
            raise Fault(f"the url is to be {scheme}://user:password@host:port")
        user, _, password = (parts[2] or "").partition(":")
        self.user, self.password = unquote(user), unquote(password)
        self.database = unquote(parts[4] or "")
        self.keys = dict(parse_qsl(parts[5] or ""))
        self.hosts = [self._host(text, port) for text in parts[3].split(",")]

    @staticmethod
    def _host(text: str, port: int) -> tuple[str, int]:
        form = re.fullmatch(r"(\[[^\]]+\]|[^:\[\]]+)(?::([0-9]+))?", text)
        if form is None or int(form[2] or port) > 65535:
            raise Fault(f"`{text}` in the url is no host:port")
        return form[1].strip("[]"), int(form[2] or port)

    def options(self, options: dict, documented: set[str]) -> dict:
        """Merges the keys of the url with the options. Rejects those that the driver does not document."""
        return chosen({**self.keys, **options}, documented)


class Lost(Exception):
    """A connection failed without an error from the server. `name` is one of the connection error names."""

    def __init__(self, name: str, error: Exception):
        super().__init__(str(error))
        self.name = name


class Link:
    """A connection to one of several hosts, replaced by one to the next host when it is lost."""

    def __init__(self, opens: list[Callable[[], Any]], place: int):
        """`opens` contains a function per host that opens a connection; `place` is the first host to use."""
        self._opens, self._at = opens, place % len(opens)
        self.connection = self._open()

    def _open(self) -> Any:
        """Tries each host once."""
        for left in reversed(range(len(self._opens))):
            try:
                return self._opens[self._at]()
            except Exception:
                self._at = (self._at + 1) % len(self._opens)
                if not left:
                    raise

    def reopen(self) -> None:
        """Replaces a lost connection."""
        self._at = (self._at + 1) % len(self._opens)
        start = monotonic()
        while True:
            try:
                self.connection = self._open()
                return
            except Exception:
                if monotonic() - start > REOPEN_PATIENCE:
                    raise
            sleep(_REOPEN_PAUSE)


def printed(text: str | None) -> int | float | str | None:
    """Converts a value printed by a server, to a number if possible."""
    if text is None or not re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?", text):
        return text
    return int(text) if re.fullmatch("[-+]?[0-9]+", text) else float(text)
