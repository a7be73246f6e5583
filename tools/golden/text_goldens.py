#!/usr/bin/env python3
"""Writes tests/golden/text: what the Hugging Face packages say about tokenizers, for the unit tests of src/text.

  python tools/golden/text_goldens.py            (versions: tools/golden/requirements.txt)

gpt2.json          strings with their GPT-2 ids, specials taken as plain text and parsed; needs ../shared/data
own/               the tokenizer that our trainer makes of training_text.txt, as our writer writes it; ids.json its ids
bytes/             the byte tokenizer, the same
added_tokens.json  cases for every flag of added tokens, on top of own/
"""
import itertools
import json
import os
import pathlib
import random

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
OUT = ROOT / "tests" / "golden" / "text"
END_OF_TEXT = "<|endoftext|>"
OWN_VOCAB_SIZE = 400

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def nasty_strings():
    """Strings that tell splitters, merge orders and character classes apart."""
    fixed = [
        "", "a", " ", "  ", "\n", "a  b", "a   b", " a", "a ", "a  ", "  a", "\ta\t\tb", "a\n\nb", "a \n b", "\n \n", "a\r\nb\r\n",
        "def f():\n    return  x", "def f():\n\treturn x  \n\n\n", "brutalist", "hello", "hello, world!", "Hello World",
        "it's we're they've I'll he'd I'm don't", "IT'S WE'RE THEY'VE I'LL", "'s", "''s", "'ll'll", "'l 'v 'r", "'", "' s", "x'", "x'S",
        "o'reilly's", "’s it’s", "'sam 'tis 'reel 'venus", "1234567!!", "3.14159", "1,000,000", " 12 34", "x1y2z3", "²³½¼", "१२३४", "Ⅷ ⅷ", "①②③", "٣٫١٤",
        "<|endoftext|>", "a<|endoftext|>b", " <|endoftext|> ", "<|endoftext|><|endoftext|>", "<|endoftext", "<|endoftext|", "|endoftext|>",
        "naïve café", "cafe\u0301", "Ångström", "ÀÉÎÕÜ ß ẞ", "Straße", "İstanbul ıI", "ǅ ǈ", "ʰʷ ª º", "猫", "猫が寝ている。", "한국어 텍스트", "ไทยไม่มีช่องว่าง",
        "हिन्दी में", "العربية مرحبا", "שלום עולם", "Привет, мир", "Ελληνικά", "አማርኛ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𠀀𠀁", "😀", "👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "👍🏽", "a😀b", " 😀", "1️⃣",
        "\u00a0", "a\u00a0b", "a \u00a0 b", "\u3000", "a\u3000\u3000b", "\u2028\u2029", "\u200b", "a\u200bb", "\u200d", "\ufeffa", "\u180e", "\x1c\x1d\x1e\x1f", "a\x1cb", "\x85", "a\x85 b", "\x00", "a\x00b", "\x7f", "\x0b\x0c", "\u1680 x", "\u202f12",
        "\ufffd", "\ue000", "\U0010ffff", "e\u0301\u0302\u0303", "\u0301a", "snake_case __init__", "x+=1;y--;z**2", "http://a.b/c?d=e&f=g#h", "a@b.de", "$5.00 €5 £5", "---- ==== ####", "!!!???", "(a)[b]{c}", "<b>x</b>",
        "AAAA aaaa", "a" * 100, " " * 60, " " * 60 + "x", "\n" * 40, "!" * 70, "0" * 64, "ab" * 60, "猫" * 50, "x" + " \n" * 20 + "y", "the" * 40, "_" * 49, "-" * 48 + "'s",
        "Once upon a time, there was a little girl named Lily.", "ROMEO:\nBut, soft! what light through yonder window breaks?\n", '{"a": [1, 2.5, null], "b": "c\\n"}',
    ]
    draw = random.Random(20240607)
    parts = ["'", "s", "'re", "ll", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "é", "猫", "1", "२", "½", "!", "_", "😀", "\u0301", "\r\n", " the", "ABC", "\x1c", END_OF_TEXT]
    mixed = ["".join(draw.choice(parts) for _ in range(draw.randint(5, 30))) for _ in range(30)]
    return fixed + mixed


def ids_of(tokenizer, text, parse_special):
    tokenizer.encode_special_tokens = not parse_special
    return tokenizer.encode(text, add_special_tokens=False).ids


def cases(tokenizer, strings):
    return [{"text": s, "ids": ids_of(tokenizer, s, False), "ids_special": ids_of(tokenizer, s, True)} for s in strings]


