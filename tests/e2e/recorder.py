"""Stands between the functions and AWS, and notes what each of them calls.

Every function reaches AWS through a port of its own, so that the port says who calls. Requests and answers pass
unchanged; signatures stay valid because the Host header does, too.
"""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The permissions behind the actions of a transaction, and behind calls whose permission has another name.
IN_TRANSACTION = {
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Delete": "dynamodb:DeleteItem",
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
}
OTHER_NAMES = {"sqs:SendMessageBatch": "sqs:SendMessage", "sqs:DeleteMessageBatch": "sqs:DeleteMessage"}
SERVICES = {"DynamoDB_20120810": "dynamodb", "AmazonSQS": "sqs", "AmazonSSM": "ssm"}


def permissions(target, body, region, account):
    """What a request of a JSON protocol needs: pairs of action and resource."""
    prefix, operation = target.split(".")
    service = SERVICES.get(prefix, prefix)
    arn = f"arn:aws:{service}:{region}:{account}:"
    if operation == "TransactWriteItems":
        for item in body["TransactItems"]:
            ((kind, action),) = item.items()
            yield IN_TRANSACTION[kind], f"{arn}table/{action['TableName']}"
        return
    if service == "dynamodb":
        index = f"/index/{body['IndexName']}" if "IndexName" in body else ""
        resource = f"table/{body['TableName']}{index}"
    elif service == "sqs":
        resource = body["QueueUrl"].rsplit("/", 1)[-1]
    elif service == "ssm":
        resource = f"parameter/{body['Name'].lstrip('/')}"
    else:
        resource = "?"
    action = f"{service}:{operation}"
    yield OTHER_NAMES.get(action, action), arn + resource


def permissions_of_s3(method, path, copied):
    """What a request of S3 needs, which has no target. Objects are not told apart: policies speak of all in a bucket."""

    def objects(path):
        return f"arn:aws:s3:::{path.lstrip('/').split('/')[0]}/*"

    yield {"GET": "s3:GetObject", "PUT": "s3:PutObjectTagging" if "?tagging" in path else "s3:PutObject"}[method], objects(path)
    if copied:
        yield "s3:GetObject", objects(copied)


class Recorder:
    def __init__(self, port, names, region, account):
        self.upstream = port
        self.region, self.account = region, account
        self.calls = {name: {} for name in names}
        self.unreadable = []
        self.lock = threading.Lock()
        self.servers = {name: self.listen(name) for name in names}

    def listen(self, name):
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"recorder": self, "name": name}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def endpoint(self, name):
        return f"http://127.0.0.1:{self.servers[name].server_address[1]}"

    def note(self, name, request, body):
        target = request.headers.get("X-Amz-Target")
        try:
            if target:
                needed = list(permissions(target, json.loads(body), self.region, self.account))
            else:
                copied = request.headers.get("X-Amz-Copy-Source")
                needed = list(permissions_of_s3(request.command, request.path, copied))
        except (KeyError, TypeError, ValueError) as error:
            with self.lock:
                self.unreadable.append(f"{name}: {target or request.requestline}: {error!r}")
            return
        with self.lock:
            for pair in needed:
                self.calls[name][pair] = self.calls[name].get(pair, 0) + 1

    def stop(self):
        for server in self.servers.values():
            server.shutdown()
            server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorder = None
    name = None

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.recorder.note(self.name, self, body)
        upstream = http.client.HTTPConnection("127.0.0.1", self.recorder.upstream, timeout=30)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for header, value in self.headers.items():
                upstream.putheader(header, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
        except OSError as error:
            self.send_error(502, str(error))
            return
        finally:
            upstream.close()
        self.send_response_only(answer.status, answer.reason)
        for header, value in answer.getheaders():
            if header.lower() not in ("connection", "content-length", "transfer-encoding", "keep-alive"):
                self.send_header(header, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET = do_PUT = do_DELETE = forward

    def log_message(self, *_):
        pass
