#!/usr/bin/env python3
"""Turns terminal text into an SVG picture for the README.

Usage: build/release/owlet demo --out /tmp/owl 2>/dev/null | python3 tools/terminal_svg.py > docs/demo.svg

Long lines are wrapped at 100 columns; escape sequences are dropped. Lines that end with ":" are shown bright.
"""

import html
import re
import sys
import textwrap

COLUMNS = 100
LINE_HEIGHT, CHARACTER_WIDTH, MARGIN = 18, 8.4, 16


def wrapped_lines(text: str) -> list[str]:
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    plain = re.sub("[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", plain)
    lines = []
    for line in plain.strip("\n").splitlines():
        lines += textwrap.wrap(line, COLUMNS, drop_whitespace=False, replace_whitespace=False) or [""]
    return lines


def picture(lines: list[str]) -> str:
    width = round(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f'<rect width="{width}" height="{height}" rx="10" fill="#16181d"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
    ]
    for number, line in enumerate(lines):
        color = "#ffffff" if line.rstrip().endswith(":") else "#9fd0ff" if re.search("[\u2800-\u28ff]", line) else "#c8ccd4"
        y = MARGIN + (number + 0.8) * LINE_HEIGHT
        if line.strip():
            parts.append(f'<text x="{MARGIN}" y="{y:.0f}" fill="{color}" textLength="{len(line) * CHARACTER_WIDTH:.0f}" lengthAdjust="spacingAndGlyphs">{html.escape(line)}</text>')
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture(wrapped_lines(sys.stdin.read())))
