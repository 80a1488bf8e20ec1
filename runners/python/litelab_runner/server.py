"""What connections to a server have in common: where they go, how long they wait, and another one when one is lost."""

import re
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any
from urllib.parse import parse_qsl, unquote

from .connect import chosen
from .driver import Fault

# Seconds that a connection waits, so that a server that has died or stopped hangs no run.
CONNECT_PATIENCE = 5
ANSWER_PATIENCE = 30
# How long a worker tries to have a connection again before its trial has failed.
REOPEN_PATIENCE = 10
_REOPEN_PAUSE = 0.05

_FORM = re.compile(r"([a-z]+)://(?:([^@/?]*)@)?([^@/?]+)(?:/([^?]*))?(?:\?(.*))?")


class Address:
    """A server's url in its parts: `scheme://user:password@host:port,host:port/database?key=value`."""

    def __init__(self, url: str, scheme: str, port: int):
        """What it says of a mistake has no password in it."""
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
        """The url's keys and the options together, of which the driver documents these."""
        return chosen({**self.keys, **options}, documented)


class Lost(Exception):
    """A connection failed and the server has not said why; `name` is one of the codes of connections."""

    def __init__(self, name: str, error: Exception):
        super().__init__(str(error))
        self.name = name


class Link:
    """A connection to one of several hosts, opened again at the next one when it is lost."""

    def __init__(self, opens: list[Callable[[], Any]], place: int):
        """`opens` are how to open and set one at each host; `place` is the one to begin with."""
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
        """Takes a connection in place of one that is lost."""
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
    """A value as a server prints it: a number where it is one."""
    if text is None or not re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?", text):
        return text
    return int(text) if re.fullmatch("[-+]?[0-9]+", text) else float(text)
