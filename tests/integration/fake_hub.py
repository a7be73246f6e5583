"""A small Hub for tests: files of data sets, lists, redirects to a storage server of its own, and faults on request.

    with FakeHub() as hub:
        hub.add("org/set", "train.txt", b"text")
        subprocess.run([..., "--endpoint", hub.url])
"""

import hashlib
import http.server
import json
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONVERTED_COMMIT = "fedcba9876543210fedcba9876543210fedcba98"


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.server.answer(self)

    def do_GET(self):
        self.server.answer(self)

    def send(self, status, headers=(), body=b"", cut_at=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if "Content-Length" not in dict(headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if cut_at is None:
            self.wfile.write(body)
            return
        self.wfile.write(body[:cut_at])
        self.wfile.flush()
        self.close_connection = True

    def send_content(self, content, headers=(), cut_at=None):
        """The content, from where a Range header asks for it."""
        wanted = self.headers.get("Range")
        if wanted is None:
            return self.send(200, headers, content, cut_at)
        first = int(wanted.split("=")[1].rstrip("-"))
        if first >= len(content):
            return self.send(416, {"Content-Range": f"bytes */{len(content)}"})
        span = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}
        return self.send(206, {**dict(headers), **span}, content[first:], cut_at)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class FakeHub:
    """Files added as large lie on a second server, whose requests are in `storage_requests`."""

    def __init__(self):
        self.files = {}  # (repo, revision) -> {path: (content, is_large)}
        self.commits = {}  # revision -> commit
        self.parquet = {}  # repo -> the dataset server's answer, without addresses
        self.requests, self.storage_requests = [], []  # (method, path, headers)
        self.fault = None  # f(handler) -> True if it has answered; asked first
        self.storage_fault = None
        self._hub, self._storage = _Server(self._answer), _Server(self._answer_storage)
        self.url, self.storage_url = self._hub.url, self._storage.url

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._hub.stop()
        self._storage.stop()

    def add(self, repo, path, content, is_large=True, revision="main", commit=COMMIT):
        self.commits[revision] = commit
        self.files.setdefault((repo, revision), {})[path] = (content, is_large)

    def add_parquet(self, repo, config, split, name, content):
        """A converted file, in the branch and in the dataset server's list."""
        self.add(repo, f"{config}/{split}/{name}", content, revision="refs/convert/parquet", commit=CONVERTED_COMMIT)
        listing = self.parquet.setdefault(repo, {"parquet_files": [], "pending": [], "failed": [], "partial": False})
        listing["parquet_files"].append({"dataset": repo, "config": config, "split": split, "filename": name, "size": len(content),
                                         "url": f"https://huggingface.co/datasets/{repo}/resolve/refs%2Fconvert%2Fparquet/{config}/{split}/{name}"})

    def contents(self, method="GET"):
        """Requests for the bytes of files: (path, Range or None)."""
        return [(path, headers.get("Range")) for verb, path, headers in self.requests + self.storage_requests
                if verb == method and ("/resolve/" in path or path.startswith("/storage/"))]

    def _find(self, repo, revision):
        for name, commit in self.commits.items():
            if revision in (name, commit) and (repo, name) in self.files:
                return self.files[repo, name], commit
        return None, None

    def _answer(self, handler):
        self.requests.append((handler.command, handler.path, dict(handler.headers)))
        if self.fault and self.fault(handler):
            return None
        path, _, query = handler.path.partition("?")
        parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
        if path == "/parquet":
            repo = urllib.parse.parse_qs(query)["dataset"][0]
            if repo in self.parquet:
                return self._send_json(handler, self.parquet[repo])
            return handler.send(404, {"X-Error-Code": "ResponseNotFound"}, b"{}")
        if parts[:2] == ["api", "datasets"] and len(parts) >= 6:
            return self._answer_api(handler, "/".join(parts[2:4]), parts[4], parts[5], "/".join(parts[6:]))
        if parts[0] == "datasets" and len(parts) > 5 and parts[3] == "resolve":
            return self._answer_file(handler, "/".join(parts[1:3]), parts[4], "/".join(parts[5:]))
        return self._send_missing(handler, "RepoNotFound", "Repository not found")

    def _answer_api(self, handler, repo, verb, revision, below):
        files, commit = self._find(repo, revision)
        if files is None:
            known = any(name == repo for name, _ in self.files)
            return self._send_missing(handler, "RevisionNotFound" if known else "RepoNotFound", "Not found")
        if verb == "revision":
            return self._send_json(handler, {"id": repo, "sha": commit})
        entries = []
        for path, (content, is_large) in sorted(files.items()):
            if below and not path.startswith(below + "/"):
                continue
            entry = {"type": "file", "path": path, "size": len(content), "oid": git_sha1(content)}
            if is_large:
                entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            entries.append(entry)
        return self._send_json(handler, entries)

    def _answer_file(self, handler, repo, revision, path):
        files, commit = self._find(repo, revision)
        if files is None:
            return self._send_missing(handler, "RepoNotFound", "Repository not found")
        if path not in files:
            return handler.send(404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found", "X-Repo-Commit": commit})
        content, is_large = files[path]
        if not is_large:
            return handler.send_content(content, {"X-Repo-Commit": commit, "ETag": f'"{git_sha1(content)}"'})
        digest = hashlib.sha256(content).hexdigest()
        self._stored = getattr(self, "_stored", {})
        self._stored[digest] = content
        return handler.send(302, {"X-Repo-Commit": commit, "X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(content)),
                                  "ETag": f'"{digest[:32]}"', "Location": f"{self.storage_url}/storage/{digest}"})

    def _answer_storage(self, handler):
        self.storage_requests.append((handler.command, handler.path, dict(handler.headers)))
        if self.storage_fault and self.storage_fault(handler, self._stored.get(handler.path.split("/")[-1])):
            return None
        return handler.send_content(self._stored[handler.path.split("/")[-1]])

    @staticmethod
    def _send_json(handler, document):
        handler.send(200, {"Content-Type": "application/json"}, json.dumps(document).encode())

    @staticmethod
    def _send_missing(handler, code, message):
        handler.send(404, {"X-Error-Code": code, "X-Error-Message": message})
