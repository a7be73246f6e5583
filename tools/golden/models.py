"""Writes tests/golden/models/*.json: what transformers' own decoders compute for small models with known weights.

Run (Python 3.11, see requirements.txt):   python tools/golden/models.py

Weights, tokens and probes follow from names by a hash (hashed()), so that no weight is stored: the C++ side
(tests/support/golden_model.hpp) computes the same numbers. Everything runs in float64; modules of transformers
that drop to float32 inside (RMSNorm, rotary angles) are replaced by the same formula in float64, and the script checks
that the untouched float32 model agrees to float32 accuracy. Constants that C++ holds as float (eps, attention scale,
AdamW's numbers) are rounded to float32 here too.

Per model: tokens, targets, losses, logits of two positions; gradients of the mean loss and, after ten AdamW steps, the
weights: per tensor its norm, its product with a probe vector, and eight entries. Names there are Owlet's own.
Files: about 150 KB in all.
"""

import json
import math
import pathlib
import sys
import tempfile
import types

import numpy as np
import safetensors
import torch
import transformers

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "models"
NUM_STEPS = 10
NUM_SAMPLES = 8


def f32(value):
    """The float64 number that C++ sees when it holds `value` as float."""
    return float(np.float32(value))


def hashed(name, count):
    """`count` integers below 2^16: FNV-1a of the name, then SplitMix64 of the position."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(h) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(48)).astype(np.int64)


def centred(name, count):
    """`count` numbers in [-0.5, 0.5) with 16 bits."""
    return (hashed(name, count).astype(np.float64) - 32768) / 65536


def is_gain(name):
    return name.endswith(".weight") and any(part in name for part in ("norm", "ln_1", "ln_2", "ln_f"))


def weight_values(name, shape):
    values = 0.5 * centred(name, math.prod(shape)) + (1.0 if is_gain(name) else 0.0)
    return torch.tensor(values.reshape(shape), dtype=torch.float64)


def set_weights(model):
    # Parameters, not the state dict: a tied head is the embedding and keeps its values.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weight_values(name, tuple(parameter.shape)))


def rms_norm_forward(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def rotary_forward(self, x, position_ids):
    size = self.inv_freq.shape[0] * 2
    frequencies = self.config.rope_parameters["rope_theta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = position_ids[..., None].double() * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def gptj_positions(module):
    size = module.pos_embd_dim
    frequencies = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(module.max_positions, dtype=torch.float64)[:, None] * frequencies
    return torch.cat((torch.sin(angles), torch.cos(angles)), dim=1)


def to_float64(model):
    model.double()
    for module in model.modules():
        kind = type(module).__name__
        if kind.endswith("RMSNorm"):
            module.forward = types.MethodType(rms_norm_forward, module)
        elif kind == "GPTJRotaryEmbedding":
            module.embed_positions = gptj_positions(module)
        elif kind.endswith("RotaryEmbedding"):
            module.forward = types.MethodType(rotary_forward, module)
        if hasattr(module, "scaling"):
            module.scaling = f32(module.scaling)


def make_batch(name, vocab_size, rows, context, document_starts):
    """Tokens, targets (-1: not scored), positions and first tokens of documents, as lists of rows."""
    tokens = hashed(name + ".tokens", rows * context).reshape(rows, context) % vocab_size
    starts = np.array(document_starts)
    positions = np.arange(context)[None, :] - starts
    targets = np.full((rows, context), -1)
    for b in range(rows):
        for t in range(context - 1):
            if starts[b, t + 1] == starts[b, t]:
                targets[b, t] = tokens[b, t + 1]
    targets[rows - 1, 2] = -1
    return {
        "tokens": tokens.tolist(),
        "targets": targets.tolist(),
        "positions": positions.tolist(),
        "document_starts": starts.tolist(),
    }


def run_model(model, batch, has_documents):
    tokens = torch.tensor(batch["tokens"])
    options = {"position_ids": torch.tensor(batch["positions"])}
    if has_documents:
        starts = torch.tensor(batch["document_starts"])
        key = torch.arange(tokens.shape[1])
        query = key[:, None]
        options["attention_mask"] = ((key <= query) & (key >= starts[:, :, None]))[:, None]
    return model(tokens, use_cache=False, **options).logits


def token_losses(logits, batch):
    targets = torch.tensor(batch["targets"])
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="none"
    )
    return losses.reshape(targets.shape)


def mean_loss(model, batch, has_documents):
    num_valid = sum(target >= 0 for row in batch["targets"] for target in row)
    losses = token_losses(run_model(model, batch, has_documents), batch)
    return losses, losses.sum() * f32(1.0 / num_valid)


def own_names(family, name, value):
    """Owlet's parameters inside one tensor of the Hub: (name, values)."""
    if family not in ("gpt2", "gptj"):
        return [(name, value)]
    for hub, own in (
        ("transformer.wte", "model.embed_tokens"),
        ("transformer.wpe", "model.embed_positions"),
        ("transformer.ln_f", "model.norm"),
        ("transformer.h.", "model.layers."),
        (".ln_1.", ".input_layernorm."),
        (".ln_2.", ".post_attention_layernorm."),
        (".attn.out_proj.", ".self_attn.o_proj."),
        (".attn.c_proj.", ".self_attn.o_proj."),
        (".attn.", ".self_attn."),
        (".mlp.c_fc.", ".mlp.up_proj."),
        (".mlp.c_proj.", ".mlp.down_proj."),
        (".mlp.fc_in.", ".mlp.up_proj."),
        (".mlp.fc_out.", ".mlp.down_proj."),
    ):
        name = name.replace(hub, own)
    is_convolution = family == "gpt2" and ".layers." in name and value.dim() == 2
    if is_convolution:
        value = value.T
    if ".c_attn." in name:
        parts = value.chunk(3, dim=0)
        return [(name.replace("c_attn", part), v) for part, v in zip(("q_proj", "k_proj", "v_proj"), parts)]
    return [(name, value)]


