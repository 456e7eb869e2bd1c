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
        environment = {
            "PATH": os.environ["PATH"], "AWS_LAMBDA_FUNCTION_NAME": "bench", "AWS_LAMBDA_FUNCTION_TIMEOUT": "30",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", **variables,
        }
        self.log, self.answered, self.again = log, False, lambda: self.start(emulator, command, environment, folder)
        self.again()

    def start(self, emulator, command, environment, folder):
        self.port = free_port()
        self.started = time.perf_counter()
        with open(self.log, "wb") as out:
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
                    raise SystemExit(f"the emulator does not listen; its log is {self.log}") from None
                time.sleep(0.0005)

    def invoke(self, event):
        """The answer and the seconds it took. A quick function can ask the emulator before that listens: it starts anew."""
        for _ in range(5):
            answer, taken = self.ask(event)
            if answer or self.answered or "Connection refused" not in pathlib.Path(self.log).read_text(errors="replace"):
                break
            print(f"-- the emulator was not ready for {pathlib.Path(self.log).stem}: started anew")
            self.stop()
            self.again()
        try:
            value = json.loads(answer)
        except ValueError:
            raise SystemExit(f"not JSON: {answer[:300]!r}; the function's log is {self.log}") from None
        self.answered = True
        return value, taken

    def ask(self, event):
        data = json.dumps(event)
        started = time.perf_counter()
        connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.connection = connection
        connection.request("POST", "/2015-03-31/functions/function/invocations", data)
        answer = connection.getresponse().read()
        return answer, time.perf_counter() - started

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
