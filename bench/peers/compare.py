#!/usr/bin/env python3
"""Owlet against PyTorch on this machine: the same model, first weights and batches, in turns.

    bench/peers/compare.py --preset stories-15m                      # bf16: Owlet, PyTorch eager, PyTorch compiled
    bench/peers/compare.py --preset stories-110m --dtype f32
    bench/peers/compare.py --preset stories-15m --rounds 1 --steps 48   # losses after 50 steps

Makes a virtual environment with the pinned packages of requirements.txt in build/peers (or takes --python).
PyTorch runs with the allocator settings that are fastest for it here (docs/performance.md). Prints a table on stderr
and one JSON document on stdout.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# glibc gives freed memory back at once by default; touching it again costs PyTorch more than its arithmetic.
TUNED_MALLOC = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    "MALLOC_TOP_PAD_": "7000000000",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def python_with_torch(arguments):
    if arguments.python:
        return arguments.python
    folder = ROOT / "build" / "peers"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, stdout=sys.stderr)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True,
                       stdout=sys.stderr)
    return str(python)


def run_json(command, **environment):
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    result = subprocess.run([str(word) for word in command], env=env | environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)} failed:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout.strip().splitlines()[-1] if result.stdout.count("\n") < 3 else result.stdout)


def owlet_command(arguments, *more):
    command = [arguments.owlet, "bench", "train", "--preset", arguments.preset, "--steps", arguments.steps, "--dtype",
               arguments.dtype, "--json", "--quiet", "--threads", arguments.threads,
               "--set", "schedule.kind=constant", "--set", "schedule.warmup_steps=0"]
    if arguments.context:
        command += ["--context", arguments.context]
    if arguments.batch:
        command += ["--batch", arguments.batch]
    return command + list(more)


def contestants(arguments, python, start):
    peer = [python, HERE / "pytorch_llama.py", start, "--dtype", arguments.dtype, "--steps", arguments.steps,
            "--threads", arguments.threads]
    runs = {"owlet": lambda: run_json(owlet_command(arguments))}
    for mode in arguments.modes.split(","):
        runs[f"pytorch {mode}"] = lambda mode=mode: run_json(peer + ["--mode", mode], **TUNED_MALLOC)
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="stories-15m")
    parser.add_argument("--context", type=int, default=0)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--dtype", choices=["bf16", "f32"], default="bf16")
    parser.add_argument("--modes", default="eager,compile", help="of PyTorch: eager, compile or both")
    parser.add_argument("--rounds", type=int, default=2, help="how often the programs take turns")
    parser.add_argument("--steps", type=int, default=5, help="steps that count, in each round; two more warm up")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--owlet", default=str(ROOT / "build" / "release" / "owlet"))
    parser.add_argument("--python", default="", help="an interpreter that has the packages of requirements.txt")
    arguments = parser.parse_args()
    python = python_with_torch(arguments)
    start = tempfile.mkdtemp(prefix="owlet-peers-")
    try:
        run_json(owlet_command(arguments, "--save-start", start))
        results = {name: [] for name in contestants(arguments, python, start)}
        for round_number in range(arguments.rounds):
            for name, run in contestants(arguments, python, start).items():
                results[name].append(run())
                print(f"round {round_number + 1}: {name} {results[name][-1]['step_seconds']:.3f} s", file=sys.stderr)
    finally:
        shutil.rmtree(start)

    summary = {}
    for name, runs in results.items():
        seconds = [value for run in runs for value in run["all_step_seconds"]]
        summary[name] = {
            "step_seconds": statistics.median(seconds),
            "last_loss": runs[0]["losses"][-1],
            "peak_resident_bytes": max(run["peak_resident_bytes"] for run in runs),
        }
    own = summary["owlet"]
    print(f"{'program':<18}{'s/step':>8}{'owlet is':>10}{'peak memory':>13}{'owlet takes':>13}{'last loss':>11}",
          file=sys.stderr)
    for name, row in summary.items():
        row["times_slower_than_owlet"] = row["step_seconds"] / own["step_seconds"]
        row["owlet_memory_share"] = own["peak_resident_bytes"] / row["peak_resident_bytes"]
        row["loss_difference"] = row["last_loss"] / own["last_loss"] - 1
        print(f"{name:<18}{row['step_seconds']:>8.3f}{row['times_slower_than_owlet']:>8.2f} x"
              f"{row['peak_resident_bytes'] / 1e9:>10.2f} GB{100 * row['owlet_memory_share']:>11.0f} %"
              f"{row['last_loss']:>11.4f}", file=sys.stderr)
    print(json.dumps({"preset": arguments.preset, "dtype": arguments.dtype, "rounds": arguments.rounds,
                      "steps": arguments.steps, "programs": summary}, indent=2))


if __name__ == "__main__":
    main()
