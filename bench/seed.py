"""Fills the table with events that are done, so that it can be asked what a large table costs."""
import http.client
import json
import urllib.parse


def events(endpoint, first, end):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(endpoint).netloc, timeout=60)
    headers = {"x-amz-target": "DynamoDB_20120810.BatchWriteItem", "content-type": "application/x-amz-json-1.0",
               "authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, "
                                "SignedHeaders=host, Signature=0", "x-amz-date": "20260101T000000Z"}
    for start in range(first, end, 25):
        puts = [{"PutRequest": {"Item": {
            "pk": {"S": f"event#stripe##evt_seed_{number}"}, "sk": {"S": "event"}, "v": {"N": "1"},
            "outcome": {"S": "applied"}, "kind": {"S": "invoice.payment_succeeded"}, "body": {"S": "x" * 200},
        }}} for number in range(start, min(start + 25, end))]
        connection.request("POST", "/", json.dumps({"RequestItems": {"oncehook": puts}}), headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != 200 or json.loads(data).get("UnprocessedItems"):
            raise SystemExit(f"the store did not take the items: {data[:300]!r}")
