"""Golden for src/train/hub_folder_test.cpp: loads a checkpoint folder that Owlet wrote as LlamaForCausalLM and keeps the logits.

Usage: python3 tools/golden/checkpoint.py FOLDER   (see the test's head for how to make FOLDER)
Writes tests/golden/train/hub_folder.json: CRC-32 of each Hub file, token ids, logits (T, V) in float64.
"""

import json
import pathlib
import sys
import zlib

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
TEXT = "Owlet, naïve 猫"


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    model, loading = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
    assert type(AutoModelForCausalLM.from_pretrained(folder)) is LlamaForCausalLM
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text_ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert text_ids == list(TEXT.encode()), text_ids
    ids = [model.generation_config.bos_token_id, *text_ids][: model.config.max_position_embeddings]
    with torch.no_grad():
        logits = model.double()(torch.tensor([ids])).logits[0]
    golden = {
        "files": {name: zlib.crc32((folder / name).read_bytes()) for name in FILES},
        "ids": ids,
        "logits": [[round(value, 7) for value in row] for row in logits.tolist()],
    }
    target = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/train/hub_folder.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{target}: {len(ids)} positions, {logits.shape[1]} logits each")


if __name__ == "__main__":
    main()
