"""pyarrow, pandas, DuckDB and polars take tables as they are. Debian has none of pyarrow, DuckDB and polars: in an
environment with them

    CHAINBASE_BIN=build/release/bin venv/bin/python -m pytest tests/python/test_arrow_readers.py
"""

import chainbase
import pytest


def test_pyarrow_reads_a_table(samples):
    pyarrow = pytest.importorskip("pyarrow")
    with chainbase.open(samples("fields")) as state:
        table = state["everything"]
        read = pyarrow.table(table.arrow(texts="binary"))
        read.validate(full=True)
        assert read.column("id").to_pylist() == [row.id for row in table]
        assert read.column("numbers").to_pylist() == [list(row.numbers) for row in table]
        assert read.column("prices").to_pylist() == [[one.asdict() for one in row.prices] for row in table]
        with pytest.raises(OSError, match="no UTF-8; read texts as bytes"):
            pyarrow.table(table)
    with chainbase.open(samples("sample")) as state:
        read = pyarrow.table(state["post"])
        read.validate(full=True)
        assert read.column("body").to_pylist() == [row.body for row in state["post"]]


def test_pandas_and_parquet(samples, scratch):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    with chainbase.open(samples("sample")) as state:
        accounts = state["account"]
        frame = accounts.to_pandas(["id", "name", "balance"])
        assert list(frame["balance"]) == [row.balance for row in accounts]
        assert accounts.to_parquet(scratch / "accounts.parquet") == len(accounts)
        assert len(pandas.read_parquet(scratch / "accounts.parquet")) == len(accounts)


def test_duckdb(samples):
    pytest.importorskip("pyarrow")
    duckdb = pytest.importorskip("duckdb")
    with chainbase.open(samples("sample")) as state, duckdb.connect() as connection:
        accounts = state["account"]
        relation = accounts.to_duckdb(connection, "account s")
        assert len(relation.fetchall()) == len(accounts)
        most = connection.sql('select max(balance) from "account s"').fetchall()[0][0]
        assert most == max(row.balance for row in accounts)


def test_polars_reads_a_table(samples):
    polars = pytest.importorskip("polars")
    with chainbase.open(samples("sample")) as state:
        frame = polars.DataFrame(state["account"])
        assert frame["balance"].to_list() == [row.balance for row in state["account"]]
