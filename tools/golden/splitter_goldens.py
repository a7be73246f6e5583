#!/usr/bin/env python3
"""Ids of more than 200 nasty strings under the splitters of GPT-2, cl100k, Llama 3 and Qwen, with the small vocabulary
of tests/golden/text/own: the `tokenizers` package and tiktoken must agree before anything is written.

    tools/golden/splitter_goldens.py     # packages: requirements.txt
"""

import copy
import json
import random
import sys

import tiktoken
import tokenizers

from text_goldens import ROOT, nasty_strings

sys.path.insert(0, str(ROOT / "bench" / "peers"))
from tokenizer_speed import PATTERNS  # noqa: E402: tiktoken's expressions

# The Hub's spelling of each, for Oniguruma: \z where tiktoken says $.
HUB_PATTERNS = {name: pattern.replace("$", r"\z") for name, pattern in PATTERNS.items()}


def more_strings():
    draw = random.Random(20261201)
    parts = ["'S", "'RE", "'\u017f", "x'LL", "12", "12345", " 7", "\r\n", "\n", "\r", " \n", "  ", "...\n", "!\r", "/", "\u0301", "_a", "$b", "\u00a0c", "猫", "ǅ", "\u2028", "é", "\x85", "9\n9", "٣٣٣٣"]
    return ["".join(draw.choice(parts) for _ in range(draw.randint(2, 14))) for _ in range(60)]


def alphabet():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def main():
    strings = [text for text in nasty_strings() if "<|endoftext|>" not in text] + more_strings()
    own = json.loads((ROOT / "tests/golden/text/own/tokenizer.json").read_text(encoding="utf-8"))
    byte_of = alphabet()
    specials = {token["content"] for token in own["added_tokens"]}
    ranks = {bytes(byte_of[c] for c in token): i for token, i in own["model"]["vocab"].items() if token not in specials}
    golden = {"texts": strings}
    for name, pattern in PATTERNS.items():
        document = copy.deepcopy(own)
        document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": HUB_PATTERNS[name]}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}
        hub = tokenizers.Tokenizer.from_str(json.dumps(document))
        hub.encode_special_tokens = True
        peer = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        golden[name] = [hub.encode(text, add_special_tokens=False).ids for text in strings]
        for text, ids in zip(strings, golden[name]):
            assert ids == peer.encode_ordinary(text), (name, text)
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in golden.items())
    (ROOT / "tests/golden/text/splitters.json").write_text("{" + rows + "}\n")
    print(len(strings), "strings")


if __name__ == "__main__":
    main()