def summary(name, value):
    flat = value.detach().double().contiguous().flatten().numpy()
    indices = hashed(name + ".samples", NUM_SAMPLES) % flat.size
    return {
        "norm": float(np.linalg.norm(flat)),
        "probe": float(np.dot(flat, centred(name + ".probe", flat.size))),
        "samples": [float(flat[i]) for i in indices],
    }


def summaries(family, model, pick):
    result = {}
    for hub_name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        for name, value in own_names(family, hub_name, pick(parameter)):
            result[name] = summary(name, value)
    return result


def train(family, model, batch, has_documents):
    """Ten steps of AdamW: decay on matrices only, gradients clipped to norm 1."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": f32(0.1)},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=f32(1e-3), betas=(f32(0.9), f32(0.95)), eps=f32(1e-8), foreach=False)
    result = {"step_losses": [], "gradient_norms": []}
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        _, loss = mean_loss(model, batch, has_documents)
        loss.backward()
        if step == 0:
            result["gradients"] = summaries(family, model, lambda p: p.grad)
        norm = math.sqrt(sum(float(p.grad.pow(2).sum()) for p in parameters))
        factor = f32(min(1.0, 1.0 / (norm + 1e-6)))
        for parameter in parameters:
            parameter.grad.mul_(factor)
        optimizer.step()
        result["step_losses"].append(float(loss.detach()))
        result["gradient_norms"].append(norm)
    result["weights"] = summaries(family, model, lambda p: p)
    return result


def saved_folder(model):
    """config.json and the tensor names and shapes of transformers' own folder."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        with safetensors.safe_open(pathlib.Path(folder) / "model.safetensors", "pt") as file:
            shapes = {name: list(file.get_slice(name).get_shape()) for name in sorted(file.keys())}
    return config, shapes


def make_golden(name, config, document_starts, trains=True, zero_head_bias=False):
    family = config.model_type
    config._attn_implementation = "sdpa"
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    set_weights(model)
    if zero_head_bias:
        model.lm_head.bias.requires_grad_(False)
        model.lm_head.bias.zero_()
    context = len(document_starts[0])
    has_documents = any(start for row in document_starts for start in row)
    batch = make_batch(name, config.vocab_size, len(document_starts), context, document_starts)
    hub_config, hub_shapes = saved_folder(model)

    with torch.no_grad():
        stock = run_model(model, batch, has_documents)
        to_float64(model)
        if zero_head_bias:
            model.lm_head.bias.zero_()
        logits = run_model(model, batch, has_documents)
    difference = float((stock.double() - logits).abs().max() / logits.abs().max())
    assert difference < 1e-5, f"{name}: float64 differs from stock float32 by {difference}"

    golden = {
        "made_with": f"tools/golden/models.py, torch {torch.__version__.split('+')[0]}, "
        f"transformers {transformers.__version__}",
        "config": hub_config,
        "hub_shapes": hub_shapes,
        "zero_head_bias": zero_head_bias,
        "batch": batch,
        "losses": token_losses(logits, batch).tolist(),
        "logits": {str(t): logits[0, t].tolist() for t in (3, context - 1)},
    }
    if trains:
        golden.update(train(family, model, batch, has_documents))
    text = json.dumps(golden, indent=None, separators=(",", ":"))
    # One line per top-level entry: short enough to look at.
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(golden[key])}" for key in golden)
    (OUT / f"{name}.json").write_text("{\n" + lines + "\n}\n")
    print(f"{name}: {len(text) / 1000:.0f} KB, stock float32 differs by {difference:.1e}", file=sys.stderr)


def main():
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    plain = [[0] * 9, [0] * 9]
    packed = [[0] * 5 + [5] * 4, [0] * 9]
    sizes = {
        "vocab_size": 61,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 16,
        "rms_norm_eps": f32(1e-5),
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    make_golden("llama", transformers.LlamaConfig(**sizes, tie_word_embeddings=True), packed)
    make_golden(
        "llama_untied_biases",
        transformers.LlamaConfig(
            **sizes, attention_bias=True, mlp_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 5e5}
        ),
        plain,
        trains=False,
    )
    make_golden("mistral", transformers.MistralConfig(**sizes, sliding_window=3, head_dim=16), plain)
    make_golden("qwen2", transformers.Qwen2Config(**sizes), packed)

    gpt_sizes = {
        "vocab_size": 61,
        "n_positions": 16,
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 2,
        "layer_norm_epsilon": f32(1e-5),
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    make_golden("gpt2", transformers.GPT2Config(**gpt_sizes), plain)
    make_golden("gptj", transformers.GPTJConfig(**gpt_sizes, rotary_dim=8), plain, trains=False)
    make_golden("gptj_zero_bias", transformers.GPTJConfig(**gpt_sizes, rotary_dim=8), plain, zero_head_bias=True)


if __name__ == "__main__":
    main()
