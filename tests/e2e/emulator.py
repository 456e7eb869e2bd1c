"""ministack in a process of its own: AWS on a free port of this machine, with IAM enforced.

Starts it, makes clients for it, stops it and everything that it started. Knows nothing of Oncehook.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import boto3
from botocore.config import Config

REGION = "us-east-1"
ACCOUNT = "000000000000"
# The key that ministack takes for the account's root. Functions get keys of their roles instead.
ROOT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION}
STARTS_WITHIN = 60


class Emulator:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.log = self.folder / "ministack.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        """Without AWS_ENDPOINT_URL: the functions' own, from the template, would be overwritten by it."""
        environment = {
            **ROOT,
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_REGION": REGION,
            "AUTH": "true",
            # Listeners on fixed ports that nothing here uses.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).parent / "ministack")],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"ministack ended at once; see {self.log}")
            try:
                with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=2):
                    return self.url
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"ministack did not answer within {STARTS_WITHIN} s; see {self.log}")

    def client(self, service):
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=ROOT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ROOT["AWS_SECRET_ACCESS_KEY"],
            config=Config(
                connect_timeout=5,
                read_timeout=60,
                retries={"total_max_attempts": 1},
                s3={"addressing_style": "path"},
            ),
        )

    def tail(self, lines):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self):
        """Ends ministack and the functions that it runs, which share its process group."""
        for how, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 3)):
            end = time.monotonic() + patience
            self.signal(how)
            while self.signal(0) and time.monotonic() < end:
                time.sleep(0.05)

    def signal(self, number):
        """Sends a signal to the whole group; 0 only looks. Whether there was anybody left."""
        if self.process is None:
            return False
        # Takes note of ministack's own end, so that it does not count as left.
        self.process.poll()
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return False
        return True
