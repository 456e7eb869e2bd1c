"""The official SDKs of Python: what they sign and what they believe. Same commands as sdks.mjs."""

import base64
import hashlib
import hmac
import json
import sys
import time
from datetime import datetime, timezone

import standardwebhooks
import stripe
import svix
from slack_sdk.signature import SignatureVerifier
from twilio.request_validator import RequestValidator

NOW = int(time.time())
WHSEC = "whsec_" + base64.b64encode(b"interop-interop-interop-interop!").decode()
OTHER = "whsec_" + base64.b64encode(b"another-another-another-another!").decode()
URL = "https://hooks.example.com/webhooks/source"
BODIES = {
    "json": b'{"id":"evt_1","type":"a.b","n":9007199254740993}',
    "unicode": '{"id":"evt_1","t":"Zo\u00eb \U0001f4b8"}'.encode(),
    "crlf": b'{"id":"evt_1"}\r\n',
    "bom": b'\xef\xbb\xbf{"id":"evt_1"}',
    "bytes": b"{\xff\xfe\x00\x80}",
    "large": b'{"id":"evt_1","pad":"' + b"x" * 100_000 + b'"}',
}
FORM = {"form": b"token=x&command=%2Fweather&text=94070&trigger_id=1.2", "empty": b""}


def mac(secret: str, *parts: bytes) -> str:
    return hmac.new(secret.encode(), b"".join(parts), hashlib.sha256).hexdigest()


def signature_only(verify) -> bool:
    """A body that is not JSON makes these SDKs fail after the signature was found good."""
    try:
        verify()
    except json.JSONDecodeError:
        return True
    return True


class Slack:
    secret, wrong, tolerance = "8f742231b10e8888abcd99yyyzzz85a5", "another", 300
    bodies = BODIES | FORM

    def sign(self, body, secret, at):
        sdk = SignatureVerifier(secret)
        try:
            signature = sdk.generate_signature(timestamp=str(at), body=body)
        except UnicodeDecodeError:
            signature = "v0=" + mac(secret, f"v0:{at}:".encode(), body)
        return {"X-Slack-Request-Timestamp": str(at), "X-Slack-Signature": signature}

    def verify(self, r):
        return SignatureVerifier(r["secret"]).is_valid_request(r["body"], r["headers"])


class Stripe:
    secret, wrong, tolerance = "whsec_test_secret", "whsec_test_secreT", 300
    bodies = BODIES

    def sign(self, body, secret, at):
        return {"Stripe-Signature": f"t={at},v1={mac(secret, f'{at}.'.encode(), body)}"}

    def verify(self, r):
        header = r["headers"].get("stripe-signature", "")
        return stripe.WebhookSignature.verify_header(r["body"].decode(), header, r["secret"], 300)


class Standard:
    secret, wrong, tolerance = WHSEC, OTHER, 300
    bodies = BODIES

    def __init__(self, webhook, prefix):
        self.webhook, self.prefix = webhook, prefix

    def sign(self, body, secret, at):
        try:
            signature = self.webhook(secret).sign("msg_1", datetime.fromtimestamp(at, timezone.utc), body.decode())
        except UnicodeDecodeError:
            key = base64.b64decode(secret[6:])
            digest = hmac.new(key, f"msg_1.{at}.".encode() + body, hashlib.sha256).digest()
            signature = "v1," + base64.b64encode(digest).decode()
        return {f"{self.prefix}-id": "msg_1", f"{self.prefix}-timestamp": str(at), f"{self.prefix}-signature": signature}

    def verify(self, r):
        return signature_only(lambda: self.webhook(r["secret"]).verify(r["body"], r["headers"]))


class Twilio:
    """JSON bodies, which the URL's bodySHA256 covers."""

    secret, wrong, tolerance = "12345twilio-auth-token", "another-token", None
    bodies = {name: body for name, body in BODIES.items() if name not in ("bytes", "bom")}
    extra = {"Content-Type": "application/json"}

    def url(self, body):
        return f"{URL}?bodySHA256={hashlib.sha256(body).hexdigest()}"

    def sign(self, body, secret, at):
        return {"X-Twilio-Signature": RequestValidator(secret).compute_signature(self.url(body), {})}

    def verify(self, r):
        validator = RequestValidator(r["secret"])
        return validator.validate(r["url"], r["body"].decode(), r["headers"].get("x-twilio-signature", ""))


PROVIDERS = {
    "slack": Slack(),
    "stripe": Stripe(),
    "standard_webhooks": Standard(standardwebhooks.Webhook, "webhook"),
    "svix": Standard(svix.Webhook, "svix"),
    "twilio": Twilio(),
}


def verdict(provider, request) -> bool:
    headers = {name.lower(): value for name, value in request["headers"].items()}
    try:
        return bool(PROVIDERS[provider].verify(request | {"headers": headers}))
    except Exception:  # an SDK says "no" with exceptions of many kinds
        return False


def changed(headers, change):
    return {name: change(text) if name.lower().endswith("signature") else text for name, text in headers.items()}


def cases(it):
    for kind, body in it.bodies.items():
        extra = getattr(it, "extra", {})
        headers = it.sign(body, it.secret, NOW) | extra
        yield f"{kind}: as signed", headers, body, it.secret, body
        yield f"{kind}: wrong secret", headers, body, it.wrong, body
        yield f"{kind}: empty signature", changed(headers, lambda _: ""), body, it.secret, body
        yield f"{kind}: half a signature", changed(headers, lambda text: text[:-8]), body, it.secret, body
        if body:
            half = len(body) // 2
            flipped = body[:half] + bytes([body[half] ^ 1]) + body[half + 1 :]
            yield f"{kind}: a flipped bit", headers, flipped, it.secret, body
            yield f"{kind}: one byte more", headers, body + b" ", it.secret, body
        if it.tolerance:
            for what, at in (("an hour old", NOW - 3600), ("an hour ahead", NOW + 3600), ("four minutes old", NOW - 240)):
                yield f"{kind}: {what}", it.sign(body, it.secret, at), body, it.secret, body


def vectors():
    for provider, it in PROVIDERS.items():
        for case, headers, body, secret, signed in cases(it):
            url = it.url(signed) if hasattr(it, "url") else None
            request = {"headers": headers, "body": body, "secret": secret, "url": url}
            yield {
                "id": f"{provider} {case} (Python)", "provider": provider, "secret": secret, "url": url,
                "headers": headers, "body_base64": base64.b64encode(body).decode(), "now": NOW,
                "tolerance_s": it.tolerance, "valid": verdict(provider, request),
            }


if sys.argv[1] == "judge":
    requests = json.load(sys.stdin)
    result = [verdict(r["provider"], r | {"body": base64.b64decode(r["body_base64"])}) for r in requests]
else:
    result = list(vectors())
print(json.dumps(result))
