"""The outside world on this machine: takes the calls that effects make, and answers as a step tells it to."""

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Call:
    path: str
    headers: dict
    body: bytes
    answered: int


class Destination:
    def __init__(self):
        self.calls = []
        self.answers = []
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"destination": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def answer_next(self, *statuses):
        """The statuses of the next calls; 200 after them."""
        with self.lock:
            self.answers = list(statuses)

    def take(self, path, headers, body):
        with self.lock:
            status = self.answers.pop(0) if self.answers else 200
            self.calls.append(Call(path, headers, body, status))
            return status

    def about(self, text):
        """The calls whose body has this text."""
        with self.lock:
            return [call for call in self.calls if text.encode() in call.body]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    destination = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status = self.destination.take(self.path, headers, body)
        self.send_response_only(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
