import { test } from "node:test";
import assert from "node:assert/strict";

import * as edge from "@chronq/edge";
import * as alone from "@chronq/edge/receiver";

import { receiverSuite } from "../../sdk-node/test/suites/receiver.mjs";
import { claimsFor, KEY, NOW, sign } from "../../sdk-node/test/suites/signing.mjs";

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
