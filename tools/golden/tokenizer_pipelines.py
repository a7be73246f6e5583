#!/usr/bin/env python3
"""Writes tests/golden/text/pipelines.json: what `tokenizers` makes of difficult strings under every kind of normalizer,
splitter, model option, decoder and post-processor that src/text reads.

  python tools/golden/tokenizer_pipelines.py            (versions: tools/golden/requirements.txt)
  python tools/golden/tokenizer_pipelines.py --many N   N random strings for each instead, to standard output

The file holds the texts, a model of characters (the byte-level one is that of own/) and a list of settings: sections that
replace those of a plain document, and for each text its ids, the ids with special tokens where those are more, and the
decoded ids where they are not the text. Texts with the ids of the model's first setting are left out.
"""
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from text_goldens import BYTE_LEVEL, OUT, nasty_strings

NO_REGEX = {**BYTE_LEVEL, "use_regex": False}
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
BEHAVIORS = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
ODD_REGEXES = [r"\h+", r"^a|b$", r"a*", r"\d{1,2}+", r"[a-z&&[^aeiou]]+", r"[a-z&&[aeiou]]", r"\bthe\b", r"(?i:the|we're)", r"\w+", r"\W", r"[[:alpha:]]+",
               r"(?m:a.b)", r"a.b", r"\p{^L}+", r"\P{L}", r"\p{Lu}+", r"x{,2}y", r"(?<=a)b|(?<!a)c", r"\s", r"[^\s\w]+", r"\p{Han}+", r"(a)\1", r"\x{E9}|\u00e9", r"e\b|\Bl"]

