#!/usr/bin/env python3
"""Writes tests/golden/formats/safetensors.json: a small file made by the reference library, as hex, and what is in it.

  python tools/golden/safetensors_golden.py      (versions: tools/golden/requirements.txt)
"""
import json
import pathlib

import numpy
import safetensors
import safetensors.numpy

TARGET = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/formats/safetensors.json"
TENSORS = {
    "model.norm.weight": numpy.array([1.0, -2.5, 3e-39], dtype=numpy.float32),
    "a.bytes": numpy.arange(5, dtype=numpy.uint8),
    "b.bias": numpy.array([[0.5], [-65504.0]], dtype=numpy.float16),
    "counts": numpy.array([2**40, -1], dtype=numpy.int64),
    "a.first": numpy.array([[1, 2, 3], [4, 5, 6]], dtype=numpy.float32),
    "empty": numpy.zeros((0, 4), dtype=numpy.float32),
    "scalar": numpy.array(0.1, dtype=numpy.float64),
    'ids "quoted" \u00e9': numpy.array([-7], dtype=numpy.int32),
}

file_bytes = safetensors.numpy.save(TENSORS, metadata={"format": "pt"})
golden = {
    "library": f"safetensors {safetensors.__version__}",
    "hex": file_bytes.hex(),
    "tensors": {name: {"shape": list(t.shape), "bytes": t.tobytes().hex()} for name, t in TENSORS.items()},
}
TARGET.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
