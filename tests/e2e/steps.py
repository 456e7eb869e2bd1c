"""Runs steps one after the other, each within its time, and prints a line for each as it ends."""

import signal
import sys
import time
import traceback


class Steps:
    def __init__(self):
        self.passed = self.failed = 0

    def run(self, title, seconds, step):
        """Whether it passed. The step returns what it observed."""
        began = time.monotonic()
        signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            observed = step()
        except Exception as error:  # Whatever it is, the other steps go on and the emulator is stopped.
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.failed += 1
            print(f"FAILED  {title} ({time.monotonic() - began:.1f} s): {error or type(error).__name__}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc(limit=-3, file=sys.stdout)
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.passed += 1
        print(f"ok {self.passed:>3}  {title} ({time.monotonic() - began:.1f} s): {observed}", flush=True)
        return True

    def summary(self):
        return f"{self.passed} passed, {self.failed} failed"


def too_long(*_):
    raise AssertionError("took too long")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def eventually(look, within, what):
    """The first result of `look` that is true, or a failure that says what was last seen."""
    end = time.monotonic() + within
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {within} s")
        time.sleep(0.2)
