// The official SDKs of Node: what they sign and what they believe.
//
//   node sdks.mjs vectors         prints requests with each SDK's verdict, in the format of `oncehook verify --vectors`
//   node sdks.mjs judge < FILE    prints the verdict on each request of a JSON list of {provider, secret, url, headers, body_base64}
import { createHmac, generateKeyPairSync, sign as cryptoSign } from "node:crypto";
import { sign as githubSign, verify as githubVerify } from "@octokit/webhooks-methods";
import sendgrid from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import { WebhooksHelper } from "square";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import twilio from "twilio";

const now = Math.floor(Date.now() / 1000);
const stripe = new Stripe("sk_test_unused");
const ed25519 = generateKeyPairSync("ed25519");
const p256 = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const spki = (pair) => pair.publicKey.export({ type: "spki", format: "der" });
const whsec = "whsec_" + Buffer.from("interop-interop-interop-interop!").toString("base64");
const other = "whsec_" + Buffer.from("another-another-another-another!").toString("base64");
const url = "https://hooks.example.com/webhooks/source?a=1";

const bodies = {
  json: Buffer.from('{"id":"evt_1","type":"a.b","n":9007199254740993}'),
  unicode: Buffer.from('{"id":"evt_1","t":"Zo\u00eb \u{1F4B8} \\u00e9"}'),
  crlf: Buffer.from('{"id":"evt_1"}\r\n'),
  bom: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"id":"evt_1"}')]),
  bytes: Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x80, 0x7d]),
  large: Buffer.from(JSON.stringify({ id: "evt_1", pad: "x".repeat(100_000) })),
  empty: Buffer.alloc(0),
};

const stripeHeader = (body, secret, at) => {
  const v1 = createHmac("sha256", secret).update(`${at}.`).update(body).digest("hex");
  return `t=${at},v1=${v1}`;
};
const isText = (body) => body.equals(Buffer.from(new TextDecoder().decode(body)));
// The SDKs of Svix and Standard Webhooks sign what a body is as text; its bytes are signed here where they differ.
const standard = (Sdk, body, secret, at) => isText(body)
  ? new Sdk(secret).sign("msg_1", new Date(at * 1000), body)
  : "v1," + createHmac("sha256", Buffer.from(secret.slice(6), "base64")).update(`msg_1.${at}.`).update(body).digest("base64");
// `sign` is the SDK's own where it has one. `text` marks SDKs that take bodies as text: other bytes cannot be given to them.
const providers = {
  stripe: {
    secret: "whsec_test_secret", wrong: "whsec_test_secreT", tolerance: 300, hex: true,
    sign: (body, secret, at) => ({
      "Stripe-Signature": isText(body)
        ? stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret, timestamp: at })
        : stripeHeader(body, secret, at),
    }),
    // Events are parsed by constructEvent as well: only the signature is compared here.
    verify: (r) => stripe.webhooks.signature.verifyHeader(r.body, r.headers["stripe-signature"], r.secret, 300),
  },
  github: {
    secret: "It's a Secret to Everybody", wrong: "nobody", text: true, hex: true,
    headers: { "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958", "X-GitHub-Event": "push" },
    // The SDK signs no empty body.
    sign: async (body, secret) => ({
      "X-Hub-Signature-256": body.length > 0
        ? await githubSign(secret, body.toString())
        : "sha256=" + createHmac("sha256", secret).digest("hex"),
    }),
    verify: (r) => githubVerify(r.secret, r.body.toString(), r.headers["x-hub-signature-256"]),
  },
  svix: {
    secret: whsec, wrong: other, tolerance: 300,
    sign: (body, secret, at) => ({
      "svix-id": "msg_1", "svix-timestamp": String(at),
      "svix-signature": standard(SvixWebhook, body, secret, at),
    }),
    verify: (r) => signatureOnly(() => new SvixWebhook(r.secret).verify(r.body, r.headers)),
  },
  standard_webhooks: {
    secret: whsec, wrong: other, tolerance: 300,
    sign: (body, secret, at) => ({
      "webhook-id": "msg_1", "webhook-timestamp": String(at),
      "webhook-signature": standard(StandardWebhook, body, secret, at),
    }),
    verify: (r) => signatureOnly(() => new StandardWebhook(r.secret).verify(r.body, r.headers)),
  },
  square: {
    secret: "square-signature-key", wrong: "another-key", text: true, url,
    sign: (body, secret) => ({
      "x-square-hmacsha256-signature": createHmac("sha256", secret).update(url).update(body).digest("base64"),
    }),
    verify: (r) => WebhooksHelper.verifySignature({
      requestBody: r.body.toString(), signatureHeader: r.headers["x-square-hmacsha256-signature"],
      signatureKey: r.secret, notificationUrl: r.url,
    }),
  },
  twilio: {
    secret: "12345twilio-auth-token", wrong: "another-token", text: true, url,
    type: "application/x-www-form-urlencoded",
    bodies: {
      form: Buffer.from("CallSid=CA1&From=%2B14158675309&To=%2B18005551212&Digits=12&Empty="),
      repeated: Buffer.from("A=2&A=1&B=x%20y+z&CallSid=CA1&%C3%A9=%F0%9F%92%B8"),
    },
    sign: (body, secret) => ({
      "X-Twilio-Signature": twilio.getExpectedTwilioSignature(secret, url, parameters(body)),
    }),
    verify: (r) => twilio.validateRequest(r.secret, r.headers["x-twilio-signature"], r.url, parameters(r.body)),
  },
  discord: {
    secret: spki(ed25519).subarray(-32).toString("hex"), wrong: "00".repeat(31) + "01", hex: true,
    sign: (body, _secret, at) => ({
      "X-Signature-Timestamp": String(at),
      "X-Signature-Ed25519": cryptoSign(null, Buffer.concat([Buffer.from(String(at)), body]), ed25519.privateKey).toString("hex"),
    }),
    verify: (r) => verifyKey(r.body, r.headers["x-signature-ed25519"], r.headers["x-signature-timestamp"], r.secret),
  },
  sendgrid: {
    secret: spki(p256).toString("base64"), wrong: spki(generateKeyPairSync("ec", { namedCurve: "prime256v1" })).toString("base64"),
    sign: (body, _secret, at) => ({
      "X-Twilio-Email-Event-Webhook-Timestamp": String(at),
      "X-Twilio-Email-Event-Webhook-Signature":
        cryptoSign("sha256", Buffer.concat([Buffer.from(String(at)), body]), p256.privateKey).toString("base64"),
    }),
    verify: (r) => {
      const hook = new sendgrid.EventWebhook();
      return hook.verifySignature(hook.convertPublicKeyToECDSA(r.secret), r.body,
        r.headers["x-twilio-email-event-webhook-signature"], r.headers["x-twilio-email-event-webhook-timestamp"]);
    },
  },
};

