"""`make e2e`: deploys template.yaml with the real binaries to an emulated AWS, and proves that it works there.

Prints one line for each step and ends with `N passed, M failed`. Everything runs on loopback and on free ports, and is
stopped at the end, however it ends.
"""

import argparse
import contextlib
import platform
import signal
import sys
import tempfile
from pathlib import Path

import template as templates
import watching
from destination import Destination
from emulator import ACCOUNT, REGION, Emulator
from lifecycle import Lifecycle
from recorder import Recorder
from scenes import SCENES, first_secrets, logged
from service import Service
from stack import Stack
from steps import Steps
from transformations import TRANSFORMATIONS

ARCHITECTURES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def main():
    parser = argparse.ArgumentParser(prog="e2e", description="Deploys the template to an emulated AWS and uses it.")
    parser.add_argument("--template", type=Path, required=True, help="template.yaml")
    parser.add_argument("--binaries", type=Path, required=True, help="the folder with the functions and the command line")
    parser.add_argument("--config", type=Path, required=True, help="the oncehook.toml that they were built with")
    given = parser.parse_args()
    # A kill from outside ends as an error does: with everything stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    steps = Steps()
    with contextlib.ExitStack() as stopping:
        folder = stopping.enter_context(tempfile.TemporaryDirectory(prefix="oncehook-e2e-"))
        emulator = Emulator(folder)
        stopping.callback(emulator.stop)
        if steps.run("emulator", 90, emulator.start):
            run(steps, given, emulator, stopping)
        if steps.failed:
            print(f"--- The end of the emulator's log:\n{emulator.tail(40)}")
    print(steps.summary(), flush=True)
    return 1 if steps.failed else 0


def run(steps, given, emulator, stopping):
    template = templates.load(given.template)
    recorder = Recorder(emulator.port, templates.functions(template), REGION, ACCOUNT)
    stopping.callback(recorder.stop)
    destination = Destination()
    stopping.callback(destination.stop)
    stack = Stack("oncehook-e2e", emulator)
    oncehook = [given.binaries / "oncehook", "--config", given.config]
    service = Service(stack, emulator, destination, oncehook)
    life = Lifecycle(stack, template, service, recorder, ARCHITECTURES[platform.machine()])

    for _, reason in TRANSFORMATIONS:
        print(f"        not as on AWS: {reason}")
    if not steps.run("functions packaged", 120, lambda: templates.package(template, given.binaries, stack.upload)):
        return
    if not steps.run("stack created", 150, life.created):
        return
    for title, seconds, scene in SCENES:
        passed = steps.run(title, seconds, lambda scene=scene: scene(service))
        if not passed and scene is first_secrets:
            break  # Every later scene would fail for the same reason.
    steps.run("stack updated", 180, life.updated)
    steps.run("logs", 30, lambda: logged(service))
    steps.run("archive switched on", 60, life.archived)
    steps.run("alarms and dashboard", 30, lambda: watching.alarms(service, template))
    steps.run("stats", 60, lambda: watching.stats(service))
    steps.run("policies", 30, life.policies)
    if steps.failed:
        for name, lines in service.logs().items():
            told = [line[:500] for line in lines if '"level":"DEBUG"' not in line]
            print(f"--- The end of the log of {name}:", *told[-40:], sep="\n")
    steps.run("stack deleted", 150, life.deleted)


if __name__ == "__main__":
    sys.exit(main())
