// The same job with Powertools idempotency for TypeScript, as its documentation recommends it: persistence made once,
// the business function wrapped, the event's id as the key, the context registered for its time-out.
// What it cannot promise: the idempotency record is not part of the transaction. A crash after the commit and before the
// record is completed applies the event again once the record's lease has ended.
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient, SendMessageCommand } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import Stripe from "stripe";

const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);
// md5: false only because the stand-in for SQS computes none.
const queue = new SQSClient({ md5: false });
const stripe = new Stripe("sk_test_unused");
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: "idempotency", awsSdkV3Client: client });
const config = new IdempotencyConfig({ eventKeyJmesPath: "id", expiresAfterSeconds: 30 * 86400 });

const apply = makeIdempotent(
  async (event) => {
    const invoice = event.data.object;
    await documents.send(new TransactWriteCommand({
      TransactItems: [
        { Update: {
          TableName: "accounts", Key: { customer_id: invoice.customer },
          UpdateExpression: "ADD balance :amount", ExpressionAttributeValues: { ":amount": invoice.amount_paid },
        } },
        { Put: {
          TableName: "outbox", Item: { id: event.id, to: invoice.customer_email, amount: invoice.amount_paid },
          ConditionExpression: "attribute_not_exists(id)",
        } },
      ],
    }));
    await queue.send(new SendMessageCommand({ QueueUrl: process.env.QUEUE_URL, MessageBody: event.id }));
    return { credited: invoice.amount_paid };
  },
  { persistenceStore, config },
);

export const handler = async (request, context) => {
  let event;
  try {
    const signature = request.headers["stripe-signature"];
    event = stripe.webhooks.constructEvent(request.body, signature, process.env.STRIPE_SECRET);
  } catch {
    return { statusCode: 401, body: "" };
  }
  config.registerLambdaContext(context);
  return { statusCode: 200, body: JSON.stringify(await apply(event)) };
};
