import { generateKeyPairSync, sign as signEd25519 } from "node:crypto";
import { test } from "node:test";
import assert from "node:assert/strict";

import * as edge from "@chronq/edge";
import * as alone from "@chronq/edge/receiver";

import { receiverSuite } from "../../sdk-node/test/suites/receiver.mjs";
import { claimsFor, KEY, NOW, sign, webhookHeaders } from "../../sdk-node/test/suites/signing.mjs";

receiverSuite(edge);

test("the receiver's own entry verifies alike", async () => {
  const receiver = new alone.Receiver({ currentSigningKey: KEY });
  assert.equal((await receiver.verify({ signature: sign(claimsFor("x")), body: "x", now: NOW })).key, "current");
  assert.throws(() => new alone.Receiver({ currentSigningKey: "short" }), edge.InvalidInput);
});

test("a body that the platform hashes is judged alike", async () => {
  for (const size of [1_000, 100_000, 3_000_000]) {
    const body = new Uint8Array(size).fill(97);
    const signature = sign(claimsFor(body));
    const receiver = new edge.Receiver({ currentSigningKey: KEY });
    assert.equal((await receiver.verify({ signature, body, now: NOW })).key, "current");
    assert.equal((await receiver.verifyHeaders({ headers: { "chronq-signature": signature }, body, now: NOW })).key, "current");
    body[size - 1] ^= 1;
    for (const judge of [
      () => receiver.verify({ signature, body, now: NOW }),
      () => receiver.verifyHeaders({ headers: { "chronq-signature": signature }, body, now: NOW }),
    ]) {
      await assert.rejects(judge, (error) => error instanceof edge.SignatureError && error.code === "body_mismatch");
    }
    await assert.rejects(receiver.verify({ signature: "a.b.c", body, now: NOW }), (error) => error.code === "signature_malformed");
  }
});

const pair = generateKeyPairSync("ed25519");
const PUBLIC_KEY = `whpk_${Buffer.from(pair.publicKey.export({ format: "jwk" }).x, "base64url").toString("base64")}`;
const SECRET = Buffer.from("not a real secret 000000");
const SECRET_KEY = `whsec_${SECRET.toString("base64")}`;
const item = (body) => `v1a,${signEd25519(null, Buffer.concat([Buffer.from(`msg_1.${NOW}.`), Buffer.from(body)]), pair.privateKey).toString("base64")}`;
const signed = (body, signature = item(body)) => ({ ...webhookHeaders(SECRET, body), "webhook-signature": signature });

test("a public key is verified with by the platform, in every asynchronous call", async () => {
  for (const sdk of [edge, alone]) {
    const receiver = new sdk.Receiver({ dialect: "standard-webhooks", currentSigningKey: PUBLIC_KEY });
    for (const body of ["x", "x".repeat(100_000)]) {
      assert.equal((await receiver.verifyHeaders({ headers: signed(body), body, now: NOW })).key, "current");
      const request = new Request("https://app.example/", { method: "POST", headers: signed(body), body });
      const verified = await receiver.verifyRequest(request, { now: NOW });
      assert.deepEqual([verified.claims.jti, verified.body.length], ["msg_1", body.length]);
      await assert.rejects(
        receiver.verifyHeaders({ headers: signed(body), body: `${body} `, now: NOW }),
        (error) => error instanceof sdk.SignatureError && error.code === "signature_mismatch",
      );
    }
  }
});

test("a public key at once is refused by name, with the way that works", () => {
  for (const keys of [{ currentSigningKey: PUBLIC_KEY }, { currentSigningKey: SECRET_KEY, nextSigningKey: PUBLIC_KEY }]) {
    const receiver = new edge.Receiver({ dialect: "standard-webhooks", ...keys });
    const option = Object.keys(keys).at(-1);
    assert.throws(
      () => receiver.verifyHeadersSync({ headers: signed("x"), body: "x", now: NOW }),
      (error) => error instanceof edge.InvalidInput && error.option === option && error.message.includes("verifyHeaders"),
    );
  }
});

test("a runtime without Ed25519 is told so, and nothing passes", async (t) => {
  const receiver = new edge.Receiver({ dialect: "standard-webhooks", currentSigningKey: SECRET_KEY, nextSigningKey: PUBLIC_KEY });
  const verify = (headers) => receiver.verifyHeaders({ headers, body: "x", now: NOW });
  const refused = (error) => error instanceof edge.InvalidInput && error.option === "nextSigningKey" && error.message.includes("Ed25519");
  for (const method of ["importKey", "verify"]) {
    const broken = t.mock.method(crypto.subtle, method, () => Promise.reject(new DOMException("Unrecognized name", "NotSupportedError")));
    await assert.rejects(verify(signed("x")), refused);
    // Nothing has to be asked for a secret's signature.
    assert.equal((await verify(webhookHeaders(SECRET, "x"))).key, "current");
    broken.mock.restore();
  }
  for (const answer of [false, undefined, 1, "true"]) {
    const odd = t.mock.method(crypto.subtle, "verify", () => Promise.resolve(answer));
    await assert.rejects(verify(signed("x")), (error) => error.code === "signature_mismatch");
    odd.mock.restore();
  }
  assert.equal((await verify(signed("x"))).key, "next");
});
