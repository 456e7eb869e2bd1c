"""Official SDKs against Oncehook, both ways: run by `make interop` with the built command line.

Theirs to ours: the SDKs sign, and say of each request, genuine or spoilt, whether they believe it; `oncehook verify`
runs the same requests through the code of the Lambda. Ours to theirs: `oncehook send` posts signed requests to a
server here, and the SDKs say whether they believe them.
"""

import argparse
import base64
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).parent

# Where we mean to differ: cases, what is found here, and why.
CHOSEN = [
    (r"^(stripe|github) .*: upper case", "ok",
     "hex digits are compared as bytes: a signature in capitals is the same signature"),
    (r"^stripe .*: an hour ahead", "timestamp_in_future",
     "Stripe's SDKs believe any time to come; a request signed for later could be kept and sent when it suits"),
    (r"^stripe .*: spaces between", "ok",
     "items of a header are trimmed: gateways join and fold headers"),
    (r"^(stripe|slack|svix|standard_webhooks|sendgrid) bytes: ", "ok",
     "these SDKs turn bodies into text first; what is signed are bytes"),
    (r"^stripe bom: ", "ok",
     "Stripe's SDK for Node drops a byte order mark that was signed"),
    (r"^github empty: as signed", "ok",
     "octokit takes an empty body for a missing argument"),
    (r"^sendgrid .*: junk after it", "malformed_signature",
     "Node's base64 skips what is none; a signature is refused as a whole"),
]

BODIES = {
    "json": b'{"id":"evt_1","type":"a.b","n":9007199254740993}',
    "unicode": '{"id":"evt_1","t":"Zo\u00eb \U0001f4b8"}'.encode(),
    "crlf": b'{"id":"evt_1"}\r\n',
    "large": b'{"id":"evt_1","pad":"' + b"x" * 100_000 + b'"}',
}
FORMS = {
    "form": b"CallSid=CA1&From=%2B14158675309&To=%2B18005551212&Empty=",
    "repeated": b"A=2&A=1&B=x%20y+z&CallSid=CA1&%C3%A9=%F0%9F%92%B8",
}
# What is sent by us: source, provider as the SDK scripts name it, secret, and the script.
WHSEC = "whsec_" + base64.b64encode(b"interop-interop-interop-interop!").decode()
SENT = [
    ("stripe", "stripe", "whsec_test_secret", "node"),
    ("github", "github", "It's a Secret to Everybody", "node"),
    ("svix", "svix", WHSEC, "node"),
    ("standard-webhooks", "standard_webhooks", WHSEC, "node"),
    ("square", "square", "square-signature-key", "node"),
    ("stripe", "stripe", "whsec_test_secret", "python"),
    ("slack", "slack", "8f742231b10e8888abcd99yyyzzz85a5", "python"),
    ("svix", "svix", WHSEC, "python"),
    ("standard-webhooks", "standard_webhooks", WHSEC, "python"),
    ("twilio", "twilio", "12345twilio-auth-token", "node"),
]


class Capture(http.server.BaseHTTPRequestHandler):
    requests = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.requests.append({"path": self.path, "headers": headers, "body": body})
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def scripts():
    return {"node": ["node", str(HERE / "sdks.mjs")], "python": [sys.executable, str(HERE / "sdks.py")]}


def ask(script, command, given=None):
    text = None if given is None else json.dumps(given)
    done = subprocess.run([*scripts()[script], command], input=text, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"the {script} SDKs failed:\n{done.stderr}")
    return json.loads(done.stdout)


def chosen(name, found):
    return any(re.search(pattern, name) and found == wanted for pattern, wanted, _ in CHOSEN)


def theirs_to_ours(oncehook):
    vectors = ask("node", "vectors") + ask("python", "vectors")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(vectors, file)
        file.flush()
        done = subprocess.run([oncehook, "verify", "--vectors", file.name, "--json"], capture_output=True, text=True, timeout=120, check=False)
    if not done.stdout:
        sys.exit(f"oncehook verify failed:\n{done.stderr}")
    found = {one["id"]: one["why"].split(",")[0] for one in json.loads(done.stdout)["failures"]}
    return [(one["id"], found.get(one["id"])) for one in vectors]


def ours_to_theirs(oncehook):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Capture)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    results = []
    for source, provider, secret, script in SENT:
        given = []
        for kind, body in (FORMS if provider == "twilio" else BODIES).items():
            for spoilt in (None, "--tamper", "--forge"):
                name = f"{provider} {kind}: sent by us{f' with {spoilt}' if spoilt else ''} ({script})"
                command = [oncehook, "send", source, "a.b", "--config", str(HERE / "oncehook.toml"), "--data", "-",
                           "--secret", secret, "--url", f"http://127.0.0.1:{server.server_port}/hook"]
                Capture.requests.clear()
                done = subprocess.run(command + ([spoilt] if spoilt else []), input=body, capture_output=True, timeout=60, check=False)
                if len(Capture.requests) != 1:
                    sys.exit(f"{name}: {done.stderr.decode()}")
                request = Capture.requests[0]
                query = request["path"].partition("?")[2]
                url = f"https://hooks.example.com/webhooks/{source}" + (f"?{query}" if query else "")
                given.append((name, spoilt is None, {
                    "provider": provider, "secret": secret, "url": url, "headers": request["headers"],
                    "body_base64": base64.b64encode(request["body"]).decode(),
                }))
        verdicts = ask(script, "judge", [request for _, _, request in given])
        for (name, genuine, _), believed in zip(given, verdicts):
            results.append((name, None if believed == genuine else f"the SDK says {believed}"))
    server.shutdown()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oncehook", required=True, help="the built command line")
    oncehook = os.path.abspath(parser.parse_args().oncehook)
    results = theirs_to_ours(oncehook) + ours_to_theirs(oncehook)
    print("Differences that are meant:")
    for pattern, wanted, why in CHOSEN:
        count = sum(1 for name, found in results if found == wanted and re.search(pattern, name))
        print(f"  {count:3} {wanted:20} {why}")
    differing = [(name, found) for name, found in results if found is not None and not chosen(name, found)]
    unused = [pattern for pattern, wanted, _ in CHOSEN
              if not any(found == wanted and re.search(pattern, name) for name, found in results)]
    for name, found in differing:
        print(f"DISAGREE {name}: {found}")
    for pattern in unused:
        print(f"NO LONGER DIFFERENT {pattern}")
    meant = sum(1 for name, found in results if found is not None) - len(differing)
    agreed = len(results) - meant - len(differing)
    print(f"{len(results)} compared, {agreed} agreed, {meant} chosen differences, {len(differing)} disagreements")
    sys.exit(bool(differing or unused))


main()
