"""Columns have what rows have, for NumPy and for whoever reads Arrow."""

import ctypes
import math

import chainbase
import pytest
from programs import program

numpy = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def states(session_scratch, samples):
    kinds = session_scratch / "kinds in columns"
    program("every_kind")(kinds, "session", "fill 15", "push", "commit")
    return {"every_kind": kinds, **{what: samples(what) for what in
                                    ("sample", "fields", "many", "notes.rocksdb", "notes.memory")}}


def plain(value, text=False):
    """A value of a row, without classes."""
    if isinstance(value, chainbase.Row):
        return {name: plain(value[name]) for name in value.fields}
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value


def member(row, path):
    for name in path.split("."):
        row = row[name]
    return plain(row)


def of_array(column, place):
    """Value `place` of a column, as a row has it."""
    if isinstance(column, dict):
        return {name: of_array(one, place) for name, one in column.items()}
    if isinstance(column, chainbase.Ragged):
        begin, end = column.offsets[place], column.offsets[place + 1]
        if column.is_text:
            return column[place]
        if isinstance(column.values, numpy.ndarray) and column.values.dtype == numpy.uint8:
            return column.values[begin:end].tobytes()
        return [of_array(column.values, i) for i in range(begin, end)]
    return of_scalar(column[place])


def of_scalar(value):
    if isinstance(value, numpy.ndarray):
        return [of_scalar(one) for one in value]
    if value.dtype.names:
        return int(value["low"]) + (int(value["high"]) << 64)
    if value.dtype.kind == "S":
        return text_of(bytes(value))
    if value.dtype.kind == "V":
        return value.tobytes()
    return value.item()


