"""A web server on this machine that behaves as badly as asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Server:
    """What is served and how; ``asked`` collects the Range headers it got."""

    files: dict[str, bytes]
    cuts: list[int] = field(default_factory=list)  # bytes after which the next connections break
    ranges: bool = True
    status: int | None = None  # answer with this error
    asked: list[str | None] = field(default_factory=list)
    address: str = ""

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@contextmanager
def serve(files: dict[str, bytes], **manners: object) -> Iterator[Server]:
    server = Server(files, **manners)  # type: ignore[arg-type]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = server.files[self.path.removeprefix("/")]
            span = self.headers.get("Range")
            server.asked.append(span)
            start = int(span.removeprefix("bytes=").rstrip("-")) if span and server.ranges else 0
            if server.status is not None or start >= len(content):
                self.send_error(server.status or 416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            stop = start + server.cuts.pop(0) if server.cuts else len(content)
            self.wfile.write(content[start:stop])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        server.address = f"http://127.0.0.1:{web.server_port}"
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            web.shutdown()
            thread.join()
