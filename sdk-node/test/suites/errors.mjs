// Every error class from a real server's answer, on either core.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

const CUT_OFF_FRAME = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd);
const UNKNOWN = "01936b0e-8d2c-7c3a-9f00-000000000001";

/** Declares the tests; `sdk` is what the package exports, `startServer` that of its testing entry. */
export function errorSuite(sdk, startServer) {
  test("every class is raised by a real server's answer", async (t) => {
    const server = await startServer({ args: ["--tenancy"] });
    t.after(() => server.stop());
    const post = (path, body, method = "POST") => operate(server, method, path, body);
    const clientOf = (token, url = server.url) => new sdk.Chronq({ url, token, retry: false });
    const of = async (tenant, level = "read-write") =>
      clientOf((await post("/v2/admin/tokens", { name: `${tenant}-${level}`, level, tenant })).token);
    const timer = { payload: "12345678", delay: "1m", txn: "t" };

    const client = clientOf(server.token);
    const taken = await client.publish(server.inbox("taken").url, { body: "x", delay: "1d" });
    await client.messages.cancel(taken.messageId);
    await post("/v2/admin/tenants/acme", { maxTimers: 1, maxTimerHorizonSeconds: 3_600, maxPayloadBytes: 8 }, "PUT");
    // The next call would be allowed in twelve days; an SDK believes in one at most.
    await post("/v2/admin/tenants/slow", { maxSchedulesPerSecond: 0.000_001, burst: 1 }, "PUT");
    const [acme, slow, gated, reader] = [await of("acme"), await of("slow"), await of("gated"), await of("acme", "read-only")];
    await acme.timers.schedule("q", "a", timer);
    await slow.timers.schedule("q", "a", timer);
    const nonsense = server.inbox("nonsense");
    await nonsense.script([{ status: 200, body: "nothing of the contract" }]);
    const closed = await startServer();
    await closed.stop();

    const receiver = new sdk.Receiver(server.signingKeys);
    const { url } = server.inbox("signed");
    await client.publish(url, { body: "signed" });
    const [{ headers }] = await server.inbox("signed").waitFor(1);

    const cases = [
      // What is done, then: class, code, status, reason, retryAfter, and what else the class tells.
      [() => client.publish(url, { queue: "nope" }), "InvalidInput", "invalid_input", 400, null, null, { option: null, index: null }],
      [() => acme.timers.schedule("q", "a", { ...timer, payload: CUT_OFF_FRAME, payloadZstd: true }), "InvalidInput", "timers_bad_request", 400, "timers_payload_not_zstd", null],
      [() => clientOf("chronq_not-a-real-token").queues.list(), "Unauthorized", "unauthorized", 401, null, null],
      [() => reader.publish(url), "Forbidden", "forbidden", 403, null, null],
      [() => client.messages.get(UNKNOWN), "NotFound", "not_found", 404, null, null],
      [() => client.messages.cancel(taken.messageId), "Conflict", "conflict", 409, null, null, { state: "cancelled" }],
      [() => acme.timers.schedule("q", "a", { ...timer, payload: "123456789" }), "TooLarge", "payload_too_large", 413, "timers_payload_too_large", null],
      [() => slow.timers.schedule("q", "a", timer), "Throttled", "rate_limited", 429, "rate_limited", 86_400],
      [() => acme.timers.schedule("q", "b", timer), "QuotaExceeded", "timers_quota_exceeded", 403, "timers_quota_exceeded", null],
      [() => acme.timers.schedule("q", "a", { ...timer, delay: "2h" }), "HorizonExceeded", "timer_horizon_exceeded", 403, "timers_horizon", null],
      [() => gated.timers.schedule("q", "a", timer), "FeatureGated", "feature_gated", 403, "feature_gated", null],
      [async () => {
        await post("/api/v1/system/timers", { schedule: false });
        return acme.timers.schedule("q", "a", timer);
      }, "Unavailable", "timers_disabled", 503, "timers_disabled", 1],
      [() => clientOf(server.token, closed.url).queues.list(), "Transport", "transport", null, null, null, { mayHaveBeenSent: false }],
      [() => clientOf(server.token, nonsense.url).queues.list(), "Protocol", "protocol", 200, null, null],
      [() => receiver.verifyHeaders({ headers, body: "other", url }), "SignatureError", "body_mismatch", null, null, null, { attempts: 0, claim: null }],
      [() => receiver.verifyHeaders({ headers, body: "signed", url: `${url}/x` }), "SignatureError", "url_mismatch", null, null, null, { attempts: 0, difference: "path" }],
    ];
    for (const [act, name, code, status, reason, retryAfter, more] of cases) {
      const error = await act().then(() => assert.fail(`${name}: it was fulfilled`), (thrown) => thrown);
      assert.ok(error instanceof sdk[name] && error instanceof sdk.ChronqError, inspect(error));
      const expected = { name, code, status, reason, retryAfter, attempts: 1, mayHaveBeenSent: false, ...more };
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, error[key]])), expected, inspect(error));
      assert.ok(error.message.length > 10, "a sentence for people");
    }
    assert.equal(new Set(cases.map(([, name]) => name)).size, 14, "all classes");
  });
}

async function operate(server, method, path, body) {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const answer = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}
