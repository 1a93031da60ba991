"""The exceptions. The one place that turns an error of the library into one, python/src/errors.cc, calls `make`."""

from tessera._tessera import Problem


class TesseraError(Exception):
    """What the library refuses: bytes, text or arguments from outside that are not in order."""

    code: str
    """Stable name of the kind of error; docs/errors.md lists them."""
    where: str
    """Path or object, such as `struct_types[3].structure.field[1]`; may be empty."""
    what: str
    """What is wrong."""
    fix: str
    """What would be right; may be empty."""

    def __init__(self, code: str, where: str, what: str, fix: str = "") -> None:
        Exception.__init__(self, code, where, what, fix)
        self.code = code
        self.where = where
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return str(Problem(self.code, self.where, self.what, self.fix))


class FileAccessError(TesseraError, OSError):
    """A file that cannot be opened, read or written. `filename` is its path."""

    def __init__(self, code: str, where: str, what: str, fix: str = "") -> None:
        super().__init__(code, where, what, fix)
        self.filename = where


class NotFoundError(TesseraError, KeyError):
    """A name that a model or a value does not have."""


_CLASSES: dict[str, type[TesseraError]] = {
    "file-open": FileAccessError,
    "file-kind": FileAccessError,
    "file-read": FileAccessError,
    "file-write": FileAccessError,
    "no-such-value": NotFoundError,
    "no-such-leaf": NotFoundError,
}


def make(code: str, where: str, what: str, fix: str) -> TesseraError:
    """The exception for an error of the library."""
    return _CLASSES.get(code, TesseraError)(code, where, what, fix)
