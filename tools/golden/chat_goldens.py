#!/usr/bin/env python3
"""Writes tests/golden/text/chat: what transformers makes of conversations with the chat templates that Owlet writes.

  owlet data prepare-chat SET.json --tokenizer tests/golden/text/own --template NAME --out FOLDER
  python tools/golden/chat_goldens.py NAME FOLDER/tokenizer [NAME FOLDER/tokenizer …]

NAME.json holds the tokenizer_config.json of the folder and, per conversation, the text and the ids of apply_chat_template,
its mask of assistant tokens, and the ids of the prompt of its last answer. Versions: tools/golden/requirements.txt.
"""
import json
import os
import pathlib
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from transformers import AutoTokenizer  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "text" / "chat"


def messages(*contents, system=None):
    first = [] if system is None else [{"role": "system", "content": system}]
    return first + [{"role": "assistant" if i % 2 else "user", "content": c} for i, c in enumerate(contents)]


# None begins or ends with white space, and none holds the text of a control token: there Owlet differs on purpose.
CONVERSATIONS = [
    messages("Hi", "Hello!"),
    messages("Hi", "Hello!", system="Be brief."),
    messages("What is 2+2?", "4", "And 3+3?", "6.", "Thanks", "You're welcome!", system="You are a calculator."),
    messages("Write\n\ntwo paragraphs", "One.\n\nTwo.\n  indented\tline", "naïve 猫 😀", "ünïcödé ✓"),
    messages("{'a': [1, 2]} {{ bos_token }} {% if x %}", "\\n \\\\ \"quoted\" 'single' <b>&amp;</b>"),
    messages("a", "b" * 300, system="s" * 50),
    messages("<|im_start", "im_end|> <| |>"),
]


def golden(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    cases = []
    for conversation in CONVERSATIONS:
        encoded = tokenizer.apply_chat_template(conversation, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
        prompt = tokenizer.apply_chat_template(conversation[:-1], tokenize=True, add_generation_prompt=True, return_dict=True)
        cases.append({
            "messages": conversation,
            "text": tokenizer.apply_chat_template(conversation, tokenize=False),
            "ids": encoded["input_ids"],
            "mask": encoded["assistant_masks"],
            "prompt_ids": prompt["input_ids"],
        })
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    return {"bos": tokenizer.bos_token, "eos": tokenizer.eos_token, "eos_id": tokenizer.eos_token_id, "vocab_size": len(tokenizer), "config": config, "cases": cases}


def main(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    for name, folder in zip(arguments[::2], arguments[1::2]):
        text = json.dumps(golden(pathlib.Path(folder)), ensure_ascii=True, separators=(",", ":"))
        (OUT / f"{name}.json").write_text(text.replace('{"messages"', '\n{"messages"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
