#!/usr/bin/env python3
"""Checks that Owlet and huggingface_hub share one cache: each reads offline what the other has fetched, and both lay
the same files out in the same way. Needs huggingface_hub and a built program; the Hub is a small server on this
computer, so that no network is asked.

    golden/bin/python tools/golden/hub_cache.py [build/release/owlet]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/integration"))

from fake_hub import COMMIT, FakeHub  # noqa: E402

REPO = "roneneldan/TinyStories"
FILES = {"TinyStories-train.txt": b"A story.\n<|endoftext|>\n" * 20000, "TinyStories-valid.txt": b"Another.\n"}
CARD = b"# A card, small enough to lie in git itself\n"
CONVERTED = "default/train/0000.parquet"

# Run by huggingface_hub in a process of its own, because it reads its settings when it is imported.
READ = """
import json, sys
from huggingface_hub import hf_hub_download, scan_cache_dir, snapshot_download, try_to_load_from_cache
repo, names, converted = json.loads(sys.argv[1])
paths = {name: hf_hub_download(repo, name, repo_type="dataset") for name in names}
paths[converted] = hf_hub_download(repo, converted, repo_type="dataset", revision="refs/convert/parquet")
for name in names:
    assert try_to_load_from_cache(repo, name, repo_type="dataset") == paths[name], name
snapshot = snapshot_download(repo, repo_type="dataset", allow_patterns=names)
scan = scan_cache_dir()
assert not scan.warnings, scan.warnings
print(json.dumps({"paths": paths, "snapshot": snapshot, "repos": [r.repo_id for r in scan.repos],
                  "files": sorted(f.file_name for r in scan.repos for v in r.revisions for f in v.files)}))
"""


def environment(home, hub, is_offline=False):
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    variables.update(HF_HOME=str(home), HF_ENDPOINT=hub.url, HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_PROGRESS_BARS="1",
                     HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_UPDATE_CHECK="1")
    if is_offline:
        variables["HF_HUB_OFFLINE"] = "1"
    return variables


def run_hub_library(home, hub, is_offline):
    done = subprocess.run([sys.executable, "-c", READ, json.dumps([REPO, [*FILES, "README.md"], CONVERTED])],
                          env=environment(home, hub, is_offline), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_owlet(program, home, hub, is_offline):
    results = []
    for words in (["tiny-stories"], [REPO, "--files", "README.md"], [REPO]):
        done = subprocess.run([program, "data", "get", *words, "--json"], env=environment(home, hub, is_offline), capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        results += json.loads(done.stdout)["files"]
    return results


def layout(home):
    """Every path of the cache with what it is; lock files and lists of files, which only some calls make, left out."""
    root = home / "hub"
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir() or ".locks" in name or "/trees/" in name:
            continue
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes()
    return {name: content for name, content in found.items() if name != "CACHEDIR.TAG"}


def check_contents(paths):
    for name, content in FILES.items():
        assert pathlib.Path(paths[name]).read_bytes() == content, name
        assert f"/snapshots/{COMMIT}/" in paths[name], paths[name]


def main():
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build/release/owlet").resolve())
    with tempfile.TemporaryDirectory() as folder, FakeHub() as hub:
        ours, theirs = pathlib.Path(folder, "ours"), pathlib.Path(folder, "theirs")
        for name, content in FILES.items():
            hub.add(REPO, name, content)
        hub.add(REPO, "README.md", CARD, is_large=False)
        hub.add_parquet(REPO, "default", "train", "0000.parquet", b"PAR1 rows")

        run_owlet(program, ours, hub, is_offline=False)
        hub.requests.clear()
        read = run_hub_library(ours, hub, is_offline=True)
        check_contents(read["paths"])
        assert read["repos"] == [REPO] and not hub.requests
        print(f"huggingface_hub reads offline what Owlet fetched: {', '.join(read['files'])}")

        run_hub_library(theirs, hub, is_offline=False)
        hub.requests.clear()
        files = run_owlet(program, theirs, hub, is_offline=True)
        check_contents({entry["file"]: entry["path"] for entry in files})
        assert not hub.requests and all(entry["cached"] for entry in files)
        print(f"Owlet reads offline what huggingface_hub fetched: {', '.join(sorted(entry['file'] for entry in files))}")

        mine, other = layout(ours), layout(theirs)
        assert mine == other, (sorted(mine.keys() ^ other.keys()), [name for name in mine.keys() & other.keys() if mine[name] != other[name]])
        print(f"both lay out the same {len(mine)} files and links")

        # Each goes on using what the other has while there is a Hub: no content is sent twice.
        hub.storage_requests.clear()
        run_owlet(program, theirs, hub, is_offline=False)
        run_hub_library(ours, hub, is_offline=False)
        assert not hub.storage_requests, hub.storage_requests
        print("online, neither fetches again what the other has")


if __name__ == "__main__":
    main()
