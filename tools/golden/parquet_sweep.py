#!/usr/bin/env python3
"""Writes Parquet files with many combinations of the writers' options and compares every value with Owlet's reading.

  ninja -C build/release parquet_dump
  python tools/golden/parquet_sweep.py [--program build/release/tests/parquet_dump] [--quick]

Needs what tools/golden/requirements.txt names. Prints the number of files and of values compared.
"""
import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import pyarrow
import pyarrow.parquet

import parquet_cases

ALL = list(parquet_cases.columns(parquet_cases.random.Random(0), 1, 0))
NOT_IN_DUCKDB = {"huge", "nothing", "fixed"}
ENCODINGS = {
    "PLAIN": ALL,
    "RLE": ["flag"],
    "DELTA_BINARY_PACKED": ["int8", "int32", "int64", "uint32", "uint64", "count", "day", "at_ms", "at_us", "clock",
                            "tokens.list.element"],
    "DELTA_LENGTH_BYTE_ARRAY": ["text", "few", "rising", "raw", "names.list.element", "messages.list.element.content"],
    "DELTA_BYTE_ARRAY": ["text", "few", "rising", "raw", "fixed", "money", "huge", "names.list.element",
                         "messages.list.element.content"],
    "BYTE_STREAM_SPLIT": ["int32", "int64", "float", "double", "fixed", "money", "count", "meta.score"],
}


def pyarrow_options(quick):
    """(columns, number of rows, share of nulls, options of write_table)"""
    pages = [{}, {"data_page_size": 100, "write_batch_size": 7}]
    for codec, page_version, dictionary, group, page, version, compliant, nulls in itertools.product(
            ["none", "snappy", "gzip", "zstd"], ["1.0", "2.0"], [True, False], [1000, 37], pages, ["1.0", "2.4", "2.6"],
            [True, False], [0.0, 0.2, 1.0]):
        if quick and (compliant, version) != (True, "2.6"):
            continue
        yield ALL, 120, nulls, {"compression": codec, "data_page_version": page_version, "use_dictionary": dictionary,
                                "row_group_size": group, "version": version, "use_compliant_nested_type": compliant,
                                "write_page_checksum": group == 37, **page}
    for encoding, names in ENCODINGS.items():
        for codec, page_version, nulls, num_rows, page in itertools.product(
                ["none", "zstd"], ["1.0", "2.0"], [0.0, 0.2, 1.0], [0, 1, 2, 129, 700], pages):
            columns = sorted({name.split(".")[0] for name in names})
            yield columns, num_rows, nulls, {"compression": codec, "data_page_version": page_version,
                                             "use_dictionary": False, "column_encoding": dict.fromkeys(names, encoding),
                                             **page}
    for limit, page_version, nulls in itertools.product([1, 30, 200, 5000], ["1.0", "2.0"], [0.0, 0.2]):
        yield ALL, 700, nulls, {"dictionary_pagesize_limit": limit, "data_page_version": page_version,
                                "data_page_size": 300}
    for num_rows, page_version, int96 in itertools.product([0, 1, 8, 1023, 1024, 1025, 3000], ["1.0", "2.0"], [True, False]):
        yield ALL, num_rows, 0.3, {"data_page_version": page_version, "use_deprecated_int96_timestamps": int96,
                                   "write_statistics": False, "store_schema": False}


def duckdb_options():
    for codec, version, group, nulls, num_rows in itertools.product(
            ["uncompressed", "snappy", "gzip", "zstd"], ["v1", "v2"], [2048, 100000], [0.0, 0.2, 1.0], [0, 1, 100, 5000]):
        for dictionary in ["", ", DICTIONARY_SIZE_LIMIT 1"]:
            yield nulls, num_rows, f"COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE {group}{dictionary}"



def count_values(value):
    if isinstance(value, dict):
        return sum(map(count_values, value.values()))
    return sum(map(count_values, value)) if isinstance(value, list) else 1


class Sweep:
    def __init__(self, program):
        self.program, self.num_files, self.num_values, self.failures = program, 0, 0, []

    def compare(self, path, rows, what):
        run = subprocess.run([self.program, str(path)], capture_output=True, check=False)
        lines = run.stdout.decode().splitlines()
        self.num_files += 1
        problem = None
        if run.returncode != 0:
            problem = lines[-1:] or [run.stderr.decode()]
        elif len(lines) != len(rows):
            problem = f"{len(lines)} rows, expected {len(rows)}"
        else:
            for number, (line, wanted) in enumerate(zip(lines, rows)):
                found = json.loads(line)
                self.num_values += count_values(found)
                if found != wanted:
                    names = [name for name in wanted if found.get(name) != wanted[name]] or list(found)
                    problem = f"row {number}: " + "; ".join(f"{n}: {found.get(n)!r}, expected {wanted.get(n)!r}" for n in names[:2])
                    break
        if problem:
            self.failures.append(what)
            print(f"{what}\n  {problem}", file=sys.stderr)


def sweep_pyarrow(sweep, path, quick):
    made = {}
    for names, num_rows, nulls, options in pyarrow_options(quick):
        key = (tuple(names), num_rows, nulls)
        if key not in made:
            table = parquet_cases.table(names, num_rows, nulls, seed=len(made))
            made[key] = (table, parquet_cases.rows(table))
        table, rows = made[key]
        if options.get("use_deprecated_int96_timestamps"):  # these do not say whether they are instants
            rows = [{**row, "at_us": row["at_us"] and row["at_us"].rstrip("Z")} for row in rows]
        pyarrow.parquet.write_table(table, path, **options)
        sweep.compare(path, rows, f"pyarrow, {num_rows} rows, {nulls} nulls, {options}")


def sweep_duckdb(sweep, path):
    made = {}
    names = [name for name in ALL if name not in NOT_IN_DUCKDB]
    for nulls, num_rows, options in duckdb_options():
        if (nulls, num_rows) not in made:
            table = parquet_cases.table(names, num_rows, nulls, seed=len(made))
            made[nulls, num_rows] = (table, parquet_cases.rows(table))
        source, rows = made[nulls, num_rows]  # DuckDB finds `source` by its name
        duckdb.sql(f"COPY (SELECT * FROM source) TO '{path}' (FORMAT parquet, {options})")
        sweep.compare(path, rows, f"duckdb, {num_rows} rows, {nulls} nulls, {options}")


def sweep_large(sweep, path):
    """Values of many megabytes."""
    rows = [{"text": "owl " * 15_000_000}, {"text": ""}, {"text": "x"}]
    for options in [{"compression": "zstd"}, {"compression": "snappy", "use_dictionary": False, "data_page_version": "2.0"}]:
        pyarrow.parquet.write_table(pyarrow.table({"text": [row["text"] for row in rows]}), path, **options)
        sweep.compare(path, rows, f"60 MB in one value, {options}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/tests/parquet_dump")
    parser.add_argument("--quick", action="store_true", help="one version of the format only")
    arguments = parser.parse_args()
    sweep = Sweep(arguments.program)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file.parquet"
        sweep_pyarrow(sweep, path, arguments.quick)
        sweep_duckdb(sweep, path)
        sweep_large(sweep, path)
    print(f"{sweep.num_files} files, {sweep.num_values} values compared, {len(sweep.failures)} files differ")
    return 1 if sweep.failures else 0


if __name__ == "__main__":
    sys.exit(main())
