// What the example worker does, in any runtime that takes workers.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

import { fakeServer } from "../../sdk-node/test/suites/fake-server.mjs";
import { bodyClaim, KEY, sign } from "../../sdk-node/test/suites/signing.mjs";

export const EXAMPLE = fileURLToPath(new URL("../../examples/edge/worker.mjs", import.meta.url));
const PUBLIC_URL = "https://worker.example";

function signed(target, body) {
  const now = Math.floor(Date.now() / 1_000);
  return sign({ iss: "chronq", sub: PUBLIC_URL + target, iat: now, nbf: now - 5, exp: now + 300, jti: "jwt_1", body: bodyClaim(body) });
}

/** Holds a worker to it; `start(env)` starts one and answers with `{ origin, stop }`. */
export async function exercise(t, start) {
  const server = await fakeServer(t, (_, index) =>
    index === 0 ? { status: 503, body: { error: "try again" } } : { body: { messageId: "m1", queue: "default", deduplicated: false } });
  const { origin, stop } = await start({
    CHRONQ_CURRENT_SIGNING_KEY: KEY,
    CHRONQ_URL: server.url,
    CHRONQ_TOKEN: "chronq_this-is-not-a-real-token",
    NEXT_DESTINATION: "https://app.example/next",
    PUBLIC_URL,
  });
  t.after(stop);
  const deliver = (body, signature) =>
    fetch(`${origin}/orders?x=1`, { method: "POST", body, headers: signature ? { "chronq-signature": signature } : {} });

  const body = '{"orderId":42}';
  const accepted = await deliver(body, signed("/orders?x=1", body));
  assert.deepEqual([accepted.status, await accepted.json()], [200, { attempt: "jwt_1", published: "m1" }]);
  assert.equal(server.requests.length, 2, "a 503 is repeated at the edge too");
  assert.deepEqual([server.requests[1].target, server.requests[1].body], ["/v2/publish/https://app.example/next", '{"shipped":42}']);

  // Above the size from which the platform's digest is used.
  const large = JSON.stringify({ orderId: 43, padding: "x".repeat(200_000) });
  assert.equal((await deliver(large, signed("/orders?x=1", large))).status, 200);
  const cases = [
    [body, undefined, "signature_missing"],
    [body, signed("/other", body), "url_mismatch"],
    [`${body} `, signed("/orders?x=1", body), "body_mismatch"],
    [large.replace("43", "44"), signed("/orders?x=1", large), "body_mismatch"],
  ];
  for (const [sent, signature, code] of cases) {
    const refused = await deliver(sent, signature);
    assert.deepEqual([refused.status, await refused.json()], [401, { error: code }]);
  }
}
