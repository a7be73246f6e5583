#!/usr/bin/env python3
"""Checks that each room of src/ includes only what docs/architecture.md allows it.

The table below is the rule. A file of a room may include its own room, the rooms listed, and system headers. A test
(x_test.cpp, x_bench.cpp, x_fuzz.cpp) may also include the rooms that src/CMakeLists.txt gives its tests (TEST_LIBS),
and what stands under tests/. An entry "room/folder" allows that folder only.
"""

import pathlib
import re
import sys

ALLOWED = {
    "base": [],
    "machine": ["base"],
    "tensor": ["base"],
    "ops": ["tensor", "base"],
    "backends": ["ops", "tensor", "machine", "base"],
    "nn": ["ops", "tensor", "base"],
    "models": ["nn", "ops", "tensor", "base"],
    "text": ["base"],
    "formats": ["tensor", "base"],
    "data": ["text", "formats", "base"],
    "train": ["models", "data", "formats", "text", "nn", "ops", "tensor", "base"],
    "infer": ["models", "text", "formats", "nn", "ops", "tensor", "base"],
    "planner": ["machine", "models", "train", "backends", "ops", "tensor", "base"],
    "serve": ["infer", "text", "planner", "train", "base"],
    "cli": ["*"],
}

# Libraries whose headers must be included with quotes.
QUOTED_LIBRARIES = ["hwy"]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SOURCE_SUFFIXES = {".cpp", ".hpp", ".h"}
TEST_FILE = re.compile(r"_(test|bench|fuzz)\.cpp$")
MODULE = re.compile(r"owlet_module\(\s*(\w+)([^)]*)\)")


def read_test_rooms(cmake_text):
    """The rooms that TEST_LIBS adds for each room's tests: {"models": ["backends", "formats"]}."""
    rooms = {}
    for name, arguments in MODULE.findall(cmake_text):
        words = arguments.split()
        if "TEST_LIBS" in words:
            libraries = words[words.index("TEST_LIBS") + 1:]
            rooms[name] = [library[len("owlet_"):] for library in libraries if library.startswith("owlet_")]
    return rooms


def is_allowed(target, allowed):
    """True if the included path `target` ("ops/cost.hpp") lies in one of the rooms or folders `allowed`."""
    return any(entry == "*" or target.startswith(entry + "/") for entry in allowed)


def check_file(path, text, test_rooms):
    """The complaints about one file; `path` is relative to src/, as "ops/cost.hpp"."""
    room = path.split("/")[0]
    if room not in ALLOWED:
        return [f"src/{path}: '{room}' is no room; tools/check_layers.py lists the rooms"]
    is_test = TEST_FILE.search(path) is not None
    allowed = [room] + ALLOWED[room]
    if is_test:
        allowed = allowed + test_rooms.get(room, []) + ["tests"]
    complaints = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        if is_allowed(target, QUOTED_LIBRARIES):
            continue
        if "/" not in target or target.startswith("."):
            complaints.append(f'src/{path}:{number}: include "{target}" by its path from src/')
        elif not is_allowed(target, allowed):
            complaints.append(f'src/{path}:{number}: {room} may not include "{target}"'
                              f' (allowed: {", ".join(allowed[1:]) or "nothing"})')
    return complaints


def check_tree(root):
    """The complaints about all files under ROOT/src."""
    source = pathlib.Path(root) / "src"
    test_rooms = read_test_rooms((source / "CMakeLists.txt").read_text(encoding="utf-8"))
    complaints = []
    for path in sorted(source.rglob("*")):
        if path.suffix in SOURCE_SUFFIXES and path.is_file():
            name = path.relative_to(source).as_posix()
            complaints += check_file(name, path.read_text(encoding="utf-8"), test_rooms)
    return complaints


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    complaints = check_tree(root)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
