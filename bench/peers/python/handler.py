"""The same job with Powertools idempotency for Python, as its documentation recommends it: persistence made once, the
business function decorated, the event's id as the key, the context registered for its time-out.

What it cannot promise: the idempotency record is not part of the transaction. A crash after the commit and before the
record is completed applies the event again once the record's lease has ended.
"""
import json
import os

import boto3
import stripe
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function)

dynamodb = boto3.client("dynamodb")
queue = boto3.client("sqs")
persistence = DynamoDBPersistenceLayer(table_name="idempotency", boto3_client=dynamodb)
config = IdempotencyConfig(event_key_jmespath="id", expires_after_seconds=30 * 86400)


@idempotent_function(data_keyword_argument="event", persistence_store=persistence, config=config)
def apply(event):
    invoice = event["data"]["object"]
    amount = {"N": str(invoice["amount_paid"])}
    dynamodb.transact_write_items(TransactItems=[
        {"Update": {
            "TableName": "accounts", "Key": {"customer_id": {"S": invoice["customer"]}},
            "UpdateExpression": "ADD balance :amount", "ExpressionAttributeValues": {":amount": amount},
        }},
        {"Put": {
            "TableName": "outbox", "ConditionExpression": "attribute_not_exists(id)",
            "Item": {"id": {"S": event["id"]}, "to": {"S": invoice["customer_email"]}, "amount": amount},
        }},
    ])
    queue.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=event["id"])
    return {"credited": invoice["amount_paid"]}


def handler(request, context):
    try:
        stripe.WebhookSignature.verify_header(
            request["body"], request["headers"]["stripe-signature"], os.environ["STRIPE_SECRET"],
            stripe.Webhook.DEFAULT_TOLERANCE)
    except stripe.SignatureVerificationError:
        return {"statusCode": 401, "body": ""}
    config.register_lambda_context(context)
    return {"statusCode": 200, "body": json.dumps(apply(event=json.loads(request["body"])))}
