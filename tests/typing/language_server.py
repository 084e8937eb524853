"""As much of the language server protocol as asks pyright for completions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


class LanguageServer:
    """pyright's server with one open file in `folder`, whose settings are written there."""

    def __init__(self, folder: Path, text: str) -> None:
        (folder / "program.py").write_text(text)
        self._uri = (folder / "program.py").as_uri()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._asked = 0
        workspace = {"uri": folder.as_uri(), "name": "tests"}
        self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": folder.as_uri(),
                "capabilities": {},
                "workspaceFolders": [workspace],
            },
        )
        self._send({"method": "initialized", "params": {}})
        document = {"uri": self._uri, "languageId": "python", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def __enter__(self) -> LanguageServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def completions(self, line: int, character: int) -> list[str]:
        """What may follow at a place, both counted from 0, without Python's own names."""
        position = {"line": line, "character": character}
        where = {"textDocument": {"uri": self._uri}, "position": position}
        found = self.ask("textDocument/completion", where)
        items = found["items"] if isinstance(found, dict) else found
        labels = (item["label"] for item in items)
        return [label for label in labels if not label.startswith("__")]

    def ask(self, method: str, params: dict) -> object:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._asked and "method" not in message:
                return message.get("result")
            if "id" in message:  # a question of the server: it goes on without our settings
                items = message["params"].get("items", []) if message.get("params") else []
                self._send({"id": message["id"], "result": [{} for _ in items]})

    def _send(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict:
        length = 0
        while (line := self._process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self._process.stdout.read(length))
