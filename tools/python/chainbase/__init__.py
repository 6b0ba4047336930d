"""Reads chainbase states: the objects of a node's state, by key, in ranges and as columns.

    import chainbase

    with chainbase.open("state") as state:
        accounts = state["account"]
        print(len(accounts), accounts["by_name", "alice"])
        columns = accounts.columns(["id", "balance"])

A state is opened read-only, whether a node runs on it or not, and its types are read from its own
catalogue. Everything raised by the library is a subclass of `chainbase.Error`, in its words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _chainbase
from ._chainbase import (
    AccessError,
    BusyError,
    DamagedError,
    DuplicateKeyError,
    Error,
    FormatError,
    IoError,
    LimitError,
    LockedError,
    NotFoundError,
    OutOfSpaceError,
    ReplacedError,
    SchemaError,
    TooFarBehindError,
    TooOldError,
    UncleanError,
    UsageError,
    __version__,
)

if TYPE_CHECKING:
    import numpy

__all__ = [
    "open", "verify", "State", "Block", "Table", "Arrow", "Row", "Ragged", "Field", "Key", "Root",
    "Proof", "Feed", "Entry", "Change", "Error", "AccessError", "BusyError", "DamagedError",
    "DuplicateKeyError", "FormatError", "IoError", "LimitError", "LockedError", "MissingWheelError",
    "NotFoundError", "OutOfSpaceError", "ReplacedError", "SchemaError", "TooFarBehindError",
    "TooOldError", "UncleanError", "UsageError", "__version__",
]


class MissingWheelError(Error, ImportError):
    """A call needs a Python package that is not installed; the message names it."""


def _wheel(name: str, call: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as problem:
        wheel = name.partition(".")[0]
        raise MissingWheelError(
            f"{call} needs {wheel}, which is not installed; pip install {wheel}"
        ) from problem


# --- rows ---


class Row(tuple):
    """An object, immutable: `row.balance`, `row["balance"]`, `row[2]`.

    It is the tuple of its values in the order of `row.fields`, so rows compare, hash and unpack as
    tuples do. A struct in it is a row of its own. Where a field is called as a method is, only
    `row["asdict"]` has it.
    """

    __slots__ = ()
    fields: tuple[str, ...] = ()
    _type = ""
    _places: dict[str, int] = {}

    def __getitem__(self, which):
        if isinstance(which, str):
            try:
                which = self._places[which]
            except KeyError:
                raise KeyError(f"{self._type} has no field {which!r}") from None
        return tuple.__getitem__(self, which)

    def asdict(self) -> dict[str, Any]:
        """The values by field, those of structs too."""
        return {name: _plain(value) for name, value in zip(self.fields, self)}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in zip(self.fields, self))
        return f"{self._type}({values})"

    def __reduce__(self):
        return _row_of, (self._type, self.fields, tuple(self))


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.asdict()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _row_class(name: str, fields: tuple[str, ...]) -> type[Row]:
    def getter(place: int) -> property:
        return property(lambda self: tuple.__getitem__(self, place))

    hidden = {"fields", "asdict", "_type", "_places"}
    members: dict[str, Any] = {
        field: getter(place) for place, field in enumerate(fields)
        if field not in hidden and not field.startswith("__")
    }
    members.update(__slots__=(), fields=fields, _type=name,
                   _places={field: place for place, field in enumerate(fields)})
    return type(name, (Row,), members)


def _row_of(name: str, fields: tuple[str, ...], values: tuple) -> Row:
    return tuple.__new__(_row_class(name, fields), values)


class Ragged(Sequence):
    """Texts or vectors of a column: value i lies in `values` from `offsets[i]` to `offsets[i + 1]`.

    `values` is a NumPy array (of bytes, for texts), another `Ragged`, or a dict of columns where the
    elements are structs. `ragged[i]` is a `str` (`bytes`, if it is no UTF-8) or a part of `values`.
    """

    def __init__(self, offsets: numpy.ndarray, values: Any, is_text: bool = False):
        self.offsets = offsets
        self.values = values
        self.is_text = is_text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, which):
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(len(self)))]
        if which < 0:
            which += len(self)
        if not 0 <= which < len(self):
            raise IndexError(which)
        begin, end = int(self.offsets[which]), int(self.offsets[which + 1])
        if isinstance(self.values, dict):
            return {name: column[begin:end] for name, column in self.values.items()}
        part = self.values[begin:end]
        if not self.is_text:
            return part
        content = part.tobytes()
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content

    def __repr__(self) -> str:
        return f"Ragged({len(self)} {'texts' if self.is_text else 'vectors'})"


# --- what a type is ---


class Field(NamedTuple):
    """A field of a type, as the catalogue describes it (chainbase/object/schema.hpp)."""

    name: str
    type: str
    offset: int
    bytes: int


class Key(NamedTuple):
    """A key of a type. `parts` are (field, is descending); `kind` is as "hashed_unique"."""

    name: str
    kind: str
    parts: tuple[tuple[str, bool], ...]

    @property
    def is_unique(self) -> bool:
        return "non_unique" not in self.kind

    @property
    def is_ordered(self) -> bool:
        return not self.kind.startswith("hashed")


class Table:
    """The objects of a type of a state, or of a block.

    `len(table)` and iteration are of the objects in memory, by id.
    """

    def __init__(self, of: _chainbase.Table, state: _Readable):
        self._of = of
        self._state = state
        its = of.schema()
        self.name: str = its["name"]
        self.fields: tuple[Field, ...] = tuple(Field(*one) for one in its["fields"])
        self.keys: dict[str, Key] = {one[0]: Key(*one) for one in its["keys"]}
        #: name, fields, keys, bytes of an object and of its node, hash of the layout
        self.schema: dict[str, Any] = its

    def __repr__(self) -> str:
        return f"<chainbase.Table {self.name} of {self._state.name}>"

    def __len__(self) -> int:
        return self._of.count()

    def get(self, id: int, *, archive: bool = True) -> Row | None:
        """The object with this id, in memory or (unless `archive` is false) in the archive."""
        return self._of.get(id, archive)

    def find(self, key: str, *parts: Any, archive: bool = True) -> Row | None:
        """The object with this key, the first of those that share it; None if there is none.

        All parts of the key are needed. Values are as rows have them.
        """
        return self._of.find(key, parts, archive)

    def find_all(self, key: str, *parts: Any, archive: bool = True) -> list[Row]:
        """All objects with this key: those in memory, then those in the archive."""
        return self._of.find_all(key, parts, archive)

    def __getitem__(self, which) -> Row:
        """`table[7]`, `table["by_name", "alice"]`. Raises NotFoundError if there is none."""
        key, *parts = which if isinstance(which, tuple) else ("id", which)
        found = self._of.find(key, tuple(parts), True)
        if found is None:
            raise NotFoundError(f"{self._state.name}: no {self.name} has {key} "
                                f"{', '.join(map(repr, parts))}, in memory or in the archive")
        return found

    def __contains__(self, which) -> bool:
        key, *parts = which if isinstance(which, tuple) else ("id", which)
        return self._of.find(key, tuple(parts), True) is not None

    def __iter__(self) -> Iterator[Row]:
        return self.range()

    def range(self, key: str = "id", *parts: Any, first: Any = None, last: Any = None,
              reverse: bool = False, archive: bool = False) -> Iterator[Row]:
        """Objects in the order of a key.

        With `parts`, only those whose key begins with them. `first` and `last` are the next part, or
        a tuple of parts, and are included, as is every key that begins with `last`. Reads ahead in
        turns that hold nobody up. `archive`: also objects that are only in the archive, each in its
        place; not with `reverse`, and only by the id and keys of the archive.
        """
        return self._of.range(key, _bound(parts, first), _bound(parts, last), reverse, archive)

    def columns(self, names: Sequence[str] | None = None, *,
                archive: bool = False) -> dict[str, numpy.ndarray | Ragged]:
        """All objects by id, field by field, as NumPy arrays that nobody else refers to.

        Always of one block. A struct is a column for each member, `a.b`; `names` are fields,
        structs or members. Texts and vectors are `Ragged`, integers of 128 bits are structured, and
        fixed texts `S<N>`. Raises TooOldError if the block cannot be read to the end.
        """
        _wheel("numpy", "columns()")
        return self._of.columns(list(names or ()), archive, Ragged)

    def arrow(self, names: Sequence[str] | None = None, *, archive: bool = False,
              texts: Literal["utf8", "binary"] = "utf8", rows: int = 65536) -> Arrow:
        """What every reader of Arrow takes: `pyarrow.table(table.arrow(["id", "name"]))`.

        `rows`: of a batch, at most. A text that is no UTF-8 ends the stream with an error unless
        texts are "binary".
        """
        if texts not in ("utf8", "binary"):
            raise UsageError(f'texts are "utf8" or "binary", and not {texts!r}')
        if rows < 1:
            raise UsageError("a batch has at least one row")
        return Arrow(self, list(names or ()), archive, texts == "binary", rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, names: Sequence[str] | None = None, *, archive: bool = False):
        """A pandas.DataFrame, by pandas and pyarrow."""
        _wheel("pandas", "to_pandas()")
        return self._reader("to_pandas()", names, archive).read_all().to_pandas()

    def to_parquet(self, path: str | PathLike, names: Sequence[str] | None = None, *,
                   archive: bool = False, **options: Any) -> int:
        """Writes a Parquet file, batch after batch, by pyarrow; returns the number of rows.

        `options` are those of pyarrow.parquet.ParquetWriter.
        """
        parquet = _wheel("pyarrow.parquet", "to_parquet()")
        batches = self._reader("to_parquet()", names, archive)
        rows = 0
        with parquet.ParquetWriter(path, batches.schema, **options) as file:
            for batch in batches:
                file.write_batch(batch)
                rows += batch.num_rows
        return rows

    def to_duckdb(self, connection, name: str | None = None, names: Sequence[str] | None = None, *,
                  archive: bool = False):
        """Makes a table of DuckDB, called as the type unless `name` says otherwise; returns its
        relation. By duckdb and pyarrow."""
        _wheel("duckdb", "to_duckdb()")
        name = name or self.name
        batches = self._reader("to_duckdb()", names, archive)
        quoted = '"' + name.replace('"', '""') + '"'
        connection.register("chainbase_batches", batches)
        try:
            connection.execute(f"create table {quoted} as select * from chainbase_batches")
        finally:
            connection.unregister("chainbase_batches")
        return connection.table(quoted)

    def _reader(self, call: str, names: Sequence[str] | None, archive: bool):
        pyarrow = _wheel("pyarrow", call)
        return pyarrow.RecordBatchReader.from_stream(self.arrow(names, archive=archive))

    def row(self, record: bytes) -> Row:
        """The object of a record (archive/record), as `Proof.record` has it."""
        return self._of.row(record)


def _bound(parts: tuple, more: Any) -> tuple | None:
    if more is None:
        return parts or None
    # A row or a tuple is several parts; a key whose only part is an array is given as ((1, 2),).
    return parts + (tuple(more) if isinstance(more, tuple) else (more,))


class Arrow:
    """Objects as a stream of record batches, for whoever takes the Arrow PyCapsule interface.

    Each call of `__arrow_c_stream__` begins a stream of its own, of one block.
    """

    def __init__(self, table: Table, names: list[str], archive: bool, binary: bool, rows: int):
        self._table = table
        self._how = (names, binary, rows, archive)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table._of.stream(*self._how)


# --- states ---


class Root(NamedTuple):
    """The root that a state keeps: 32 bytes that commit to its objects."""

    digest: bytes
    revision: int  #: of the state when it was made
    objects: int  #: that it commits to
    is_current: bool  #: whether it is that of the state's newest block
    types: dict[str, int]  #: objects by type


class Proof(NamedTuple):
    """Shows to whoever knows only a root that an object is in its state, or that there is none."""

    type: str
    id: int
    record: bytes | None  #: the object's bytes (archive/record); None: there is no such object
    path: bytes

    def verify(self, root: bytes | str) -> Literal["included", "excluded", "invalid"]:
        return verify(self, root)


def verify(proof: Proof, root: bytes | str) -> Literal["included", "excluded", "invalid"]:
    """What a proof shows against a root (32 bytes, or as many hexadecimal digits).

    "included": the state of this root has the object, with the content of the record. "excluded":
    the root commits to no such object. Needs no state.
    """
    try:
        digest = bytes.fromhex(root) if isinstance(root, str) else bytes(root)
    except ValueError as problem:
        raise UsageError(f"{root!r} is no root: 64 hexadecimal digits") from problem
    return _chainbase.verify(digest, proof.type, proof.id, proof.record, proof.path)


class _Tables(Mapping):
    """Tables by the names of their types, in the order in which the program registered them."""

    def __init__(self, of: _Readable):
        self._of = of

    def __getitem__(self, type: str) -> Table:
        try:
            return self._of[type]
        except UsageError as problem:
            raise KeyError(str(problem)) from problem

    def __iter__(self) -> Iterator[str]:
        return iter(self._of._opened.types())

    def __len__(self) -> int:
        return len(self._of._opened.types())


class _Readable:
    def __init__(self, opened: _chainbase.Opened):
        self._opened = opened
        self._tables: dict[str, Table] = {}

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its use. What was read stays; tables and iterators raise UsageError from now on."""
        self._opened.close()

    @property
    def closed(self) -> bool:
        return self._opened.closed

    @property
    def name(self) -> str:
        """As it was opened."""
        return self._opened.name

    @property
    def revision(self) -> int:
        return self._opened.revision()

    @property
    def is_rolled_back(self) -> bool:
        """Whether its writer died, and what is read is its last completed block, in a copy."""
        return self._opened.is_rolled_back

    @property
    def types(self) -> Mapping[str, Table]:
        return _Tables(self)

    def __getitem__(self, type: str) -> Table:
        """The objects of a type. Raises UsageError listing the types if there is none."""
        found = self._tables.get(type)
        if found is None:
            found = Table(self._opened.table(type, _row_class), self)
            self._tables[type] = found
        return found

    @property
    def root(self) -> Root | None:
        """None: the state keeps no root."""
        found = self._opened.root()
        return found and Root(*found)

    @property
    def block(self) -> Row | None:
        """The newest block that chainbase-driver applied: number, timestamp, id; None in a state of
        another program."""
        if "applied_block" not in self.types:
            return None
        return next(self["applied_block"].range(reverse=True), None)


