"""A headless Chromium, driven over the DevTools protocol: what a person sees, types and presses."""

import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "There is no Chromium. Install it (Debian: apt-get install chromium) and try again."
# Keys that are not letters: their codes on Windows, by which the protocol names them.
KEYS = {"Enter": 13, "Escape": 27}


def program():
    found = [path for name in NAMES if (path := shutil.which(name))]
    if not found:
        raise SystemExit(MISSING)
    return found[0]


class Browser:
    """One tab. Complaints of the page (errors, violations of its policy) are kept in `complaints`."""

    def __init__(self, stopping):
        folder = Path(stopping.enter_context(tempfile.TemporaryDirectory(prefix="oncehook-browser-")))
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
        self.process = subprocess.Popen(
            [program(), *options, f"--user-data-dir={folder}", "--remote-allow-origins=*", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stopping.callback(self.stop)
        port = self.port(folder / "DevToolsActivePort")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            (page,) = [tab for tab in json.load(answer) if tab["type"] == "page"]
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=20)
        self.last = 0
        self.complaints = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def stop(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()

    @staticmethod
    def port(file):
        end = time.monotonic() + 30
        while not (file.exists() and file.read_text().strip()):
            if time.monotonic() > end:
                raise AssertionError("Chromium did not start within 30 s")
            time.sleep(0.1)
        return file.read_text().split()[0]

    def call(self, method, **parameters):
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.last:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.listen(message)

    def listen(self, message):
        told = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif message.get("method") == "Log.entryAdded" and told["entry"]["level"] in ("warning", "error"):
            self.complaints.append(told["entry"]["text"])

    def value(self, script):
        """What an expression of JavaScript is, awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def until(self, script, within=10):
        """Waits until an expression is true; returns it."""
        end = time.monotonic() + within
        while True:
            seen = self.value(script)
            if seen:
                return seen
            if time.monotonic() > end:
                shown = self.value("document.body.innerText")
                raise AssertionError(f"not within {within} s: {script}; the page shows {shown[:1500]!r}")
            time.sleep(0.05)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def press(self, key):
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 and key.isalpha() else 0)
        text = {"Enter": "\r", "Escape": ""}.get(key, key)
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def click(self, selector, text=None):
        """Presses what is visible, enabled and has this text, where its middle is."""
        spot = self.until(
            f"""(() => {{
              const fits = (one) => {json.dumps(text)} === null || one.textContent.trim().startsWith({json.dumps(text)});
              const found = [...document.querySelectorAll({json.dumps(selector)})]
                .find((one) => fits(one) && !one.disabled && one.getClientRects().length);
              if (!found) return null;
              found.scrollIntoView({{ block: "center" }});
              const box = found.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        place = {"x": spot[0], "y": spot[1], "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", **place)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **place)

    def fill(self, selector, text):
        self.value(f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.focus(); one.select(); }})()")
        self.call("Input.insertText", text=text)

    def screen(self, width, height, dark=False):
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
