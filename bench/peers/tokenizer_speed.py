#!/usr/bin/env python3
"""Owlet's tokenizers against tiktoken and tokenizers on this machine: equal ids first, then speed, in turns.

    bench/peers/tokenizer_speed.py --ranks gpt2.bpe                # 20 MB of mixed text, four splitters
    bench/peers/tokenizer_speed.py --ranks gpt2.bpe --text stories.txt --splitters gpt2
    bench/peers/tokenizer_speed.py train --text big.txt --vocab 32000

--ranks is GPT-2's merges file (vocab.bpe): its tokens serve all splitters, so that no other vocabulary has to be
fetched. Needs the packages tiktoken and tokenizers in the interpreter that runs it. Mixed text has no two equal
megabytes: words of --text (or of a built-in list) in new orders, with made-up words, code, numbers, scripts without
spaces, emoji and control characters between them. One thread each; tiktoken and tokenizers encode the text in
documents of 4,000 characters, with which they are fastest (tokenizers by encode_batch_fast). `train` compares the
training of a vocabulary, two threads each, with the peak memory of both.
"""

import argparse
import base64
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PIECE_CHARACTERS = 4_000

# The expressions of tiktoken and of the Hub's tokenizers; tokenizers gets those that Owlet writes.
PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def byte_alphabet():
    """The byte that each character of GPT-2's vocabulary spells, in the order of ids."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def gpt2_ranks(path):
    """Token bytes in the order of their ids, from GPT-2's merges."""
    byte_of = byte_alphabet()
    tokens = [bytes([byte]) for byte in byte_of.values()]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#version"):
            tokens.append(bytes(byte_of[character] for character in line.replace(" ", "")))
    return tokens


def rank_file_text(tokens):
    """tiktoken's file of tokens whose ranks are their places."""
    return "".join(f"{base64.b64encode(token).decode()} {i}\n" for i, token in enumerate(tokens))


def mixed_text(megabytes, source, seed=1):
    random_source = random.Random(seed)
    words = source.split(" ") if source else "the a cat dog runs over hills and sings quietly every morning".split()
    syllables = "ka lo mi ter ven so ra qui ost en ber ja ul ix pho".split()

    def made_up():
        return "".join(random_source.choice(syllables) for _ in range(random_source.randint(2, 5)))

    def code():
        return f"\n    if {made_up()}_{random_source.randint(0, 99)} != 0x{random_source.getrandbits(24):x}:\n\t\treturn  x[{made_up()}]\r\n"

    def script():
        first, last = random_source.choice([(0x4E00, 0x9FA5), (0x3041, 0x3096), (0xAC00, 0xD7A3), (0x0E01, 0x0E3A),
                                            (0x0400, 0x04FF), (0x0900, 0x0950), (0x0621, 0x064A)])
        return "".join(chr(random_source.randint(first, last)) for _ in range(random_source.randint(1, 30)))

    def odd():
        return random_source.choice(["\U0001F469\u200D\U0001F4BB", "e\u0301", "\u00a0", "\u2028", "\x00", "\x1b[0m", "  ", "\n\n\n", "'RE", "'s",
                                     "\ufeff", " \t ", "\u0130", "\u017f", "1234567", "...!?", "\r", " \n "])

    parts, size, target = [], 0, int(megabytes * 1e6)
    while size < target:
        kind = random_source.random()
        if kind < 0.9:
            part = " ".join(random_source.choice(words) for _ in range(8)) + " "
        elif kind < 0.94:
            part = made_up() + " "
        elif kind < 0.96:
            part = code()
        elif kind < 0.98:
            part = script()
        else:
            part = odd()
        parts.append(part)
        size += len(part.encode())
    return "".join(parts)


def run_json(*command, stdin=None):
    result = subprocess.run([str(word) for word in command], stdin=stdin, capture_output=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)} failed:\n{result.stderr.decode()}")
    return json.loads(result.stdout)


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def first_difference(own, other, decode):
    for i, (a, b) in enumerate(zip(own, other)):
        if a != b:
            return f"id {i} is {a}, expected {b}, after {decode(other[max(0, i - 8):i])!r}"
    return f"{len(own)} ids, expected {len(other)}"