class Block(_Readable):
    """A state as of one block. Make it with `State.at_block()`."""

    def __init__(self, opened: _chainbase.Opened):
        super().__init__(opened)
        self._prover: _chainbase.Prover | None = None

    def __repr__(self) -> str:
        return f"<chainbase.Block of {self.name}>"

    def prove(self, type: str, id: int) -> Proof:
        """Proves that the object is in this block, or that it is not, against `root.digest`.

        The first call hashes all objects that the root commits to: some 0.3 s a million.
        """
        if self._prover is None:
            self._prover = _chainbase.Prover(self._opened)
        return Proof(type, id, *self._prover.prove(type, id))


class State(_Readable):
    """A state that is open: each call reads its newest block."""

    def __repr__(self) -> str:
        return f"<chainbase.State {self.name}>"

    def at_block(self) -> Block:
        """The newest block, for all reads of it, while the writer goes on. Close it soon: it can be
        read until it is undone or the log has gone on too far (TooOldError)."""
        return Block(self._opened.at_block())

    def prove(self, type: str, id: int) -> Proof:
        """Block.prove of the newest block. For several proofs make one block: each call here hashes
        all objects anew."""
        with self.at_block() as block:
            return block.prove(type, id)

    def feed(self, *, cursor: str | None = None, from_revision: int | None = None) -> Feed:
        """What each block changes, from a cursor on or, without keeping anything, from a revision on.

        A cursor is kept in the state's folder, and makes the node write its feed; so it needs the
        permissions of the state's owner. `chainbase-inspect feed STATE --drop NAME` ends it.
        """
        if (cursor is None) == (from_revision is None):
            raise UsageError("give a cursor, or a revision to begin from")
        return Feed(_chainbase.Feed(self._opened, cursor, from_revision, _row_class))