// A body that is not JSON makes these SDKs fail after the signature was found good.
function signatureOnly(verify) {
  try {
    return verify() ?? true;
  } catch (error) {
    if (error instanceof SyntaxError) return true;
    throw error;
  }
}

function parameters(body) {
  const all = {};
  for (const [name, value] of new URLSearchParams(body.toString())) {
    all[name] = name in all ? [].concat(all[name], value) : value;
  }
  return all;
}

async function verdict(provider, { headers, body, secret, url }) {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  try {
    return Boolean(await providers[provider].verify({ headers: lower, body, secret, url }));
  } catch {
    return false;
  }
}

function changed(headers, change) {
  const copy = { ...headers };
  for (const name of Object.keys(copy).filter((name) => /signature(-ed25519|-256)?$/i.test(name))) {
    const value = change(copy[name]);
    if (value === undefined) delete copy[name];
    else copy[name] = value;
  }
  return copy;
}

async function* cases(name, it) {
  for (const [kind, body] of Object.entries(it.bodies ?? bodies)) {
    if (it.text && !body.equals(Buffer.from(body.toString()))) continue;
    const headers = { ...it.headers, ...(it.type ? { "Content-Type": it.type } : {}), ...(await it.sign(body, it.secret, now)) };
    const one = (what, headers, more = {}) => ({ case: `${name} ${kind}: ${what}`, headers, body, secret: it.secret, ...more });
    yield one("as signed", headers);
    yield one("wrong secret", headers, { secret: it.wrong });
    yield one("no signature", changed(headers, () => undefined));
    yield one("empty signature", changed(headers, () => ""));
    yield one("half a signature", changed(headers, (text) => text.slice(0, -8)));
    yield one("junk after it", changed(headers, (text) => text + "!"));
    if (it.hex) yield one("upper case", changed(headers, (text) => text.replace(/[0-9a-f]{40,}/, (hex) => hex.toUpperCase())));
    if (it.url) yield one("another URL", headers, { url: url + "&b=2" });
    if (body.length > 0) {
      const flipped = Buffer.from(body);
      flipped[flipped.length >> 1] ^= 1;
      if (!it.text || flipped.equals(Buffer.from(flipped.toString()))) yield one("a flipped bit", headers, { body: flipped });
      yield one("one byte more", headers, { body: Buffer.concat([body, Buffer.from(" ")]) });
    }
    if (it.tolerance) {
      for (const [what, at] of [["an hour old", now - 3600], ["an hour ahead", now + 3600], ["four minutes old", now - 240]]) {
        yield one(what, await it.sign(body, it.secret, at));
      }
      const wrong = await it.sign(body, it.wrong, now);
      if (name === "stripe") {
        const v1 = (header) => header.split(",v1=")[1];
        const [a, b] = [v1(headers["Stripe-Signature"]), v1(wrong["Stripe-Signature"])];
        yield one("two signatures", { "Stripe-Signature": `t=${now},v1=${b},v1=${a}` });
        yield one("only v0", { "Stripe-Signature": `t=${now},v0=${a}` });
        yield one("spaces between", { "Stripe-Signature": `t=${now}, v1=${a}` });
      } else {
        const signature = Object.keys(headers).find((name) => name.endsWith("signature"));
        const two = { ...headers, [signature]: `${wrong[signature]} ${headers[signature]}` };
        yield one("two signatures", two);
        yield one("an unknown version first", { ...headers, [signature]: `v9,AAAA ${headers[signature]}` });
        yield one("an unknown version alone", { ...headers, [signature]: headers[signature].replace("v1,", "v9,") });
      }
    }
  }
}

async function vectors() {
  const all = [];
  for (const [provider, it] of Object.entries(providers)) {
    for await (const one of cases(provider, it)) {
      const request = { headers: one.headers, body: one.body, secret: one.secret, url: one.url ?? it.url };
      all.push({
        id: one.case, provider, secret: one.secret, url: request.url, headers: one.headers,
        body_base64: one.body.toString("base64"), now, tolerance_s: it.tolerance ?? null,
        valid: await verdict(provider, request),
      });
    }
  }
  return all;
}

async function judge() {
  let text = "";
  for await (const part of process.stdin) text += part;
  const verdicts = [];
  for (const one of JSON.parse(text)) {
    verdicts.push(await verdict(one.provider, { ...one, body: Buffer.from(one.body_base64, "base64") }));
  }
  return verdicts;
}

console.log(JSON.stringify(process.argv[2] === "judge" ? await judge() : await vectors()));
