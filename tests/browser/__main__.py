"""The page of `oncehook dev` in a real browser. Used by `make browser-test`."""

import argparse
import contextlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests/e2e"))

import chromium  # noqa: E402
from destination import Destination  # noqa: E402
from scenes import SCENES  # noqa: E402
from steps import Steps, eventually  # noqa: E402


class Stand:
    """A running `oncehook dev` in a folder of its own, a destination, and a browser."""

    secret = "whsec_of_the_browser_test"

    def __init__(self, binary, pictures, stopping):
        self.binary, self.pictures = binary, pictures
        self.folder = Path(stopping.enter_context(tempfile.TemporaryDirectory(prefix="oncehook-page-")))
        self.config = self.folder / "oncehook.toml"
        self.config.write_text((ROOT / "oncehook.toml").read_text())
        self.destination = Destination()
        stopping.callback(self.destination.stop)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ONCEHOOK_", "AWS_"))},
            "ONCEHOOK_URL_MAIL": self.destination.url("/emails"),
            "ONCEHOOK_SECRET_STRIPE": self.secret,
        }
        log = stopping.enter_context((self.folder / "log").open("w"))
        self.dev = subprocess.Popen(
            [binary, "dev", "--port", "0"], cwd=self.folder, env=self.environment, stdout=log, stderr=log
        )
        stopping.callback(self.stop)
        running = self.folder / ".oncehook/dev.json"
        eventually(running.exists, 30, f"oncehook dev: {(self.folder / 'log').read_text()}")
        self.url = json.loads(running.read_text())["url"] + "/_oncehook/"
        self.elsewhere = elsewhere(stopping)
        self.browser = chromium.Browser(stopping)
        self.browser.screen(1280, 860)

    def stop(self):
        self.dev.terminate()
        self.dev.wait(10)

    def oncehook(self, *words, fails=False):
        ran = subprocess.run(
            [self.binary, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=30
        )
        if bool(ran.returncode) != fails:
            raise AssertionError(f"oncehook {' '.join(words)}: {ran.returncode} {ran.stdout} {ran.stderr}")

    def configure(self, rules):
        self.config.write_text(self.config.read_text() + "\n" + rules)


def elsewhere(stopping):
    """The address of another site, with an empty page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stopping.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


def main():
    parser = argparse.ArgumentParser(prog="make browser-test", description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the oncehook that is tried")
    parser.add_argument("--pictures", type=Path, required=True, help="the folder for pictures of the screens")
    given = parser.parse_args()
    given.pictures.mkdir(parents=True, exist_ok=True)
    steps = Steps()
    with contextlib.ExitStack() as stopping:
        stand = Stand(given.binary.resolve(), given.pictures, stopping)
        for title, seconds, scene in SCENES:
            steps.run(title, seconds, lambda scene=scene: scene(stand))
    print(steps.summary())
    return 1 if steps.failed else 0


if __name__ == "__main__":
    sys.exit(main())
