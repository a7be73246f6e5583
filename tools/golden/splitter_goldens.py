#!/usr/bin/env python3
"""Ids of 200 nasty strings under the splitters of GPT-2, cl100k, Llama 3 and Qwen: the `tokenizers` package and tiktoken
must agree before anything is written. The vocabulary is learnt from the strings themselves without splitting them, so
that most of its tokens cross a border of some splitter; it is stored as tiktoken's ranks.

    tools/golden/splitter_goldens.py     # packages: requirements.txt
"""

import json
import random
import sys

import tiktoken
import tokenizers

from text_goldens import ROOT, nasty_strings

sys.path.insert(0, str(ROOT / "bench" / "peers"))
from tokenizer_speed import PATTERNS, byte_alphabet, rank_file_text  # noqa: E402: tiktoken's expressions

# The Hub's spelling of each, for Oniguruma: \z where tiktoken says $, and no + behind {1,3}, which would repeat it.
HUB_PATTERNS = {name: pattern.replace("$", r"\z").replace("{1,3}+", "{1,3}") for name, pattern in PATTERNS.items()}


def more_strings():
    draw = random.Random(20261201)
    parts = ["'S", "'RE", "'\u017f", "x'LL", "12", "12345", " 7", "\r\n", "\n", "\r", " \n", "  ", "...\n", "!\r", "/", "\u0301", "_a", "$b", "\u00a0c", "猫", "ǅ", "\u2028", "é", "\x85", "9\n9", "٣٣٣٣"]
    return ["".join(draw.choice(parts) for _ in range(draw.randint(2, 14))) for _ in range(60)]


def learn_ranks(strings, vocab_size=1500):
    """Token bytes in the order of their ranks: all bytes, then what merging gives."""
    byte_of = byte_alphabet()
    learner = tokenizers.Tokenizer(tokenizers.models.BPE())
    learner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocab_size, min_frequency=1, initial_alphabet=list(byte_of), show_progress=False)
    learner.train_from_iterator(strings, trainer)
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in json.loads(learner.to_str())["model"]["merges"]:
        token = bytes(byte_of[c] for c in left + right)
        if token not in tokens:
            tokens.append(token)
    return tokens


def hub_tokenizer(tokens, pattern):
    """The same vocabulary for `tokenizers`: every way to make a token is a merge, whole words come first."""
    letter_of = {byte: letter for letter, byte in byte_alphabet().items()}
    spelled = ["".join(letter_of[byte] for byte in token) for token in tokens]
    ids = {text: i for i, text in enumerate(spelled)}
    merges = []
    for text in spelled:
        ways = [(text[:i], text[i:]) for i in range(1, len(text)) if text[:i] in ids and text[i:] in ids]
        merges += sorted(ways, key=lambda way: (ids[way[0]], ids[way[1]]))
    hub = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=ids, merges=merges, ignore_merges=True))
    hub.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return hub


def main():
    strings = [text for text in nasty_strings() if "<|endoftext|>" not in text] + more_strings()
    tokens = learn_ranks(strings)
    ranks = {token: i for i, token in enumerate(tokens)}
    golden = {"ranks": rank_file_text(tokens), "texts": strings}
    for name, pattern in PATTERNS.items():
        hub = hub_tokenizer(tokens, HUB_PATTERNS[name])
        peer = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        golden[name] = [peer.encode_ordinary(text) for text in strings]
        for text, ids in zip(strings, golden[name]):
            assert ids == hub.encode(text, add_special_tokens=False).ids, (name, text, ids)
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in golden.items())
    (ROOT / "tests/golden/text/splitters.json").write_text("{" + rows + "}\n")
    print(len(strings), "strings")


if __name__ == "__main__":
    main()