def write_json(path, value, indent=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, list):  # one case a line
        text = "[\n" + ",\n".join(json.dumps(v, ensure_ascii=True) for v in value) + "\n]\n"
    else:
        text = json.dumps(value, ensure_ascii=False, indent=indent) + "\n"
    path.write_text(text, encoding="utf-8")


def byte_level_bpe(vocab, merges):
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def alphabet_in_byte_order():
    by_itself = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    moved = {b: chr(256 + n) for n, b in enumerate(b for b in range(256) if b not in by_itself)}
    return [moved.get(b, chr(b)) for b in range(256)]


def tokenizer_json(vocab, merges, end_of_text_id):
    """The document as src/text writes it."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": end_of_text_id, "content": END_OF_TEXT, **flags}],
        "normalizer": None, "pre_tokenizer": BYTE_LEVEL, "post_processor": None, "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": merges},
    }


def check_transformers(folder, strings):
    """The folder loads with transformers and gives the ids that the tokenizers package gives."""
    fast = PreTrainedTokenizerFast.from_pretrained(folder)
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert fast.eos_token == END_OF_TEXT and fast.bos_token == END_OF_TEXT
    for text in strings:
        ids = fast.encode(text, add_special_tokens=False)
        assert ids == ids_of(plain, text, True), text
        assert fast.decode(ids) == text, text


def write_folder(folder, document, strings):
    write_json(folder / "tokenizer.json", document, indent=2)
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False, "clean_up_tokenization_spaces": False,
        "bos_token": END_OF_TEXT, "eos_token": END_OF_TEXT}, indent=2)
    check_transformers(folder, strings)
    write_json(folder / "ids.json", cases(Tokenizer.from_file(str(folder / "tokenizer.json")), strings))


def write_gpt2(strings):
    vocab = json.loads((SHARED / "gpt2_encoder.json").read_text(encoding="utf-8"))
    lines = (SHARED / "gpt2_vocab.bpe").read_text(encoding="utf-8").split("\n")
    tokenizer = byte_level_bpe(vocab, [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")])
    tokenizer.add_special_tokens([AddedToken(END_OF_TEXT, special=True, normalized=False)])
    write_json(OUT / "gpt2.json", cases(tokenizer, strings))


def write_own(strings):
    tokenizer = byte_level_bpe({}, [])
    trainer = trainers.BpeTrainer(vocab_size=OWN_VOCAB_SIZE, min_frequency=2, special_tokens=[END_OF_TEXT], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([(OUT / "training_text.txt").read_text(encoding="utf-8")], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocab = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    write_folder(OUT / "own", tokenizer_json(vocab, [" ".join(m) for m in model["merges"]], 0), strings)


def write_bytes(strings):
    vocab = {c: i for i, c in enumerate(alphabet_in_byte_order())}
    write_folder(OUT / "bytes", tokenizer_json(vocab, [], 256), strings)


def write_added_tokens():
    flag_names = ["special", "single_word", "lstrip", "rstrip", "normalized"]
    texts = ["", "<x>", "a<x>b", "   <x> <yy>   ", "<x><yy>", " <x>\n\n<x> ", "猫<x>猫", "1<x>_", "é <x> é", "<x", "<x><x>.", "owl the owls", "the owl", "\u3000<x>\u00a0a",
             "<x>s <yy>'s", "<yy>x<yy>", "<xx>", "(<x>)", "ⓐ<x>ⅷ", "\u0301<x>\u200d"]
    result = []
    for flags in itertools.product([False, True], repeat=len(flag_names)):
        tokens = [dict(content="<x>", **dict(zip(flag_names, flags))),
                  dict(content="<yy>", special=True, single_word=False, lstrip=False, rstrip=True, normalized=False),
                  dict(content="owl", special=False, single_word=True, lstrip=True, rstrip=False, normalized=True),
                  dict(content="<x><", special=False, single_word=True, lstrip=False, rstrip=False, normalized=False)]
        tokenizer = Tokenizer.from_file(str(OUT / "own" / "tokenizer.json"))
        for token in tokens:
            added = AddedToken(token["content"], **{k: token[k] for k in flag_names if k != "special"}, special=token["special"])
            (tokenizer.add_special_tokens if token["special"] else tokenizer.add_tokens)([added])
            token["id"] = tokenizer.token_to_id(token["content"])
        result.append({"tokens": tokens, "cases": cases(tokenizer, texts)})
    write_json(OUT / "added_tokens.json", result)


def main():
    strings = nasty_strings()
    write_own(strings)
    write_bytes(strings)
    write_added_tokens()
    write_gpt2(strings)


if __name__ == "__main__":
    main()