TEXTS = [
    "", "a", " ", "a  b", " a ", "the owl, the owls", "def f():\n    return  x", "hello, world!", "it's we're I'll", "IT'S WE'RE 'sam 'ſx", "1234567!!", "x1y22z333 3.14", "²½ १२३ Ⅷ",
    "naïve café cafe\u0301", "Ångström ÀÉ ß İstanbul ǅ ﬁ", "猫が寝ている。한국어", "हिन्दी العربية", "😀👍🏽", "a\u00a0b\u3000c", "a\n\nb\r\nc \n", "  \n \n  ", "a \n ", "\x1c\x85\u180e\u200b",
    "snake_case __x__ $5 <b>", "----====", "aaabbb aab abab", "a\nb b\na", "xxyy xy yxxx", "(a)[b]{c}", "▁a ▁▁b", "<0x41> <unk>", "a<|endoftext|>b", "ac bc abc cab", "e\u0302\u0301\u0323x", "q\u0307\u0323 각 \u1100\u1161\u11a8", "THE The the", "word\u0301ing 12a34", "中ab文cd", "\U00010400\U00010428", "ss ß SS",
]


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_settings():
    """(name, sections) on top of the byte-level model."""
    result = [("plain", {}), ("prefix space", {"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}),
              ("no regex", {"pre_tokenizer": NO_REGEX}),
              ("ignore merges", {"model": {"ignore_merges": True}}),
              ("falcon", {"pre_tokenizer": sequence({"type": "Punctuation", "behavior": "Contiguous"}, BYTE_LEVEL, {"type": "Digits", "individual_digits": False},
                                                    split("[0-9][0-9][0-9]"))})]
    for name, regex in [("llama3", LLAMA3), ("cl100k", CL100K), ("qwen2", QWEN2), ("o200k", O200K), ("deepseek", DEEPSEEK)]:
        result.append((name, {"pre_tokenizer": sequence(split(regex), NO_REGEX)}))
    result.append(("qwen2 nfc", {"normalizer": {"type": "NFC"}, "pre_tokenizer": sequence(split(QWEN2), NO_REGEX)}))
    for behavior in BEHAVIORS:
        for invert in (False, True):
            result.append((f"split {behavior} {invert}", {"pre_tokenizer": sequence(split(r"\s+|b", behavior, invert), NO_REGEX)}))
        result.append((f"punctuation {behavior}", {"pre_tokenizer": sequence({"type": "Punctuation", "behavior": behavior}, NO_REGEX)}))
        result.append((f"string {behavior}", {"pre_tokenizer": sequence(split(" ", behavior, False, "String"), NO_REGEX)}))
    for individual in (False, True):
        result.append((f"digits {individual}", {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": individual}, NO_REGEX)}))
    for step in ["Whitespace", "WhitespaceSplit", "BertPreTokenizer"]:
        result.append((step, {"pre_tokenizer": sequence({"type": step}, NO_REGEX)}))
    result.append(("delimiter", {"pre_tokenizer": sequence({"type": "CharDelimiterSplit", "delimiter": "a"}, NO_REGEX)}))
    result.append(("fixed length", {"pre_tokenizer": sequence({"type": "FixedLength", "length": 3}, NO_REGEX)}))
    for regex in ODD_REGEXES:
        result.append((f"regex {regex}", {"pre_tokenizer": sequence(split(regex), NO_REGEX)}))
    normalizers = [{"type": t} for t in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"]]
    normalizers += [{"type": "Strip", "strip_left": left, "strip_right": not left} for left in (True, False)] + [{"type": "Prepend", "prepend": "_"}]
    normalizers += [{"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Replace", "pattern": {"String": "a"}, "content": "bb"}]
    normalizers += [{"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}]
    result += [(f"normalizer {n['type']}", {"normalizer": n}) for n in normalizers]
    result.append(("byte level normalizer", {"normalizer": {"type": "ByteLevel"}, "pre_tokenizer": None}))
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}}
    result.append(("template", {"post_processor": {"type": "Sequence", "processors": [BYTE_LEVEL, template]}}))
    result.append(("roberta", {"post_processor": {"type": "RobertaProcessing", "sep": ["a", 5], "cls": ["<|endoftext|>", 0], "trim_offsets": True, "add_prefix_space": False}}))
    return result


def char_settings():
    """(name, sections) on top of the model of characters."""
    def metaspace(scheme, splits=True):
        return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": splits}

    llama2 = {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
              "pre_tokenizer": None,
              "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                                           {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}}
    result = [("llama2", llama2)]
    for scheme in ["always", "first", "never"]:
        result.append((f"metaspace {scheme}", {"pre_tokenizer": metaspace(scheme), "decoder": metaspace(scheme)}))
    result.append(("metaspace whole", {"pre_tokenizer": metaspace("always", False), "decoder": None}))
    result.append(("gemma", {"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                             "pre_tokenizer": split(" ", "MergedWithPrevious", False, "String"),
                             "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}}))
    for model in [{"byte_fallback": False, "fuse_unk": True}, {"byte_fallback": False, "fuse_unk": False}, {"byte_fallback": False, "unk_token": None}]:
        result.append((f"unknown {model}", {"model": model, "pre_tokenizer": metaspace("never"), "decoder": {"type": "Fuse"}}))
    result.append(("suffix", {"model": {"byte_fallback": False, "end_of_word_suffix": "</w>"}, "pre_tokenizer": {"type": "WhitespaceSplit"},
                              "decoder": {"type": "BPEDecoder", "suffix": "</w>"}, "affixes": True}))
    result.append(("prefix", {"model": {"byte_fallback": False, "continuing_subword_prefix": "##"}, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None, "affixes": True}))
    return result


def train_chars():
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<unk>", "<s>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokenizer.train_from_iterator([(OUT / "training_text.txt").read_text(encoding="utf-8") + " aab abab abc"],
                                  trainers.BpeTrainer(vocab_size=420, special_tokens=specials, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    model["vocab"] = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    model["merges"] = [" ".join(m) for m in model["merges"]]
    return model


def affixed_model(model, extra):
    """The same letters with "</w>" and "##", and a few merges of them."""
    suffix, prefix = extra.get("end_of_word_suffix"), extra.get("continuing_subword_prefix")
    vocab = {"<unk>": 0}
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    for letter in letters:
        for token in ([letter, letter + suffix] if suffix else [letter, prefix + letter]):
            vocab[token] = len(vocab)
    pairs = [("t", "h"), ("th", "e</w>"), ("o", "w"), ("a", "b</w>"), ("a", "b")] if suffix else [("t", "##h"), ("th", "##e"), ("##o", "##w"), ("##b", "##b"), ("a", "##bb")]
    merges = []
    for left, right in pairs:
        vocab.setdefault(left + (right[2:] if prefix else right), len(vocab))
        merges.append([left, right])
    return {**model, **extra, "vocab": vocab, "merges": merges}


def document(model, sections):
    end = {"id": 0, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    plain = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end] if "<|endoftext|>" in model["vocab"] else [], "normalizer": None,
             "pre_tokenizer": BYTE_LEVEL, "post_processor": None, "decoder": BYTE_LEVEL, "model": model}
    return {**plain, **{k: v for k, v in sections.items() if k not in ("model", "affixes")}}


def setting(name, base, model, sections, texts):
    if sections.get("affixes"):
        model = affixed_model(model, sections["model"])
        sections = {**sections, "model": model}
    else:
        model = {**model, **sections.get("model", {})}
    tokenizer = Tokenizer.from_str(json.dumps(document(model, sections)))
    tokenizer.encode_special_tokens = True
    cases = []
    for index, text in enumerate(texts):
        case = {"text": index, "ids": tokenizer.encode(text, add_special_tokens=False).ids}
        framed = tokenizer.encode(text, add_special_tokens=True).ids
        if framed != case["ids"]:
            case["framed"] = framed
        decoded = tokenizer.decode(case["ids"], skip_special_tokens=False)
        if decoded != text and "\ufffd" not in decoded:
            case["decoded"] = decoded
        cases.append(case)
    sections = {k: v for k, v in sections.items() if k != "affixes"}
    return {"name": name, "model": base, "sections": sections, "cases": cases}


def without_repetitions(settings):
    """Leaves out what the first setting of the list says too."""
    first = settings[0]["cases"]
    return settings[:1] + [{**s, "cases": [c for c, plain in zip(s["cases"], first) if c != plain]} for s in settings[1:]]


def random_texts(count):
    draw = random.Random(7)
    parts = [p for t in TEXTS + nasty_strings() for p in (t[:4], t[-3:])] + list(" \n\t\r'sabcTHE19.,!▁_") * 4
    return ["".join(draw.choice(parts) for _ in range(draw.randint(1, 12))) for _ in range(count)]


def main():
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    texts = random_texts(many) if many else TEXTS
    bytes_model = json.loads((OUT / "own/tokenizer.json").read_text(encoding="utf-8"))["model"]
    chars_model = train_chars()
    settings = without_repetitions([setting(name, "bytes", bytes_model, sections, texts) for name, sections in byte_settings()])
    settings += without_repetitions([setting(name, "chars", chars_model, sections, texts) for name, sections in char_settings()])
    lines = ",\n".join(json.dumps(s, ensure_ascii=True, separators=(",", ":")) for s in settings)
    head = ",\n".join(f'"{name}": {json.dumps(value, ensure_ascii=True, separators=(",", ":"))}' for name, value in [("texts", texts), ("chars", chars_model)])
    text = "{" + head + ',\n"settings": [\n' + lines + "\n]}\n"
    if many:
        sys.stdout.write(text)
    else:
        (OUT / "pipelines.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
