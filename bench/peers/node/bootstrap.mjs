// Speaks Lambda's runtime API for a Node handler: next, then response or error. Nothing else, to the peer's advantage.
import http from "node:http";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true });
const base = "/2018-06-01/runtime/invocation/";

const call = (method, path, body) => new Promise((resolve, reject) => {
  const request = http.request({ host, port, method, path, agent }, (response) => {
    const parts = [];
    response.on("data", (part) => parts.push(part));
    response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(parts).toString() }));
  });
  request.on("error", reject);
  request.end(body);
});

const { handler } = await import("./handler.mjs");
for (;;) {
  const { headers, body } = await call("GET", `${base}next`);
  const id = headers["lambda-runtime-aws-request-id"];
  const deadline = Number(headers["lambda-runtime-deadline-ms"]);
  const context = { awsRequestId: id, getRemainingTimeInMillis: () => deadline - Date.now() };
  try {
    await call("POST", `${base}${id}/response`, JSON.stringify(await handler(JSON.parse(body), context)));
  } catch (error) {
    console.error(error);
    await call("POST", `${base}${id}/error`, JSON.stringify({ errorType: error.name, errorMessage: error.message }));
  }
}
