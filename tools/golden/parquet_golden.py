#!/usr/bin/env python3
"""Writes tests/golden/formats/parquet.json: small files of pyarrow and DuckDB in base64, and the rows in them.
Some of them become the seeds of the fuzzer, tests/fuzz/seeds/parquet.

  python tools/golden/parquet_golden.py      (versions: tools/golden/requirements.txt)
"""
import base64
import json
import pathlib
import tempfile

import duckdb
import pyarrow
import pyarrow.parquet

import parquet_cases

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"
TARGET = TESTS / "golden/formats/parquet.json"
SEEDS = ["flat_plain_v2", "flat_snappy", "nested_plain", "nested_legacy_gzip_v2", "delta", "split", "booleans_rle",
         "row_groups", "int96", "duckdb_v2"]
FLAT = ["text", "few", "raw", "fixed", "flag", "int8", "int32", "int64", "uint32", "uint64", "float", "double", "money",
        "huge", "day", "at_ms", "at_us", "clock", "nothing"]
NESTED = ["tokens", "names", "messages", "meta", "map", "deep"]
PLAIN = {"use_dictionary": False, "write_statistics": False, "store_schema": False}

# name -> columns, number of rows, options of pyarrow.parquet.write_table
PYARROW_FILES = {
    "flat_snappy": (FLAT, 5, {"compression": "snappy", "write_statistics": False, "store_schema": False}),
    "flat_plain_v2": (FLAT, 5, {"compression": "none", "data_page_version": "2.0", **PLAIN}),
    "nested_zstd": (NESTED, 9, {"compression": "zstd", "write_page_checksum": True, **PLAIN}),
    "nested_plain": (NESTED, 6, {"compression": "none", **PLAIN}),
    "nested_legacy_gzip_v2": (NESTED, 9, {"compression": "gzip", "data_page_version": "2.0",
                                          "use_compliant_nested_type": False, "write_statistics": False,
                                          "store_schema": False}),
    "delta": (["rising", "text", "raw", "int32", "int64", "fixed"], 40,
              {"compression": "none", "column_encoding": {"rising": "DELTA_BYTE_ARRAY", "text": "DELTA_LENGTH_BYTE_ARRAY",
                                                          "raw": "DELTA_BYTE_ARRAY", "int32": "DELTA_BINARY_PACKED",
                                                          "int64": "DELTA_BINARY_PACKED", "fixed": "DELTA_BYTE_ARRAY"}, **PLAIN}),
    "split": (["float", "double", "int32", "int64", "fixed"], 12,
              {"compression": "zstd", "column_encoding": dict.fromkeys(["float", "double", "int32", "int64", "fixed"],
                                                                       "BYTE_STREAM_SPLIT"), **PLAIN}),
    "split_two": (["fixed", "int32", "double", "float", "int64"], 2,
                  {"compression": "none", "column_encoding": dict.fromkeys(["int32", "fixed", "double", "float", "int64"], "BYTE_STREAM_SPLIT"),
                   **PLAIN}),
    "booleans_rle": (["flag"], 300, {"compression": "none", "column_encoding": {"flag": "RLE"}, **PLAIN}),
    "row_groups": (["few", "count"], 25, {"compression": "snappy", "row_group_size": 7, "write_statistics": False,
                                          "store_schema": False}),
    "no_rows": (["text", "messages"], 0, {"compression": "snappy", "store_schema": False}),
    "int96": (["at_ms"], 5, {"compression": "none", "use_deprecated_int96_timestamps": True, **PLAIN}),
    "brotli": (["text"], 5, {"compression": "brotli", **PLAIN}),
    "lz4": (["text"], 5, {"compression": "lz4", **PLAIN}),
}
DUCKDB_FILES = {
    "duckdb_v1": "COMPRESSION zstd, PARQUET_VERSION v1",
    "duckdb_v2": "COMPRESSION snappy, PARQUET_VERSION v2",
}


def main():
    files = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file.parquet"
        for name, (columns, num_rows, options) in PYARROW_FILES.items():
            table = parquet_cases.table(columns, num_rows)
            pyarrow.parquet.write_table(table, path, **options)
            files.append({"name": name, "base64": base64.b64encode(path.read_bytes()).decode(),
                          "rows": parquet_cases.rows(table)})
        for name, options in DUCKDB_FILES.items():
            made = parquet_cases.table(["text", "few", "int64", "messages", "at_us"], 9)
            duckdb.sql(f"COPY (SELECT * FROM made) TO '{path}' (FORMAT parquet, {options})")
            files.append({"name": name, "base64": base64.b64encode(path.read_bytes()).decode(),
                          "rows": parquet_cases.rows(made)})
    for seed in SEEDS:
        base64_bytes = next(file["base64"] for file in files if file["name"] == seed)
        (TESTS / f"fuzz/seeds/parquet/{seed}.txt").write_text(f"base64:{base64_bytes}\n")
    golden = {"library": f"pyarrow {pyarrow.__version__}, duckdb {duckdb.__version__}", "files": files}
    TARGET.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")


main()