def text_of(content):
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def is_equal(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(is_equal, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(is_equal(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


WHAT = ("every_kind", "sample", "fields", "many", "notes.rocksdb", "notes.memory")


@pytest.mark.parametrize("archive", (False, True))
@pytest.mark.parametrize("what", WHAT)
def test_columns_are_the_rows(states, what, archive):
    with chainbase.open(states[what]) as state:
        for table in state.types.values():
            if table.name.startswith("archive."):
                continue
            rows = list(table.range(archive=archive))
            columns = table.columns(archive=archive)
            for path, column in columns.items():
                length = len(column)
                assert length == len(rows), path
                for place, row in enumerate(rows):
                    assert is_equal(of_array(column, place), member(row, path)), (table.name, path, place)


def test_some_columns(states):
    with chainbase.open(states["fields"]) as state:
        table = state["everything"]
        assert list(table.columns(["low", "one", "id"])) == ["low", "one.amount", "one.unit", "one.fixed", "id"]
        assert list(table.columns(["one.unit"])) == ["one.unit"]
        ids = table.columns(["id"])["id"]
        assert ids.dtype == numpy.uint32 and ids.flags.writeable is not None
        ids.sort()  # it is the caller's own
    assert ids[0] >= 0  # also after the state was closed


def test_of_no_objects(states):
    with chainbase.open(states["sample"]) as state:
        for table in state.types.values():
            if len(table) == 0:
                assert all(len(column) == 0 for column in table.columns().values())


# --- Arrow, without any library ---


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.c_void_p),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private", ctypes.c_void_p)]


class Array(ctypes.Structure):
    pass


Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.c_void_p),
                  ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    pass


Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private", ctypes.c_void_p)]


class Batches:
    """Reads a stream as the specification says, by ctypes."""

    def __init__(self, arrow):
        self.capsule = arrow.__arrow_c_stream__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        self.stream = Stream.from_address(pointer(self.capsule, b"arrow_array_stream"))
        self.schema = Schema()
        assert self.stream.get_schema(self.stream, self.schema) == 0

    def fields(self):
        return {self.schema.children[i].contents.name.decode(): self.schema.children[i].contents
                for i in range(self.schema.n_children)}

    def __iter__(self):
        while True:
            batch = Array()
            if self.stream.get_next(self.stream, batch) != 0:
                raise RuntimeError(self.stream.get_last_error(self.stream).decode())
            if not batch.release:
                return
            yield {name: [value(field, batch.children[i].contents, row) for row in range(batch.length)]
                   for i, (name, field) in enumerate(self.fields().items())}
            batch.release(batch)
            assert not batch.release


NUMBERS = {b"c": ctypes.c_int8, b"C": ctypes.c_uint8, b"s": ctypes.c_int16, b"S": ctypes.c_uint16,
           b"i": ctypes.c_int32, b"I": ctypes.c_uint32, b"l": ctypes.c_int64, b"L": ctypes.c_uint64,
           b"f": ctypes.c_float, b"g": ctypes.c_double}


def value(field, array, row):
    def buffer(number, type, place):
        return type.from_address(array.buffers[number] + ctypes.sizeof(type) * place).value

    assert array.null_count == 0 and array.offset == 0
    kind = field.format
    if kind in NUMBERS:
        return buffer(1, NUMBERS[kind], row)
    if kind == b"b":
        return bool(buffer(1, ctypes.c_uint8, row // 8) >> row % 8 & 1)
    if kind == b"d:38,0":
        return int.from_bytes(ctypes.string_at(array.buffers[1] + 16 * row, 16), "little", signed=True)
    if kind.startswith(b"w:"):
        width = int(kind[2:])
        return ctypes.string_at(array.buffers[1] + width * row, width)
    if kind in (b"U", b"Z"):
        begin, end = buffer(1, ctypes.c_int64, row), buffer(1, ctypes.c_int64, row + 1)
        content = ctypes.string_at(array.buffers[2] + begin, end - begin)
        return content.decode() if kind == b"U" else content
    if kind == b"+s":
        return {field.children[i].contents.name.decode():
                value(field.children[i].contents, array.children[i].contents, row)
                for i in range(field.n_children)}
    below = field.children[0].contents, array.children[0].contents
    if kind == b"+L":
        begin, end = buffer(1, ctypes.c_int64, row), buffer(1, ctypes.c_int64, row + 1)
    else:
        count = int(kind.removeprefix(b"+w:"))
        begin, end = row * count, (row + 1) * count
    return [value(*below, i) for i in range(begin, end)]


def to_bytes(value):
    """Texts as bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return [to_bytes(one) for one in value]
    if isinstance(value, dict):
        return {key: to_bytes(one) for key, one in value.items()}
    return value


@pytest.mark.parametrize("archive", (False, True))
@pytest.mark.parametrize("what", WHAT)
def test_record_batches_are_the_rows(states, what, archive):
    with chainbase.open(states[what]) as state:
        for table in state.types.values():
            if table.name.startswith("archive."):
                continue
            rows = list(table.range(archive=archive))
            wide = {field.name for field in table.fields if "128" in field.type}
            names = [field.name for field in table.fields if field.name not in wide]
            read = 0
            for batch in Batches(table.arrow(names, archive=archive, texts="binary", rows=7)):
                for path, values in batch.items():
                    for place, one in enumerate(values):
                        assert is_equal(one, to_bytes(member(rows[read + place], path))), (table.name, path)
                assert 0 < len(values) <= 7
                read += len(values)
            assert read == len(rows)


def test_texts_are_utf8_or_the_stream_says_why(scratch):
    from segment import change

    state = scratch / "state"
    change(state, "label", "session", "create label 3", "push", "commit")
    with chainbase.open(state) as opened:
        (batch,) = Batches(opened["label"])
        assert batch["text"] == [row.text for row in opened["label"]]
        assert Batches(opened["label"]).fields()["text"].format == b"U"
    change(state, "label", "session", "set label 1 text \udcff\udcfe", "push", "commit")
    with chainbase.open(state) as opened:
        assert opened["label"].get(1).text == b"\xff\xfe"
        assert opened["label"].columns(["text"])["text"][1] == b"\xff\xfe"
        with pytest.raises(RuntimeError, match='label.text has a text that is no UTF-8.*texts="binary"'):
            list(Batches(opened["label"]))
        (batch,) = Batches(opened["label"].arrow(texts="binary"))
        assert batch["text"][1] == b"\xff\xfe"


def test_integers_beyond_38_digits_end_the_stream(states):
    ended = 0
    with chainbase.open(states["every_kind"]) as state:
        for table in state.types.values():
            for field in table.fields:
                if field.type not in ("u128", "i128"):
                    continue
                numbers = [row[field.name] for row in table]
                stream = Batches(table.arrow([field.name]))
                if all(abs(one) < 10**38 for one in numbers):
                    assert sum((batch[field.name] for batch in stream), []) == numbers
                else:
                    with pytest.raises(RuntimeError, match="more than 38 digits"):
                        list(stream)
                    ended += 1
    assert ended


def test_a_stream_that_is_not_read_is_released(states):
    with chainbase.open(states["sample"]) as state:
        stream = state["account"].__arrow_c_stream__()
    del stream  # after the state


@pytest.mark.parametrize("wheel, call", (
    ("pyarrow", lambda table, folder: table.to_parquet(folder / "x")),
    ("pandas", lambda table, folder: table.to_pandas()),
    ("duckdb", lambda table, folder: table.to_duckdb(None)),
))
def test_a_missing_wheel_is_named(states, scratch, monkeypatch, wheel, call):
    import sys

    monkeypatch.setitem(sys.modules, wheel, None)
    with chainbase.open(states["sample"]) as state:
        with pytest.raises(chainbase.MissingWheelError, match=f"needs {wheel}.*pip install {wheel}"):
            call(state["account"], scratch)
