#!/usr/bin/env python3
"""Checks that files and functions stay short enough to read.

Hard limits fail: 600 lines a file, 100 lines a function. Wishes are only counted: 300 and 40 (--verbose lists them).
Looks at C++ (src, tests, bench), Python (tools) and shell scripts. Longer ones need an entry with a reason below.
"""

import argparse
import ast
import pathlib
import re
import sys

MAX_FILE_LINES, WISHED_FILE_LINES = 600, 300
MAX_FUNCTION_LINES, WISHED_FUNCTION_LINES = 100, 40

# "path": "why it is longer"
FILE_EXCEPTIONS = {}
# "path:function": "why it is longer"
FUNCTION_EXCEPTIONS = {}

FOLDERS = ["src", "tests", "bench", "tools", "web/src", ".ci"]
CPP_SUFFIXES = {".cpp", ".hpp", ".h"}
OTHER_SUFFIXES = {".py", ".sh", ".ts", ".tsx"}

TYPE_START = re.compile(r"^(?:alignas\s*\([^)]*\)\s*)?(?:class|struct|union|enum)\b")
FUNCTION_NAME = re.compile(r"(operator\s*[^\s\w(]+|operator\s*\(\s*\)|~?\w+(?:\s*::\s*~?\w+)*)\s*\(")


def blank_cpp(text):
    """`text` with comments, strings, characters and preprocessor lines blanked; line breaks stay in place."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
        r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def drop_template(header):
    """`header` without a leading template<…>."""
    while header.startswith("template"):
        depth, end = 0, len(header)
        for position, char in enumerate(header):
            depth += (char == "<") - (char == ">")
            if char == ">" and depth == 0:
                end = position + 1
                break
        header = header[end:].lstrip()
    return header


def classify(header):
    """What a brace after `header` opens: "scope", "function", "initializer" (of a constructor's member) or "other"."""
    header = drop_template(header.strip())
    if re.match(r"(inline\s+)?namespace\b|extern\b", header) and "(" not in header:
        return "scope"
    if TYPE_START.match(header) and not re.search(r"\)\s*(const|noexcept|override)*\s*$", header):
        return "scope"
    if header.endswith("=") or "(" not in header:
        return "other"
    if re.search(r"\)\s*(noexcept\s*)?:(?!:)", header) and re.search(r"[\w>]$", header):
        return "initializer"
    return "function"


def name_of(header):
    match = FUNCTION_NAME.search(drop_template(header.strip()))
    name = re.sub(r"\s+", "", match.group(1)) if match else "?"
    if name in ("TEST", "TEST_F", "TEST_P"):
        arguments = re.search(r"\(([^)]*)\)", header)
        name = ".".join(word.strip() for word in arguments.group(1).split(",")) if arguments else name
    return name


def cpp_functions(text):
    """(name, number of lines) of each function body in C++ `text`; lambdas count with the function around them."""
    functions, stack = [], []  # stack of (kind, header, first line)
    header, line, header_line = "", 1, 1
    for char in blank_cpp(text):
        if char == "\n":
            line += 1
        is_inside = any(kind == "function" for kind, _, _ in stack)
        if char == "{":
            kind = "inner" if is_inside else classify(header)
            stack.append((kind, header, header_line))
            if kind != "initializer":
                header = ""
        elif char == "}" and stack:
            kind, opened_header, first_line = stack.pop()
            if kind == "function":
                functions.append((name_of(opened_header), line - first_line + 1))
            header = opened_header + "{}" if kind == "initializer" else ""
        elif char == ";" and not is_inside:
            header = ""
        elif not is_inside:
            if not header.strip():
                header, header_line = "", line
            header += char
    return functions


def python_functions(text):
    nodes = ast.walk(ast.parse(text))
    return [(node.name, node.end_lineno - node.lineno + 1)
            for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check_file(path, text):
    """(errors, wishes) about one file; `path` is relative to the checkout."""
    errors, wishes = [], []
    num_lines = text.count("\n") + (not text.endswith("\n"))
    if num_lines > MAX_FILE_LINES and path not in FILE_EXCEPTIONS:
        errors.append(f"{path}: {num_lines} lines, at most {MAX_FILE_LINES}")
    elif num_lines > WISHED_FILE_LINES:
        wishes.append(f"{path}: {num_lines} lines, better {WISHED_FILE_LINES}")
    suffix = pathlib.PurePath(path).suffix
    functions = cpp_functions(text) if suffix in CPP_SUFFIXES else python_functions(text) if suffix == ".py" else []
    for name, length in functions:
        if length > MAX_FUNCTION_LINES and f"{path}:{name}" not in FUNCTION_EXCEPTIONS:
            errors.append(f"{path}: function {name} has {length} lines, at most {MAX_FUNCTION_LINES}")
        elif length > WISHED_FUNCTION_LINES:
            wishes.append(f"{path}: function {name} has {length} lines, better {WISHED_FUNCTION_LINES}")
    return errors, wishes


def find_files(root):
    yield root / "run"
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CPP_SUFFIXES | OTHER_SUFFIXES and path.is_file():
                yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--verbose", action="store_true", help="list what is longer than wished")
    options = parser.parse_args()
    errors, wishes = [], []
    for path in find_files(options.root):
        file_errors, file_wishes = check_file(path.relative_to(options.root).as_posix(), path.read_text(encoding="utf-8"))
        errors += file_errors
        wishes += file_wishes
    for complaint in errors + (wishes if options.verbose else []):
        print(complaint, file=sys.stderr)
    if wishes and not options.verbose:
        print(f"sizes: {len(wishes)} files or functions are longer than wished (tools/check_sizes.py --verbose)",
              file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
