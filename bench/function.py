"""A function's process under AWS's runtime interface emulator: start, invoke, and what the operating system says of it.

Knows nothing of Oncehook or its peers.
"""
import http.client
import json
import os
import pathlib
import socket
import subprocess
import time


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Function:
    def __init__(self, emulator, command, variables, log, folder="."):
        self.port = free_port()
        environment = {
            "PATH": os.environ["PATH"], "AWS_LAMBDA_FUNCTION_NAME": "bench", "AWS_LAMBDA_FUNCTION_TIMEOUT": "30",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", **variables,
        }
        self.log = log
        self.started = time.perf_counter()
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [emulator, "--runtime-interface-emulator-address", f"127.0.0.1:{self.port}",
                 "--runtime-api-address", f"127.0.0.1:{free_port()}", *command],
                env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.connection = None
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                if self.process.poll() is not None or time.perf_counter() - self.started > 30:
                    raise SystemExit(f"the emulator does not listen; its log is {log}") from None
                time.sleep(0.0005)

    def invoke(self, event):
        """The answer and the seconds it took."""
        data = json.dumps(event)
        started = time.perf_counter()
        connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.connection = connection
        connection.request("POST", "/2015-03-31/functions/function/invocations", data)
        answer = connection.getresponse().read()
        taken = time.perf_counter() - started
        try:
            return json.loads(answer), taken
        except ValueError:
            raise SystemExit(f"not JSON: {answer[:300]!r}; the function's log is {self.log}") from None

    def pid(self):
        """The function's own process: the emulator's only child."""
        root = pathlib.Path(f"/proc/{self.process.pid}/task")
        children = [pid for task in root.iterdir() for pid in (task / "children").read_text().split()]
        if len(children) != 1:
            raise SystemExit(f"the emulator has {len(children)} children; the function's log is {self.log}")
        return children[0]

    def cpu(self):
        """Seconds on a processor so far, of all threads that live."""
        tasks = pathlib.Path(f"/proc/{self.pid()}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def peak(self):
        """The most memory that was resident, in MiB."""
        for line in pathlib.Path(f"/proc/{self.pid()}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise SystemExit("the kernel names no VmHWM")

    def stop(self):
        if self.connection:
            self.connection.close()
        self.process.kill()
        self.process.wait()
