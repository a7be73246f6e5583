"""Trains a Llama-type model with PyTorch from the weights and batches that `owlet bench train --save-start` wrote.

Prints one JSON document: seconds of each step that counts, losses of all steps, peak resident bytes. The model is
written as a careful PyTorch user would: one product for q, k, v and one for gate and up, scaled_dot_product_attention,
bf16 autocast, fused AdamW. Used by compare.py.
"""

import argparse
import json
import pathlib
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn


def rotary_table(config, context):
    size = config["hidden_size"] // config["num_attention_heads"]
    rates = config["rope_theta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.outer(torch.arange(context, dtype=torch.float64), rates)
    angles = torch.cat([angles, angles], dim=1)  # (T, D): the Hub's layout, halves
    return angles.cos().float(), angles.sin().float()


def rotate(x, cosines, sines):  # (B, heads, T, D)
    first, second = x.chunk(2, dim=-1)
    return (x * cosines + torch.cat([-second, first], dim=-1) * sines).to(x.dtype)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        C, F_ = config["hidden_size"], config["intermediate_size"]
        self.H, self.K = config["num_attention_heads"], config["num_key_value_heads"]
        self.D = C // self.H
        self.eps = config["rms_norm_eps"]
        self.attention_norm = nn.Parameter(torch.ones(C))
        self.feed_forward_norm = nn.Parameter(torch.ones(C))
        self.qkv = nn.Linear(C, (self.H + 2 * self.K) * self.D, bias=False)
        self.output = nn.Linear(C, C, bias=False)
        self.gate_up = nn.Linear(C, 2 * F_, bias=False)
        self.down = nn.Linear(F_, C, bias=False)

    def forward(self, x, cosines, sines):
        B, T, C = x.shape
        h = F.rms_norm(x, (C,), self.attention_norm, self.eps)
        q, k, v = self.qkv(h).split([self.H * self.D, self.K * self.D, self.K * self.D], dim=-1)
        q = rotate(q.view(B, T, self.H, self.D).transpose(1, 2), cosines, sines)
        k = rotate(k.view(B, T, self.K, self.D).transpose(1, 2), cosines, sines)
        v = v.view(B, T, self.K, self.D).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.H != self.K)
        x = x + self.output(y.transpose(1, 2).reshape(B, T, C))
        h = F.rms_norm(x, (C,), self.feed_forward_norm, self.eps)
        gate, up = self.gate_up(h).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.Parameter(torch.ones(config["hidden_size"]))
        self.eps = config["rms_norm_eps"]

    def forward(self, tokens, targets, cosines, sines):
        x = self.embed(tokens)
        if torch.is_autocast_enabled("cpu"):
            x = x.bfloat16()
        for block in self.blocks:
            x = block(x, cosines, sines)
        x = F.rms_norm(x, (x.shape[-1],), self.norm, self.eps)
        logits = F.linear(x, self.embed.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def load_weights(model, weights):
    def copy(parameter, *names):
        parameter.data.copy_(torch.cat([weights[name] for name in names]))

    copy(model.embed.weight, "model.embed_tokens.weight")
    copy(model.norm, "model.norm.weight")
    for i, block in enumerate(model.blocks):
        name = f"model.layers.{i}."
        copy(block.attention_norm, name + "input_layernorm.weight")
        copy(block.feed_forward_norm, name + "post_attention_layernorm.weight")
        copy(block.qkv.weight, *(f"{name}self_attn.{part}_proj.weight" for part in "qkv"))
        copy(block.output.weight, name + "self_attn.o_proj.weight")
        copy(block.gate_up.weight, name + "mlp.gate_proj.weight", name + "mlp.up_proj.weight")
        copy(block.down.weight, name + "mlp.down_proj.weight")


def make_optimizer(model, settings):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": settings["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        groups, lr=1e-3, betas=(settings["beta1"], settings["beta2"]), eps=settings["eps"], fused=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("start", type=pathlib.Path, help="folder written by owlet bench train --save-start")
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--dtype", choices=["bf16", "f32"], default="bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    config = json.loads((arguments.start / "config.json").read_text())
    settings = json.loads((arguments.start / "training.json").read_text())
    config.setdefault("rope_theta", 10000.0)
    batches = load_file(arguments.start / "batches.safetensors")
    model = Llama(config)
    load_weights(model, load_file(arguments.start / "model.safetensors"))
    optimizer = make_optimizer(model, settings)
    step_model = torch.compile(model) if arguments.mode == "compile" else model
    cosines, sines = rotary_table(config, batches["inputs"].shape[2])

    losses, seconds = [], []
    for step in range(arguments.warmup + arguments.steps):
        inputs, targets = batches["inputs"][step].long(), batches["targets"][step].long()
        for group in optimizer.param_groups:
            group["lr"] = settings["learning_rates"][step]
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=arguments.dtype == "bf16"):
            loss = step_model(inputs, targets, cosines, sines)
        loss.backward()
        if settings["clip"] > 0:
            nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step >= arguments.warmup:
            seconds.append(time.perf_counter() - start)
    print(json.dumps({
        "program": f"PyTorch {torch.__version__} {arguments.mode}",
        "step_seconds": statistics.median(seconds),
        "all_step_seconds": seconds,
        "losses": losses,
        "peak_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))


if __name__ == "__main__":
    main()