def open(name: str | PathLike) -> State:
    """Opens a state to read: its folder, whether it is written meanwhile or not;
    "FOLDER@checkpoint" or "FOLDER@checkpoint:7", one of its checkpoints; or the folder of a snapshot,
    of which a temporary state is made. A copy of a checkpoint or snapshot is in TMPDIR, or in memory,
    until it is closed."""
    return State(_chainbase.Opened(fspath(name)))


# --- the feed ---


class Change(NamedTuple):
    """What an entry did to an object. `kind`: "created", "modified", "removed", "archived" (it left
    memory for the archive), "unarchived" (in a pop: it is back)."""

    type: str
    id: int
    kind: str
    before: Row | None
    after: Row | None


class Entry(NamedTuple):
    """A block with its changes, each object once; a pop, whose changes lead back to the block before;
    or "irreversible": up to this revision nothing is undone any more."""

    kind: Literal["block", "pop", "irreversible"]
    revision: int
    serial: int  #: tells apart blocks of one revision
    changes: tuple[Change, ...]
    next_ids: dict[str, int]


class Feed:
    """Entries of a state's feed, in order, each once. Iteration ends where nothing was told yet;
    `follow()` waits. One thread at a time."""

    def __init__(self, of: _chainbase.Feed):
        self._of = of

    @property
    def is_new(self) -> bool:
        """Whether its cursor has not begun: call begin()."""
        return self._of.is_new()

    def begin(self) -> Block:
        """Begins, or begins anew, at the newest block, and returns it: the first entry changes what it
        shows. Raises BusyError if no node writes the feed."""
        return Block(self._of.begin())

    def next(self) -> Entry | None:
        """The next entry; None: there is none yet. Raises TooFarBehindError if the feed does not go
        on from here; then begin() anew."""
        found = self._of.next()
        if found is None:
            return None
        kind, revision, serial, changes, next_ids = found
        return Entry(kind, revision, serial, tuple(Change(*one) for one in changes), next_ids)

    def __iter__(self) -> Iterator[Entry]:
        while (entry := self.next()) is not None:
            yield entry

    def follow(self, timeout: float | None = None) -> Iterator[Entry]:
        """As iteration, and waits for entries to come: until none came for `timeout` seconds, or for
        ever."""
        last = time.monotonic()
        while True:
            entry = self.next()
            if entry is not None:
                yield entry
                last = time.monotonic()
            elif timeout is not None and time.monotonic() - last > timeout:
                return
            else:
                time.sleep(0.005)

    @property
    def position(self) -> int:
        """Behind the last entry. Store it with what was made of the entries, and `go_to` it after a
        restart: then each entry counts exactly once."""
        return self._of.position()

    @property
    def revision(self) -> int:
        """Of the state after the last entry."""
        return self._of.revision()

    def go_to(self, position: int) -> None:
        self._of.go_to(position)

    def keep(self) -> None:
        """The cursor says, on storage, that all entries until here need not come again."""
        self._of.keep()
