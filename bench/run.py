"""`make bench`: how far Oncehook is from the floor and from its peers, in one run on one machine.

Ratios within the run are what counts. FAST=1 asserts structure and counts only, and judges no time.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
import zipfile

import counting
import report
import seed
import stripe_events as events
from function import Function

HERE = pathlib.Path(__file__).parent
# What each needs: a command, and the file that its installation leaves.
PEERS = {"node": ("node", "peers/node/node_modules/ready"), "python": ("python3", ".venv/ready")}


def middle(values, share=0.5):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Bench:
    def __init__(self, options):
        self.options, self.fast = options, options.fast
        self.binaries, self.logs = pathlib.Path(options.binaries), pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        self.tool = pathlib.Path(options.tool or self.binaries / "bench-tool")
        self.report = report.Report(judge_times=not options.fast)
        self.peers = [] if options.no_peers else [name for name in PEERS if self.has(name)]
        self.store = subprocess.Popen([self.tool, "serve"], stdout=subprocess.PIPE, text=True)
        self.ends = json.loads(self.store.stdout.readline())

    def has(self, peer):
        """Whether a peer is installed. The short form goes on without it and says so; the full run does not."""
        if shutil.which(PEERS[peer][0]) and (HERE / PEERS[peer][1]).exists():
            return True
        lacks = f"the peer for {peer} is not installed: {PEERS[peer][0]} and bench/{PEERS[peer][1]} (make bench/{PEERS[peer][1]})"
        if not self.fast:
            raise SystemExit(lacks)
        print(f"-- left out: {lacks}")
        return False

    def function(self, name, dynamodb=None, far=None, slow=False):
        dynamodb, far = dynamodb or self.ends["dynamodb"], far or self.ends["far"]
        variables = {
            "AWS_ENDPOINT_URL_DYNAMODB": dynamodb, "AWS_ENDPOINT_URL_SQS": far, "ONCEHOOK_TABLE": "oncehook",
            "ONCEHOOK_QUEUE_URL": f"{far}/123456789012/wakeups", "QUEUE_URL": f"{far}/123456789012/wakeups",
            "ONCEHOOK_SECRET_STRIPE": events.SECRET, "STRIPE_SECRET": events.SECRET, "ONCEHOOK_SECRET_MAIL": "re_bench",
            "ONCEHOOK_URL_MAIL": f"{far}/slow" if slow else f"{far}/emails",
        }
        folder = HERE
        match name.split()[0]:
            case "oncehook":
                command = [self.binaries / "oncehook-ingest"]
            case "drain" | "sweep":
                command = [self.binaries / f"oncehook-{name}"]
            case "floor":
                command, variables["BENCH_FLOOR"] = [self.binaries / "bench-floor"], name.split()[1]
            case "node":
                folder = HERE / "peers/node"
                command = ["node", "bootstrap.mjs"]
                variables |= {"POWERTOOLS_SERVICE_NAME": "bench", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand"}
            case "python":
                folder = HERE / "peers/python"
                command = [HERE / ".venv/bin/python", "-m", "awslambdaric", "handler.handler"]
        return Function(self.options.emulator, [str(part) for part in command], variables,
                        self.logs / f"{name.replace(' ', '-')}.log", folder)

    def event(self, name):
        return events.request(events.subscription() if name in ("oncehook alone", "floor 3") else events.payment())

    def ok(self, answer, name, status=200):
        if not isinstance(answer, dict) or answer.get("statusCode") != status:
            raise SystemExit(f"{name}: not {status} but {str(answer)[:300]}; logs are in {self.logs}")

    def subjects(self):
        # "oncehook" is a payment with its wake-up, "oncehook alone" a change without one; floors write as many items.
        return ["oncehook", "oncehook alone", "floor bare", "floor 3", "floor 4", *self.peers]

    def cold(self):
        times = {name: [] for name in self.subjects()}
        for turn in range(1 if self.fast else self.options.cold):
            for name in self.subjects()[:: -1 if turn % 2 else 1]:
                event = self.event(name)
                function = self.function(name)
                answer, _ = function.invoke(event)
                times[name].append(time.perf_counter() - function.started)
                self.ok(answer, name)
                function.stop()
        return times

    def warm(self):
        """Milliseconds and CPU of applied events; then duplicates and refusals; then the peak of memory."""
        functions = {name: self.function(name) for name in self.subjects()}
        times, cpu = {name: [] for name in functions}, {name: [] for name in functions}
        size = 3 if self.fast else 50
        for name, function in functions.items():
            for _ in range(size):
                self.ok(function.invoke(self.event(name))[0], name)
        for turn in range(1 if self.fast else self.options.rounds):
            for name in list(functions)[:: -1 if turn % 2 else 1]:
                function, before = functions[name], functions[name].cpu()
                for _ in range(size):
                    answer, taken = function.invoke(self.event(name))
                    self.ok(answer, name)
                    times[name].append(taken)
                cpu[name].append((function.cpu() - before) / size)
        duplicate, refused, applied, bare = [], [], [], []
        function = functions["oncehook"]
        for _ in range(size if self.fast else 200):
            event = self.event("oncehook")
            applied.append(function.invoke(event)[1])
            answer, taken = function.invoke(event)
            self.ok(answer, "a duplicate")
            if answer["headers"].get("oncehook-replayed") != "true":
                raise SystemExit(f"a duplicate was not replayed: {answer}")
            duplicate.append(taken)
            answer, taken = function.invoke(events.request(events.payment(), tampered=True))
            self.ok(answer, "a tampered request", 401)
            refused.append(taken)
            bare.append(functions["floor bare"].invoke(event)[1])
        peaks = {name: function.peak() for name, function in functions.items()}
        for function in functions.values():
            function.stop()
        return times, cpu, peaks, (applied, duplicate, refused, bare)

    def times(self):
        add, cold = self.report.add, self.cold()
        first = {name: middle(values) * 1e3 for name, values in cold.items()}
        add("cold start, applied event / transaction function", first["oncehook"] / first["floor 4"], "x", "<= 1.25")
        for name, values in cold.items():
            add(f"cold start: {name}", first[name], "ms", None)
            add(f"cold start, slowest less fastest: {name}", (max(values) - min(values)) * 1e3, "ms", None)
        times, cpu, peaks, (applied, duplicate, refused, bare) = self.warm()
        p50 = {name: middle(values) * 1e3 for name, values in times.items()}
        p99 = {name: middle(values, 0.99) * 1e3 for name, values in times.items()}
        busy = {name: statistics.median(values) * 1e3 for name, values in cpu.items()}
        for name in times:
            add(f"warm p50: {name}", p50[name], "ms", None)
            add(f"warm p99: {name}", p99[name], "ms", None)
            add(f"CPU per applied event: {name}", busy[name], "ms", None)
            add(f"CPU per applied event, spread of rounds: {name}", (max(cpu[name]) - min(cpu[name])) * 1e3, "ms", None)
            add(f"peak memory: {name}", peaks[name], "MiB", None)
        add("warm p50 without wake-up / transaction function", p50["oncehook alone"] / p50["floor 3"], "x", "<= 1.2")
        add("warm p99 without wake-up / transaction function", p99["oncehook alone"] / p99["floor 3"], "x", "<= 1.5")
        add("warm duplicate / applied", middle(duplicate) / middle(applied), "x", "<= 1.1")
        add("warm refused signature", middle(refused) * 1e3, "ms", "<= 1")
        add("warm refused signature / function that only answers", middle(refused) / middle(bare), "x", None)
        add("CPU without wake-up / transaction function", busy["oncehook alone"] / busy["floor 3"], "x", "<= 1.5")
        add("peak memory / transaction function", peaks["oncehook"] / peaks["floor 4"], "x", "<= 1.5")
        for peer in ("node", "python"):
            if peer in times:
                add(f"cold start: {peer} / oncehook", first[peer] / first["oncehook"], "x", ">= 7")
                add(f"warm p50 with wake-up: {peer} / oncehook", p50[peer] / p50["oncehook"], "x", ">= 2.5")
                add(f"CPU with wake-up: oncehook / {peer}", busy["oncehook"] / busy[peer], "x", "<= 0.2")
                add(f"peak memory: oncehook / {peer}", peaks["oncehook"] / peaks[peer], "x", "<= 0.25")
        loop = {**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": self.ends["dynamodb"], "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "BENCH_FLOOR": "4",
                "BENCH_LOOP": "5" if self.fast else "500"}
        raw = subprocess.run([self.binaries / "bench-floor"], env=loop, capture_output=True, text=True, check=True)
        add("raw transaction in a loop, p50", middle([int(line) for line in raw.stdout.split()]) / 1e3, "ms", None)

    def counts(self):
        """Round trips and write units, through the proxies; a drained batch with a slow destination."""
        add = self.report.add
        database, far = counting.Counting(self.ends["dynamodb"]), counting.Counting(self.ends["far"])
        ingest = self.function("oncehook", database.endpoint, far.endpoint)
        drain = self.function("drain", database.endpoint, far.endpoint)
        payment = self.event("oncehook")
        self.ok(ingest.invoke(payment)[0], "ingest")
        calls, units, _ = database.take()
        sent, _, messages = far.take()
        add("round trips of ingest: DynamoDB", calls.total(), "calls", "== 1", count=True)
        add("round trips of ingest: queue", sent.total(), "calls", "== 1", count=True)
        written = units["TransactWriteItems"]
        self.ok(ingest.invoke(events.request(payment["body"], tampered=True))[0], "refused", 401)
        add("database calls for a refused signature", database.take()[0].total(), "calls", "== 0", count=True)
        self.drained(drain.invoke(batch(messages))[0])
        calls, units, _ = database.take()
        print(f"-- the first drained item of a process: {dict(calls)}")
        settled = sum(units.values())
        add("round trips of drain, first item of a process: DynamoDB", calls.total(), "calls", None)
        far.take()
        self.ok(ingest.invoke(self.event("oncehook"))[0], "ingest")
        database.take()
        self.drained(drain.invoke(batch(far.take()[2]))[0])
        calls, units, _ = database.take()
        print(f"-- the second: {dict(calls)}")
        add("round trips of drain: DynamoDB", calls.total(), "calls", "== 2", count=True)
        add("round trips of drain: destination", far.take()[0].total(), "calls", "== 1", count=True)
        total = written + settled
        add("write units: payment with update, once and one effect", total, "WCU", "== 12", count=True)
        add("write units: of these by ingest", written, "WCU", None)
        add("write units: of these by drain", settled, "WCU", None)
        add("write units, one effect, no update (computed: less 2 actions of 2)", total - 4, "WCU", "== 8", count=True)
        self.ok(ingest.invoke(events.request(events.subscription()))[0], "a subscription")
        add("write units: update and newer, no effect", sum(database.take()[1].values()), "WCU", "== 6", count=True)
        for size in () if self.fast else (2048, 4096):
            self.ok(ingest.invoke(events.request(events.payment(size)))[0], "a larger event")
            _, units, _ = database.take()
            add(f"write units of ingest, event of {size // 1024} KB that compresses well", sum(units.values()), "WCU", None)
        for peer in self.peers:
            function = self.function(peer, database.endpoint, far.endpoint)
            self.ok(function.invoke(self.event(peer))[0], peer)
            calls, units, _ = database.take()
            add(f"round trips to DynamoDB: {peer}", calls.total(), "calls", None)
            add(f"write units, without delivery: {peer}", sum(units.values()), "WCU", None)
            for size in () if self.fast else (2048, 4096):
                self.ok(function.invoke(events.request(events.payment(size)))[0], peer)
                _, units, _ = database.take()
                add(f"write units, without delivery, event of {size // 1024} KB: {peer}", sum(units.values()), "WCU", None)
            function.stop()
        drain.stop()
        ingest.stop()
        self.batches(far)

    def drained(self, answer):
        if "batchItemFailures" not in answer or answer["batchItemFailures"]:
            raise SystemExit(f"drain: {str(answer)[:300]}; logs are in {self.logs}")

    def batches(self, far):
        # The URL is stored at commit: ingest has to know the slow one.
        ingest, drain, times = self.function("oncehook", far=far.endpoint, slow=True), self.function("drain", slow=True), []
        for turn in range(2 if self.fast else 8):
            far.take()
            for _ in range(10):
                self.ok(ingest.invoke(self.event("oncehook"))[0], "ingest")
            messages = far.take()[2]
            answer, taken = drain.invoke(batch(messages))
            self.drained(answer)
            if len(messages) != 10 or taken < 0.1:
                raise SystemExit(f"drain: {len(messages)} wake-ups in {taken:.3f} s, so the slow destination was not called")
            # The first pays for the start.
            times += [taken] if turn else []
        drain.stop()
        ingest.stop()
        self.report.add("drain, batch of 10 with a 100 ms destination / 100 ms", middle(times) / 0.1, "x", "<= 1.2")

    def applied(self, function):
        answer, taken = function.invoke(self.event("oncehook"))
        self.ok(answer, "ingest")
        return taken

    def swept(self, function):
        answer, taken = function.invoke({})
        if isinstance(answer, dict) and "errorMessage" in answer:
            raise SystemExit(f"sweep: {answer}; logs are in {self.logs}")
        return taken

    def growth(self):
        """Sweep and ingest while the table grows, on one store."""
        sizes = [100] if self.fast else [size for size in (100, 1_000, 10_000, 100_000, 1_000_000)
                                             if size <= self.options.items]
        sweep, ingest, stored = self.function("sweep"), self.function("oncehook"), 0
        swept, applied = {}, {}
        for _ in range(20):
            self.applied(ingest)
        for size in sizes:
            seed.events(self.ends["dynamodb"], stored, size)
            stored = size
            swept[size] = middle([self.swept(sweep) for _ in range(3 if self.fast else 25)])
            applied[size] = middle([self.applied(ingest) for _ in range(3 if self.fast else 100)])
            self.report.add(f"sweep, {size} stored events", swept[size] * 1e3, "ms", None)
            self.report.add(f"applied event, {size} stored events", applied[size] * 1e3, "ms", None)
        whole = sizes[-1] >= 1_000_000
        first = next((size for size in sizes if size >= 1_000), sizes[0])
        name = f"{sizes[-1]:,} stored events"
        if sizes[-1] != first:
            self.report.add(f"sweep: {name} / {first:,}", swept[sizes[-1]] / swept[first], "x", "<= 1.25", complete=whole)
            self.report.add(f"applied event: {name} / {sizes[0]:,}", applied[sizes[-1]] / applied[sizes[0]], "x", "<= 1.25",
                            complete=whole)
        sweep.stop()
        ingest.stop()

    def sizes(self):
        for name in ("ingest", "drain", "sweep"):
            archive = self.logs / f"{name}.zip"
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
                file.write(self.binaries / f"oncehook-{name}", "bootstrap")
            # Another architecture's size says nothing about the target: no verdict there, either way.
            here = platform.machine() in ("aarch64", "arm64")
            self.report.add(f"zip, {platform.machine()}{'' if here else ', target is of arm64'}: {name}",
                            archive.stat().st_size / 1e6, "MB", "<= 4.5" if here else None)

    def throughput(self):
        body = events.payment(1_000_000)
        file = self.logs / "body.json"
        file.write_text(body)
        seconds = "1" if self.fast else "5"
        command = [self.tool, "core", file, events.signature(body), events.SECRET, seconds]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
        # Per core: what others took of the processor meanwhile is not counted.
        share = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / wall
        megabytes = found["bytes"] / 1e6
        parts = {part: found[part] * min(share, 1) for part in ("verify", "parse", "plan")}
        self.report.add("1 MB body: verify + parse + plan", megabytes / sum(parts.values()), "MB/s", ">= 200")
        for part, taken in parts.items():
            self.report.add(f"1 MB body: {part} alone", megabytes / taken, "MB/s", None)

    def run(self):
        begun = time.perf_counter()
        try:
            for part in (self.counts, self.throughput, *([] if self.fast else [self.sizes]), self.times, self.growth):
                started = time.perf_counter()
                part()
                print(f"-- {part.__name__}: {time.perf_counter() - started:.0f} s", flush=True)
        finally:
            self.store.kill()
        print(f"-- in all: {time.perf_counter() - begun:.0f} s, builds not included")
        self.report.finish(HERE, self.options.output)


def batch(messages):
    return {"Records": [
        {"messageId": str(number), "receiptHandle": str(number), "body": body, "eventSource": "aws:sqs",
         "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:wakeups", "awsRegion": "us-east-1", "messageAttributes": {},
         "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": str(int(time.time() * 1000))}}
        for number, body in enumerate(messages)]}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--emulator", required=True, help="aws-lambda-rie of the aws-sam-cli wheel")
    options.add_argument("--binaries", required=True, help="the folder with the functions and bench-tool, bench-floor")
    options.add_argument("--tool", help="another bench-tool than that of the binaries")
    options.add_argument("--output", default=str(HERE), help="the folder for results.json and plot.svg")
    options.add_argument("--fast", action="store_true", help="structure and counts only")
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("--cold", type=int, default=11)
    options.add_argument("--rounds", type=int, default=8)
    options.add_argument("--items", type=int, default=1_000_000, help="how far the table grows")
    Bench(options.parse_args()).run()


if __name__ == "__main__":
    main()
