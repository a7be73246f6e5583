#!/usr/bin/env python3
"""Reading a text column of Parquet files: Owlet against pyarrow, one thread each, in turns.

    ninja -C build/release parquet_dump
    bench/peers/parquet_read.py --make FOLDER TEXT     # files with about 500 MB of text each, from any text file
    bench/peers/parquet_read.py FOLDER                 # times them; one JSON document on stdout

Run with a Python that has the pyarrow of tools/golden/requirements.txt. Owlet's figure includes a pass over every byte
of the texts; pyarrow's ends with its column of strings. The files are in the page cache; the best of --rounds counts, for both.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import time

import pyarrow
import pyarrow.parquet

KINDS = {
    "snappy": {"compression": "snappy"},
    "zstd": {"compression": "zstd"},
    "zstd_plain_v2": {"compression": "zstd", "use_dictionary": False, "data_page_version": "2.0"},
    "uncompressed": {"compression": "none", "use_dictionary": False},
}
TEXT_BYTES, MEAN_DOCUMENT = 500_000_000, 2000


def make(folder, source):
    """Documents are pieces of the source, so that they compress as text does and are not all the same."""
    text, rng = source.read_text(errors="replace"), random.Random(1)
    documents, size = [], 0
    while size < TEXT_BYTES:
        begin, length = rng.randrange(len(text) - 4 * MEAN_DOCUMENT), rng.randrange(2 * MEAN_DOCUMENT)
        documents.append(text[begin:begin + length])
        size += length
    table = pyarrow.table({"text": documents, "id": range(len(documents))})
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in KINDS.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=10_000, **options)


def read_pyarrow(path):
    start = time.perf_counter()
    size = 0
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(columns=["text"], use_threads=False):
        size += batch.column(0).nbytes
    return time.perf_counter() - start


def read_owlet(program, path):
    run = subprocess.run([program, "--text", "text", str(path)], capture_output=True, check=True)
    return json.loads(run.stdout)


def measure(program, path, rounds):
    owlet, peer, result = [], [], None
    read_pyarrow(path)  # warms its memory pool
    for _ in range(rounds):
        result = read_owlet(program, path)
        owlet.append(result["seconds"])
        peer.append(read_pyarrow(path))
    megabytes = result["bytes"] / 1e6
    return {"file_megabytes": round(path.stat().st_size / 1e6), "text_megabytes": round(megabytes),
            "owlet_mb_per_s": round(megabytes / min(owlet)),
            "pyarrow_mb_per_s": round(megabytes / min(peer)),
            "owlet_peak_resident_megabytes": round(result["peak_resident_bytes"] / 1e6, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path, nargs="?", help="with --make: what documents are made of")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default="build/release/tests/parquet_dump")
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.folder, arguments.text)
        return 0
    pyarrow.set_cpu_count(1)
    results = {name: measure(arguments.program, arguments.folder / f"{name}.parquet", arguments.rounds) for name in KINDS}
    print(json.dumps({"pyarrow": pyarrow.__version__, "files": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
