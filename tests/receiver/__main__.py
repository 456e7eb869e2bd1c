"""The README's receiver with Postgres, word for word, behind a running `oncehook dev`. Used by `make receiver-test`."""

import argparse
import contextlib
import glob
import http.client
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
from flask import request
from werkzeug.serving import make_server

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests/e2e"))

from steps import Steps, check, eventually  # noqa: E402

MISSING = "There is no Postgres. Install it (Debian: apt-get install postgresql) and try again."
SECRET = "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI="


def blocks():
    """The configuration, the table and the receiver, as the README has them."""
    text = (ROOT / "README.md").read_text().split("## Business data in Postgres", 1)[1].split("\n## ", 1)[0]
    found = {kind: re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL).group(1) for kind in ("toml", "sql", "python")}
    return found["toml"], found["sql"], found["python"]


def postgres(stopping):
    """A cluster of its own on a socket; returns how to connect. Postgres does not run as root."""
    bin_folder = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)), None)
    initdb = shutil.which("initdb", path=f"{bin_folder}:{os.environ['PATH']}")
    if not initdb:
        raise SystemExit(MISSING)
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(stopping.enter_context(tempfile.TemporaryDirectory(prefix="oncehook-pg-")))
    if user:
        shutil.chown(folder, user)
    run = {"user": user, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    subprocess.run([initdb, "-D", folder / "data", "-A", "trust", "-U", "postgres"], check=True, **run)
    server = subprocess.Popen(
        [Path(initdb).with_name("postgres"), "-D", folder / "data", "-k", folder, "-c", "listen_addresses="], **run
    )
    stopping.callback(lambda: (server.terminate(), server.wait(20)))
    url = f"postgresql://postgres@/postgres?host={folder}"

    def answers():
        with contextlib.suppress(psycopg.OperationalError):
            return psycopg.connect(url).close() is None

    eventually(answers, 30, "Postgres")
    return url


class Stand:
    def __init__(self, binary, stopping):
        toml, sql, python = blocks()
        self.url = postgres(stopping)
        with psycopg.connect(self.url) as db:
            db.execute(sql)
            db.execute("create table applied (event text not null)")
        os.environ.update(DATABASE_URL=self.url, ONCEHOOK_SECRET_APP=SECRET)
        receiver = {"__name__": "__main__", "apply": self.apply}
        exec(compile(python, "README.md", "exec"), receiver)  # Its own words are what is tested.
        self.requests, self.fails = [], 0
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        receiver["app"].before_request(self.note)
        server = make_server("127.0.0.1", 0, receiver["app"], threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stopping.callback(server.shutdown)
        self.port = server.server_port
        self.folder = Path(stopping.enter_context(tempfile.TemporaryDirectory(prefix="oncehook-receiver-")))
        (self.folder / "oncehook.toml").write_text((ROOT / "oncehook.toml").read_text() + toml)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ONCEHOOK_", "AWS_"))},
            "ONCEHOOK_SECRET_APP": SECRET,
            "ONCEHOOK_URL_APP": f"http://127.0.0.1:{self.port}/internal/events",
        }
        self.binary = binary
        log = stopping.enter_context((self.folder / "log").open("w"))
        dev = subprocess.Popen([binary, "dev", "--port", "0"], cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        stopping.callback(lambda: (dev.terminate(), dev.wait(10)))
        eventually((self.folder / ".oncehook/dev.json").exists, 30, "oncehook dev")

    def note(self):
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((headers, request.get_data()))
        if self.fails:
            self.fails -= 1
            return "", 503

    @staticmethod
    def apply(db, event):
        db.execute("insert into applied (event) values (%s)", (event["id"],))

    def applied(self, event):
        with psycopg.connect(self.url) as db:
            return db.execute("select count(*) from applied where event = %s", (event,)).fetchone()[0]

    def oncehook(self, *words):
        ran = subprocess.run(
            [self.binary, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=30
        )
        check(ran.returncode == 0, f"oncehook {' '.join(words)}: {ran.stdout} {ran.stderr}")
        return ran.stdout

    def post(self, headers, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/internal/events", body, headers)
        return connection.getresponse().status


def forwarded(s):
    s.oncehook("send", "stripe", "invoice.paid", "--id", "evt_1", "--times", "4", "--concurrently")
    eventually(lambda: s.applied("evt_1"), 20, "the row")
    return "four deliveries to Oncehook, one request, one row"


def repeated(s):
    headers, body = s.requests[-1]
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: s.post(headers, body), range(8)))
    check(statuses == [204] * 8 and s.applied("evt_1") == 1, f"{statuses}, {s.applied('evt_1')} rows")
    return "the same request eight times at once: 204 each, still one row"


def refused(s):
    headers, body = s.requests[-1]
    statuses = [
        s.post(headers, body.replace(b"evt_1", b"evt_9")),
        s.post({**headers, "webhook-id": "another"}, body),
        s.post({name: value for name, value in headers.items() if name != "webhook-signature"}, body),
    ]
    check(statuses == [401] * 3 and s.applied("evt_9") == 0, f"{statuses}")
    return "a changed body, another id, no signature: 401, nothing written"


def down(s):
    s.fails = 2
    s.oncehook("send", "stripe", "invoice.paid", "--id", "evt_2")
    eventually(lambda: s.applied("evt_2"), 60, "the row")
    states = json.loads(s.oncehook("show", "evt_2", "--json"))[0]["outbox"]
    check(s.applied("evt_2") == 1 and states[0]["attempts"] == 3, f"{states}")
    return "503 twice, then applied once, by the third attempt"


def main():
    parser = argparse.ArgumentParser(prog="make receiver-test", description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the oncehook that is tried")
    given = parser.parse_args()
    steps = Steps()
    with contextlib.ExitStack() as stopping:
        stand = Stand(given.binary.resolve(), stopping)
        for title, step in (("forwarded", forwarded), ("repeated", repeated), ("refused", refused), ("receiver down", down)):
            steps.run(title, 90, lambda step=step: step(stand))
    print(steps.summary())
    return 1 if steps.failed else 0


if __name__ == "__main__":
    sys.exit(main())
