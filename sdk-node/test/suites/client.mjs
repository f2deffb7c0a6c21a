// What a client must do, on either core.

import assert from "node:assert/strict";
import { test } from "node:test";
import { format, inspect } from "node:util";

import { fakeServer } from "./fake-server.mjs";

const TOKEN = "chronq_this-is-not-a-real-token";
const PUBLISHED = { messageId: "01936b0e-8d2c-7c3a-9f00-000000000001", queue: "default", deduplicated: false };
const DESTINATION = "https://app.example/hook?a=1";

/** Declares the tests; `sdk` is what the package exports. */
export function clientSuite(sdk) {
  const { Chronq, ChronqError, InvalidInput } = sdk;

  async function started(t, answer, options = {}) {
    const server = await fakeServer(t, answer);
    const client = new Chronq({ url: server.url, token: TOKEN, retry: { base: "1ms", cap: "2ms" }, ...options });
    return { client, requests: server.requests };
  }

  async function rejection(promise) {
    try {
      await promise;
    } catch (error) {
      return error;
    }
    return assert.fail("it was fulfilled");
  }

  /** A client that must not send anything. */
  function offline() {
    return new Chronq({ url: "http://127.0.0.1:9", token: TOKEN, fetch: () => assert.fail("it was sent") });
  }

  test("a publish carries its options and answers what was stored", async (t) => {
    const { client, requests } = await started(t, () => ({ body: PUBLISHED }));
    const answer = await client.publish(DESTINATION, {
      json: { n: 1 }, queue: "orders", method: "PUT", headers: { "X-Tenant": "acme" }, retries: 0, retryDelay: { milliseconds: 1_500 },
      delay: "2m", notBefore: new Date(1_795_996_800_000), timeout: "10s", labels: ["a", "b"], callback: "https://app.example/done",
      failureCallback: { url: "https://app.example/failed", method: "POST", headers: [["x-a", "1"]] }, deduplicationId: null, body: undefined,
    });
    assert.deepEqual(answer, PUBLISHED);
    const [{ method, target, headers, body }] = requests;
    assert.deepEqual([method, target, body], ["POST", `/v2/publish/orders/${DESTINATION}`, '{"n":1}']);
    assert.equal(headers.authorization, `Bearer ${TOKEN}`);
    assert.match(headers["user-agent"], /^chronq-sdk\/\d+\.\d+\.\d+$/);
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["chronq-method"], "PUT");
    assert.equal(headers["chronq-retries"], "0");
    assert.equal(headers["chronq-retry-delay"], "1s500ms");
    assert.equal(headers["chronq-delay"], "2m");
    assert.equal(headers["chronq-not-before"], "1795996800");
    assert.equal(headers["chronq-deduplication-id"].length, 36);
    assert.equal(headers["chronq-callback"], "https://app.example/done");
  });

  test("a suffix is added to the user agent", async (t) => {
    const { client, requests } = await started(t, () => ({ body: [] }), { userAgent: "orders/7" });
    await client.queues.list();
    assert.match(requests[0].headers["user-agent"], /^chronq-sdk\/\d+\.\d+\.\d+ orders\/7$/);
  });

  test("a content type is always sent", async (t) => {
    const { client, requests } = await started(t, () => ({ body: PUBLISHED }));
    for (const content of [{ json: [1] }, { body: "grüße" }, { body: Buffer.from("bytes") }, { body: new TextEncoder().encode("é").buffer }, {}, { body: "<a/>", contentType: "application/xml" }]) {
      await client.publish(DESTINATION, content);
    }
    assert.deepEqual(requests.map(({ body, headers }) => [body, headers["content-type"]]), [
      ["[1]", "application/json"],
      ["grüße", "text/plain"],
      ["bytes", "application/octet-stream"],
      ["é", "application/octet-stream"],
      ["", "application/octet-stream"],
      ["<a/>", "application/xml"],
    ]);
  });

  test("a destination that URL libraries rewrite arrives as it was written", async (t) => {
    const { client, requests } = await started(t, ({ target }) =>
      ({ body: target === "/v2/batch" ? [PUBLISHED] : PUBLISHED }));
    const destination = "http://127.0.0.1:1/a/../b%2f?x=1&y=%20";
    assert.deepEqual(await client.publish(destination, { body: "x" }), PUBLISHED);
    const { target, body } = requests[0];
    const seen = target === "/v2/batch" ? JSON.parse(body)[0].destination : target.slice("/v2/publish/".length);
    assert.equal(seen, destination);
  });

  test("a publish whose answer was lost is repeated with the same id, and says that it was there", async (t) => {
    const { client, requests } = await started(t, (_, index) => (index === 0 ? "drop" : { status: 202, body: PUBLISHED }));
    assert.deepEqual(await client.publish(DESTINATION, { body: "x" }), { ...PUBLISHED, deduplicated: true });
    assert.equal(requests.length, 2);
    assert.equal(requests[0].headers["chronq-deduplication-id"], requests[1].headers["chronq-deduplication-id"]);
  });

  test("Retry-After is waited out, twice, in virtual time", async (t) => {
    const waits = [];
    const realTimeout = globalThis.setTimeout;
    t.mock.method(globalThis, "setTimeout", (act, milliseconds, ...rest) => {
      // The runtime has timers of its own, and each attempt has one of 30 s.
      if (milliseconds !== 2_000) return realTimeout(act, milliseconds, ...rest);
      waits.push(milliseconds);
      return realTimeout(act, 0, ...rest);
    });
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      if (calls > 2) return Response.json(PUBLISHED);
      return Response.json({ error: "the store is unavailable" }, { status: 503, headers: { "retry-after": "2" } });
    };
    const client = new Chronq({ url: "http://127.0.0.1:9", token: TOKEN, fetch });
    assert.deepEqual(await client.publish(DESTINATION, { body: "x" }), PUBLISHED);
    assert.deepEqual([waits, calls], [[2_000, 2_000], 3]);
  });

  test("a refused connection was certainly not sent, and even an unsafe call is repeated", async () => {
    let calls = 0;
    const fetch = async (url, init) => {
      calls += 1;
      return globalThis.fetch(url, init);
    };
    const free = await freePort();
    const client = new Chronq({ url: `http://127.0.0.1:${free}`, token: TOKEN, retry: { attempts: 3, base: "1ms" }, fetch });
    const error = await rejection(client.messages.retry("m1"));
    assert.deepEqual([error.name, error.code, error.attempts, error.mayHaveBeenSent, calls], ["Transport", "transport", 3, false, 3]);
  });

  test("an attempt that takes too long may have been sent", async (t) => {
    const { client } = await started(t, () => "hang", { timeout: "20ms", retry: false });
    const error = await rejection(client.publish(DESTINATION));
    assert.deepEqual([error.name, error.attempts, error.mayHaveBeenSent], ["Transport", 1, true]);
    assert.match(error.message, /no answer within 20 ms/);
  });

  test("every answer becomes the error of its kind", async (t) => {
    const cases = [
      [400, { error: "chronq-retries must be between 0 and 100" }, "InvalidInput", "invalid_input"],
      [401, { error: "unauthorized" }, "Unauthorized", "unauthorized"],
      [403, { error: "forbidden" }, "Forbidden", "forbidden"],
      [403, { error: "timers_quota_exceeded" }, "QuotaExceeded", "timers_quota_exceeded"],
      [403, { error: "timer_horizon_exceeded" }, "HorizonExceeded", "timer_horizon_exceeded"],
      [403, { error: "feature_gated" }, "FeatureGated", "feature_gated"],
      [404, { error: "no such message" }, "NotFound", "not_found"],
      [409, { error: "completed", state: "completed" }, "Conflict", "conflict"],
      [413, { error: "too large" }, "TooLarge", "payload_too_large"],
      [429, { error: "slow down" }, "Throttled", "rate_limited", { "retry-after": "7" }],
      [503, { error: "unavailable" }, "Unavailable", "unavailable", { "retry-after": "7" }],
      [200, "no json", "Protocol", "protocol"],
    ];
    let current;
    const { client } = await started(t, () => ({ status: current[0], body: current[1], headers: current[4] }), { retry: false });
    for (current of cases) {
      const [status, , name, code, headers] = current;
      const error = await rejection(client.messages.get("m1"));
      assert.ok(error instanceof sdk[name] && error instanceof ChronqError && error instanceof Error, inspect(error));
      assert.deepEqual([error.name, error.code, error.status, error.attempts], [name, code, status, 1]);
      assert.equal(error.retryAfter, headers ? 7 : null);
      if (name === "Conflict") assert.equal(error.state, "completed");
    }
  });

  test("a redirect is not followed", async (t) => {
    const { client, requests } = await started(t, () => ({ status: 302, headers: { location: "/elsewhere" } }), { retry: false });
    assert.equal((await rejection(client.messages.get("m1"))).name, "Protocol");
    assert.equal(requests.length, 1);
  });

  test("what the contract would refuse is refused before the network, naming the option", async () => {
    const client = offline();
    const cases = [
      [() => client.publish("ftp://h/"), "destination"],
      [() => client.publish(undefined), "destination"],
      [() => client.publish(DESTINATION, { retries: 101 }), "retries"],
      [() => client.publish(DESTINATION, { retries: NaN }), "retries"],
      [() => client.publish(DESTINATION, { retries: 1n }), "retries"],
      [() => client.publish(DESTINATION, { retryDelay: 5 }), "retryDelay"],
      [() => client.publish(DESTINATION, { delay: "2 minutes" }), "delay"],
      [() => client.publish(DESTINATION, { body: { n: 1 } }), "body"],
      [() => client.publish(DESTINATION, { body: "a", json: 1 }), "body"],
      [() => client.publish(DESTINATION, { body: new Uint8Array([0xff]) }), "body"],
      [() => client.publish(DESTINATION, { body: "\ud800" }), "body"],
      [() => client.publish(DESTINATION, { json: 1n }), "json"],
      [() => client.publish(DESTINATION, { json: () => 1 }), "json"],
      [() => client.publish(DESTINATION, { retires: 1 }), "retires"],
      [() => client.publish(DESTINATION, { destination: "https://h/" }), "destination"],
      [() => client.publish(DESTINATION, { labels: [1] }), "labels"],
      [() => client.publish(DESTINATION, { notBefore: new Date(NaN) }), "notBefore"],
      [() => client.publish(DESTINATION, { signal: {} }), "signal"],
      [() => client.publish(DESTINATION, { method: "TRACE" }), "method"],
      [() => client.publish(DESTINATION, 7), "options"],
      [() => client.publishToGroup("", { body: "x" }), "group"],
      [() => client.messages.get(""), "id"],
      [() => client.messages.cancel(""), "id"],
      [() => client.messages.events({ state: "done" }), "state"],
      [() => client.queues.delete(""), "name"],
      [() => client.queues.put("q", { retryLimit: -1 }), "retryLimit"],
      [() => client.groups.addEndpoints("g", ["nope"]), "url"],
      [() => client.schedules.put({ name: "s", cron: "", url: "https://h/" }), "cron"],
      [() => client.timers.schedule("", "k", { payload: "x", delay: "1m" }), "queue"],
      [() => client.timers.schedule("q", "k", { payload: "x", delay: 5 }), "delay"],
      [() => client.timers.cancel("q", ""), "timerKey"],
      [() => client.log.find("q", ""), "txn"],
      [() => client.log.push("", 1), "queue"],
      [() => client.log.push("q", undefined), "payload"],
      [() => client.log.push("q", 1n), "payload"],
      [() => client.log.push("q", "\ud800"), "payload"],
      [() => client.log.push("q", 1, { payload: 2 }), "payload"],
      [() => client.log.push("q", 1, { transactionId: "t" }), "transactionId"],
      [() => client.log.configure("", {}), "queue"],
      [() => client.log.configure("q", { lease: "500ms" }), "lease"],
      [() => client.log.configure("q", { lease: 30 }), "lease"],
      [() => client.log.configure("q", { leaseTime: "30s" }), "leaseTime"],
      [() => client.batch([]), "batch"],
      [() => client.batch("nope"), "entries"],
    ];
    for (const [call, option] of cases) {
      const error = await rejection(call());
      assert.ok(error instanceof InvalidInput, `${option}: ${inspect(error)}`);
      assert.equal(error.option, option, error.message);
      assert.deepEqual([error.code, error.attempts, error.mayHaveBeenSent], ["invalid_input", 0, false]);
    }
    const error = await rejection(client.batch([{ destination: DESTINATION }, { destination: DESTINATION, retries: -1 }]));
    assert.deepEqual([error.option, error.index], ["retries", 1]);
  });

  test("a batch answers one result per entry, in order", async (t) => {
    const { client, requests } = await started(t, () => ({ body: [PUBLISHED, { error: "unknown queue: \"nope\"" }] }));
    const answer = await client.batch([{ destination: DESTINATION, json: { n: 1 } }, { destination: DESTINATION, body: "x", queue: "nope" }]);
    assert.deepEqual(answer, [PUBLISHED, { error: "unknown queue: \"nope\"" }]);
    assert.deepEqual(JSON.parse(requests[0].body).map(({ destination, body }) => [destination, body]), [[DESTINATION, '{"n":1}'], [DESTINATION, "x"]]);
  });

  test("a signal ends a call before it begins, while it is sent and while it waits", async (t) => {
    const { client, requests } = await started(t, (_, index) => (index === 0 ? "hang" : { status: 503, body: { error: "no" } }), { retry: { base: "1h", cap: "1h" } });
    const reason = new Error("enough");
    assert.equal(await rejection(client.messages.get("m1", { signal: AbortSignal.abort(reason) })), reason);
    assert.equal(requests.length, 0);
    for (const sent of [1, 2]) {
      const controller = new AbortController();
      const call = rejection(client.messages.get("m1", { signal: controller.signal }));
      while (requests.length < sent) await new Promise(setImmediate);
      controller.abort(reason);
      assert.equal(await call, reason);
    }
  });

  test("a timer's result is one of a closed sum, and an absent one can be settled", async (t) => {
    const placed = { ok: true, status: "scheduled", queue: "reminders", timerKey: "trial:day7", txn: "t1", messageId: "m1", deliverAt: "2026-12-07T00:00:00.000000Z" };
    const frame = { id: "m1", transactionId: "t1", queue: "reminders", partition: "Default", partitionId: "p1", offset: 0, data: { n: 1 }, producerSub: null, createdAt: "2026-12-07T00:00:00.000000Z" };
    const { client, requests } = await started(t, ({ method, target }) => {
      if (method === "POST") return { body: { results: [placed] } };
      if (method === "DELETE") return { body: { ok: false, status: "absent", queue: "reminders", timerKey: "trial:day7", txn: "t1" } };
      return target.includes("timers") ? { body: { found: false } } : { body: { messages: [frame] } };
    });
    const scheduled = await client.timers.schedule("reminders", "trial:day7", { json: { n: 1 }, delay: "7d", txn: "t1" });
    assert.deepEqual(scheduled, placed);
    assert.equal(Buffer.from(JSON.parse(requests[0].body).operations?.[0]?.payload ?? JSON.parse(requests[0].body)[0]?.payload, "base64").toString(), '{"n":1}');
    const cancelled = await client.timers.cancel("reminders", "trial:day7", { txn: "t1" });
    assert.deepEqual({ ...cancelled }, { ok: false, status: "absent", queue: "reminders", timerKey: "trial:day7", txn: "t1", afterLostAnswer: false });
    assert.deepEqual(await cancelled.settle(), { settled: "delivered", message: frame });
  });

  test("a push carries one message, whose payload is any JSON", async (t) => {
    const { client, requests } = await started(t, () => ({ status: 201, body: [{ index: 0, message_id: "m1", transaction_id: "t1", queueName: "q", status: "queued" }] }));
    let deep = 1;
    for (let depth = 0; depth < 40; depth += 1) deep = [deep];
    for (const payload of [{ n: 1, at: new Date(0) }, null, "grüße", [1], deep]) {
      const pushed = await client.log.push("q", payload, { txn: "t1", partition: "p" });
      assert.deepEqual(pushed, { messageId: "m1", transactionId: "t1", queue: "q" });
      const { method, target, body } = requests.at(-1);
      assert.deepEqual([method, target], ["POST", "/api/v1/push"]);
      assert.deepEqual(JSON.parse(body), { items: [{ queue: "q", partition: "p", payload: JSON.parse(JSON.stringify(payload)), transactionId: "t1" }] });
    }
    await client.log.push("q", 1);
    assert.equal(JSON.parse(requests.at(-1).body).items[0].transactionId.length, 36);
  });

  test("a push is not repeated when it may have arrived", async (t) => {
    const { client, requests } = await started(t, () => "drop");
    const error = await rejection(client.log.push("q", 1));
    assert.deepEqual([error.name, error.attempts, error.mayHaveBeenSent, requests.length], ["Transport", 1, true, 1]);
  });

  test("a queue of the log is configured in whole seconds", async (t) => {
    const { client, requests } = await started(t, () => ({ status: 201, body: { configured: true, queue: "q", options: {} } }));
    assert.equal(await client.log.configure("q", { lease: "1m", retention: { milliseconds: 5_000 }, retryLimit: 2, encryptionEnabled: false }), undefined);
    const [{ method, target, body }] = requests;
    assert.deepEqual([method, target], ["POST", "/api/v1/configure"]);
    assert.deepEqual(JSON.parse(body), { queue: "q", options: { encryptionEnabled: false, retentionSeconds: 5, leaseTime: 60, retryLimit: 2 } });
  });

  test("timers are listed page after page, as they are asked for", async (t) => {
    const row = (timerKey) => ({ queue: "q", timerKey, partition: "Default", deliverAt: "2026-12-07T00:00:00.000000Z", txn: "t", messageId: "m", payloadZstd: false, encrypted: false, producerSub: null, attempts: 0, lastError: null, claimed: false, createdAt: "2026-12-01T00:00:00.000000Z", updatedAt: "2026-12-01T00:00:00.000000Z" });
    const { client, requests } = await started(t, ({ target }) => ({ body: target.includes("after=b")
      ? { rows: [row("c")], truncated: false, nextAfter: null }
      : { rows: [row("a"), row("b")], truncated: true, nextAfter: "b" } }));
    const list = client.timers.list("q", { limit: 2 });
    assert.equal(requests.length, 0);
    assert.equal((await list.next()).value.timerKey, "a");
    assert.equal(requests.length, 1);
    const rest = [];
    for await (const { timerKey } of list) rest.push(timerKey);
    assert.deepEqual(rest, ["b", "c"]);
    assert.equal(requests.length, 2);
  });

  test("a missing url or token is named with its variable, at construction", () => {
    assert.throws(() => new Chronq({ token: TOKEN }), (error) => error instanceof InvalidInput && error.option === "url" && /CHRONQ_URL/.test(error.message));
    assert.throws(() => new Chronq({ url: "http://h" }), (error) => error instanceof InvalidInput && error.option === "token" && /CHRONQ_TOKEN/.test(error.message));
    for (const [options, option] of [[{ url: "nope" }, "url"], [{ token: "a b" }, "token"], [{ timeout: 5 }, "timeout"], [{ retry: true }, "retry"], [{ retry: { attempts: 0 } }, "attempts"], [{ fetch: 7 }, "fetch"], [{ tokne: "x" }, "tokne"]]) {
      assert.throws(() => new Chronq({ url: "http://h", token: TOKEN, ...options }), (error) => error instanceof InvalidInput && error.option === option, option);
    }
  });

  test("the environment stands in for url and token", async (t) => {
    const server = await fakeServer(t, () => ({ body: PUBLISHED }));
    process.env.CHRONQ_URL = server.url;
    process.env.CHRONQ_TOKEN = TOKEN;
    try {
      await new Chronq().publish(DESTINATION);
    } finally {
      delete process.env.CHRONQ_URL;
      delete process.env.CHRONQ_TOKEN;
    }
    assert.equal(server.requests[0].headers.authorization, `Bearer ${TOKEN}`);
  });

  test("neither a client nor its errors show the token", async (t) => {
    const answers = ["drop", { status: 401, body: { error: "unauthorized" } }, { body: "no json" }];
    const { client } = await started(t, (_, index) => answers[index], { retry: false });
    const things = [client, client.messages, client.timers, client.log];
    for (const options of [{}, {}, {}, { retries: -1 }]) things.push(await rejection(client.publish(DESTINATION, options)));
    for (const token of [`${TOKEN}\n`, `${TOKEN} `, `${TOKEN}\ud800`]) {
      assert.throws(() => new Chronq({ url: "http://h", token }), (error) => things.push(error) > 0);
    }
    assert.throws(() => new Chronq({ url: "nope", token: TOKEN, tokne: 1 }), (error) => things.push(error) > 0);
    for (const text of things.flatMap(waysToShow)) assert.ok(!text.includes("not-a-real-token"), text);
  });
}

/** Every way in which a value is printed, logged or handed on. */
function waysToShow(value) {
  const ways = [
    () => inspect(value, { showHidden: true, depth: 20, getters: true }),
    () => format("%o %O %s %j", value, value, value, value),
    () => JSON.stringify(value),
    () => `${value.stack} ${value.message} ${value.cause}`,
    () => inspect(structuredClone(value), { showHidden: true, depth: 20 }),
    () => inspect(Object.getOwnPropertyDescriptors(value), { showHidden: true, depth: 20 }),
  ];
  return ways.map((show) => {
    try {
      return String(show());
    } catch (error) {
      // What has methods cannot be cloned; the refusal must be as discreet.
      return inspect(error, { showHidden: true, depth: 20 });
    }
  });
}

async function freePort() {
  const { createServer } = await import("node:net");
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
