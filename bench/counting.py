"""A proxy that counts the calls of AWS's JSON protocol, asks DynamoDB for the units they consume, and keeps what is sent
to the queue. Only counts are taken through it, never times.
"""
import collections
import http.client
import http.server
import json
import threading
import urllib.parse


class Counting:
    def __init__(self, upstream):
        self.calls, self.units, self.messages = collections.Counter(), collections.Counter(), []
        counting, target = self, urllib.parse.urlsplit(upstream).netloc

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                operation = self.headers.get("x-amz-target", "call").rsplit(".", 1)[-1]
                body = counting.before(operation, body)
                connection = http.client.HTTPConnection(target, timeout=30)
                headers = {name: value for name, value in self.headers.items()
                           if name.lower() not in ("host", "content-length", "connection", "accept-encoding")}
                connection.request("POST", self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                counting.after(operation, data)
                self.send_response(answer.status)
                self.send_header("content-type", answer.getheader("content-type", "application/json"))
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                connection.close()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            # Python's 5 drops the connections of a batch of 10, and a dropped one comes again after a second.
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def before(self, operation, body):
        self.calls[operation] += 1
        if operation == "SendMessageBatch":
            self.messages += [entry["MessageBody"] for entry in json.loads(body)["Entries"]]
        if operation in ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"):
            return json.dumps({**json.loads(body), "ReturnConsumedCapacity": "INDEXES"}).encode()
        return body

    def after(self, operation, data):
        try:
            consumed = json.loads(data).get("ConsumedCapacity") or []
        except ValueError:
            return
        for one in consumed if isinstance(consumed, list) else [consumed]:
            self.units[operation] += one["CapacityUnits"]

    def take(self):
        """Calls, units and messages since the last time."""
        taken = self.calls, self.units, self.messages
        self.calls, self.units, self.messages = collections.Counter(), collections.Counter(), []
        return taken