def compare_encoding(arguments, folder):
    import tiktoken
    import tokenizers

    tokens = gpt2_ranks(arguments.ranks)
    rank_file = folder / "gpt2.tiktoken"
    rank_file.write_text(rank_file_text(tokens))
    source = arguments.text.read_text(encoding="utf-8") if arguments.text else ""
    text = source if arguments.plain else mixed_text(arguments.megabytes, source)
    text_file = folder / "text.txt"
    text_file.write_bytes(text.encode())
    pieces = [text[i:i + PIECE_CHARACTERS] for i in range(0, len(text), PIECE_CHARACTERS)]
    results = {}
    for splitter in arguments.splitters.split(","):
        own = folder / splitter
        run_json(arguments.owlet, "tokenizer", "import", rank_file, "--splitter", splitter, "--special", "<|endoftext|>",
                 "--out", own, "--json", "--quiet")
        peer = tiktoken.Encoding("peer", pat_str=PATTERNS[splitter], special_tokens={},
                                 mergeable_ranks={token: i for i, token in enumerate(tokens)})
        hub = tokenizers.Tokenizer.from_file(str(own / "tokenizer.json"))
        hub.encode_special_tokens = True
        with text_file.open("rb") as stream:
            ids = run_json(arguments.owlet, "tokenizer", "encode", "--tokenizer", own, "--json", stdin=stream)["ids"]
        others = {"tiktoken": peer.encode_ordinary(text), "tokenizers": hub.encode(text, add_special_tokens=False).ids}
        equal = {name: ids == other for name, other in others.items()}
        for name, other in others.items():
            if not equal[name]:
                print(f"{splitter}: not the ids of {name}: {first_difference(ids, other, peer.decode)}", file=sys.stderr)
        seconds = {"owlet": [], "tiktoken": [], "tokenizers": []}
        for _ in range(arguments.rounds):
            done = run_json(arguments.owlet, "bench", "tokenizer", text_file, "--tokenizer", own, "--rounds", 1, "--json",
                            "--quiet", "--threads", 1)
            seconds["owlet"].append(done["seconds"])
            seconds["tiktoken"].append(timed(lambda: [peer.encode_ordinary(piece) for piece in pieces]))
            seconds["tokenizers"].append(timed(lambda: hub.encode_batch_fast(pieces, add_special_tokens=False)))
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        results[splitter] = {"tokens": len(ids), "bytes": len(text.encode()), "equal": equal,
                             "megabytes_per_second": {n: len(text.encode()) / s / 1e6 for n, s in medians.items()},
                             "times_faster_than": {n: s / medians["owlet"] for n, s in medians.items() if n != "owlet"}}
        speeds, factors = results[splitter]["megabytes_per_second"], results[splitter]["times_faster_than"]
        print(f"{splitter:<8}{len(ids):>10} ids{'':>2}equal to tiktoken {equal['tiktoken']}, tokenizers {equal['tokenizers']}; "
              f"MB/s {speeds['owlet']:.1f}, {speeds['tiktoken']:.1f} ({factors['tiktoken']:.1f} x), "
              f"{speeds['tokenizers']:.1f} ({factors['tokenizers']:.1f} x)", file=sys.stderr)
    return results


TRAIN_PEER = """
import sys, tokenizers
from tokenizers import models, pre_tokenizers, trainers
tokenizer = tokenizers.Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=int(sys.argv[2]), min_frequency=2, special_tokens=["<|endoftext|>"], show_progress=False,
                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
tokenizer.train([sys.argv[1]], trainer)
"""


def peak_resident_bytes(pid):
    """Of a running program; 0 once it has ended. Not ru_maxrss, which starts at what this process had when it forked."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def run_measured(command, environment):
    """Seconds and peak resident bytes of a program."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, env=os.environ | environment)
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_resident_bytes(process.pid))
        time.sleep(0.005)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - start, peak


def compare_training(arguments, folder):
    source = arguments.text.read_text(encoding="utf-8") if arguments.text else ""
    text_file = folder / "train.txt"
    text_file.write_bytes(mixed_text(arguments.megabytes, source).encode())
    runs = {
        "owlet": lambda i: run_measured([arguments.owlet, "tokenizer", "train", text_file, "--vocab", arguments.vocab, "--out",
                                         folder / f"own{i}", "--quiet", "--threads", 2], {}),
        "tokenizers": lambda _: run_measured([sys.executable, "-c", TRAIN_PEER, text_file, arguments.vocab],
                                             {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": "2"}),
    }
    results = {name: [] for name in runs}
    for i in range(arguments.rounds):
        for name, run in runs.items():
            results[name].append(run(i))
    summary = {name: {"seconds": statistics.median(s for s, _ in rows), "peak_bytes": max(b for _, b in rows)}
               for name, rows in results.items()}
    for name, row in summary.items():
        print(f"{name:<12}{row['seconds']:>8.2f} s{row['peak_bytes'] / 1e9:>8.2f} GB", file=sys.stderr)
    print(f"Owlet is {summary['tokenizers']['seconds'] / summary['owlet']['seconds']:.2f} times faster", file=sys.stderr)
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["encode", "train"], default="encode")
    parser.add_argument("--ranks", type=pathlib.Path, help="GPT-2's merges file")
    parser.add_argument("--text", type=pathlib.Path, help="where the words of the mixed text come from")
    parser.add_argument("--plain", action="store_true", help="encode --text as it is")
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--splitters", default=",".join(PATTERNS))
    parser.add_argument("--vocab", type=int, default=32000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--owlet", default=str(ROOT / "build" / "release" / "owlet"))
    arguments = parser.parse_args()
    if arguments.what == "encode" and not arguments.ranks:
        parser.error("encode needs --ranks")
    with tempfile.TemporaryDirectory(prefix="owlet-tokenizers-") as folder:
        compare = compare_encoding if arguments.what == "encode" else compare_training
        print(json.dumps(compare(arguments, pathlib.Path(folder)), indent=2))


if __name__ == "__main__":
    main()
