// The package against a live server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";

import { Chronq, Conflict, InvalidInput, NotFound, Receiver, SIGNATURE_HEADER, Unauthorized } from "@chronq/sdk";
import { startServer } from "@chronq/sdk/testing";

const header = (request, name) => request.headers.find(([each]) => each === name)?.[1];

test("a live server", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const client = new Chronq({ url: server.url, token: server.token });
  const receiver = new Receiver(server.signingKeys);

  await t.test("a delivery that fails twice is attempted three times, each verified, each with a token of its own", async () => {
    const inbox = server.inbox("flaky");
    await inbox.script([{ status: 503 }, { status: 503 }, { status: 200 }]);
    const { messageId, deduplicated } = await client.publish(inbox.url, { json: { n: 1 }, retryDelay: "1ms" });
    assert.equal(deduplicated, false);
    const requests = await inbox.waitFor(3);
    const claims = requests.map(({ headers, body }) => receiver.verifyHeadersSync({ headers, body, url: inbox.url }));
    assert.equal(new Set(claims.map(({ jti }) => jti)).size, 3);
    assert.deepEqual(requests.map((request) => header(request, "chronq-retried")), ["0", "1", "2"]);
    assert.deepEqual(requests.map((request) => header(request, "chronq-message-id")), [messageId, messageId, messageId]);
    assert.equal(receiver.verifySync({ signature: header(requests[0], SIGNATURE_HEADER), body: '{"n":1}' }).sub, inbox.url);
  });

  await t.test("a destination arrives exactly as it was written", async () => {
    const inbox = server.inbox("exact");
    const destination = `${inbox.url}?x=1&y=%20&z=%2f`;
    await client.publish(destination, { body: "x" });
    const [{ target, headers, body }] = await inbox.waitFor(1);
    assert.equal(new URL(server.url).origin + target, destination);
    assert.equal(receiver.verifyHeadersSync({ headers, body, url: destination }).sub, destination);
  });

  await t.test("a message is looked up, and a finished one cannot be taken back", async () => {
    const inbox = server.inbox("done");
    const { messageId } = await client.publish(inbox.url, { body: "x", labels: ["blue"] });
    await inbox.waitFor(1);
    let message;
    do message = await client.messages.get(messageId); while (message.state !== "completed");
    assert.deepEqual([message.queue, message.url, message.labels, message.response.status], ["default", inbox.url, ["blue"], 200]);
    await assert.rejects(client.messages.cancel(messageId), (error) => error instanceof Conflict && error.state === "completed" && error.status === 409);
    await assert.rejects(client.messages.get("01936b0e-8d2c-7c3a-9f00-000000000001"), (error) => error instanceof NotFound && error.code === "not_found" && error.status === 404);
  });

  await t.test("a delayed message is taken back, or comes once the clock has moved", async () => {
    const inbox = server.inbox("later");
    const { messageId } = await client.publish(inbox.url, { body: "never", delay: "7d" });
    await client.messages.cancel(messageId);
    await client.publish(inbox.url, { body: "in seven days", delay: "7d" });
    await server.clock.advance(7 * 86_400_000);
    assert.deepEqual((await inbox.waitFor(1)).map(({ body }) => body), ["in seven days"]);
  });

  await t.test("the same deduplication id is the same message", async () => {
    const inbox = server.inbox("once");
    const first = await client.publish(inbox.url, { body: "x", deduplicationId: "order-1" });
    const second = await client.publish(inbox.url, { body: "x", deduplicationId: "order-1" });
    assert.deepEqual([second.messageId, second.deduplicated], [first.messageId, true]);
  });

  await t.test("a wrong token is Unauthorized, and an unknown queue names itself", async () => {
    const stranger = new Chronq({ url: server.url, token: "chronq_nobodys-token" });
    await assert.rejects(stranger.publish("https://app.example/"), (error) => error instanceof Unauthorized && error.status === 401);
    await assert.rejects(client.publish("https://app.example/", { queue: "nope" }), (error) => error instanceof InvalidInput);
  });

  await t.test("queues, groups and schedules are kept", async () => {
    const queue = await client.queues.put("orders", { retryLimit: 1, retryDelay: "5s" });
    assert.deepEqual([queue.name, queue.retryLimit, queue.retryDelay], ["orders", 1, "5s"]);
    assert.ok((await client.queues.list()).some(({ name }) => name === "orders"));
    const urls = [server.inbox("a").url, server.inbox("b").url];
    await client.groups.addEndpoints("both", urls);
    const copies = await client.publishToGroup("both", { body: "x" });
    assert.deepEqual(copies.map(({ url }) => url).sort(), [...urls].sort());
    const { created } = await client.schedules.put({ name: "nightly", cron: "0 3 * * *", url: urls[0] });
    assert.equal(created, true);
    assert.equal((await client.schedules.run("nightly")).queue.length > 0, true);
    await client.schedules.delete("nightly");
    await client.groups.delete("both");
    await client.queues.delete("orders");
    await assert.rejects(client.queues.get("orders"), NotFound);
  });

  await t.test("a timer is scheduled, replaced, listed, taken back, and settled once it is delivered", async () => {
    const scheduled = await client.timers.schedule("reminders", "trial:day7", { json: { n: 1 }, delay: "7d", txn: "t-1" });
    assert.deepEqual([scheduled.status, scheduled.ok, scheduled.txn], ["scheduled", true, "t-1"]);
    assert.equal((await client.timers.reschedule("reminders", "trial:day7", { json: { n: 2 }, delay: "1d", txn: "t-2" })).status, "rescheduled");
    assert.deepEqual(Buffer.from((await client.timers.peek("reminders", "trial:day7")).payload).toString(), '{"n":2}');
    const keys = [];
    for await (const { timerKey } of client.timers.list("reminders")) keys.push(timerKey);
    assert.deepEqual(keys, ["trial:day7"]);
    assert.equal((await client.timers.cancel("reminders", "trial:day7", { txn: "t-2" })).status, "cancelled");
    const absent = await client.timers.cancel("reminders", "trial:day7", { txn: "t-2" });
    assert.deepEqual([absent.status, absent.ok], ["absent", false]);
    assert.equal((await absent.settle()).settled, "not_found");
    assert.equal(await client.timers.peek("reminders", "trial:day7"), null);

    const results = await client.timers.batch([{ op: "schedule", queue: "reminders", timerKey: "now", payload: "{}", delay: { milliseconds: 0 }, txn: "t-3" }]);
    assert.equal(results[0].status, "scheduled");
    const popped = await client.log.pop("reminders", { wait: "10s" });
    assert.equal(popped.messages[0].transactionId, "t-3");
    assert.equal((await client.log.ack(popped.messages[0])).success, true);
    assert.equal((await client.log.find("reminders", "t-3"))[0].id, results[0].messageId);
    const late = await client.timers.cancel("reminders", "now", { txn: "t-3" });
    assert.equal((await late.settle()).settled, "delivered");
  });

  await t.test("what is pushed is found, taken, put back, and taken again", async () => {
    await client.log.configure("pushed", { lease: "1m", retryLimit: 1 });
    const { messageId, transactionId } = await client.log.push("pushed", { n: [1, null] }, { txn: "p-1" });
    assert.equal(transactionId, "p-1");
    assert.deepEqual((await client.log.find("pushed", "p-1")).map(({ id, data }) => [id, data]), [[messageId, { n: [1, null] }]]);
    const first = await client.log.pop("pushed");
    assert.equal((await client.log.ack(first.messages[0], { status: "retry" })).success, true);
    const second = await client.log.pop("pushed");
    assert.deepEqual(second.messages.map(({ id, data }) => [id, data]), [[messageId, { n: [1, null] }]]);
    assert.equal((await client.log.ack(second.messages[0])).success, true);
    assert.equal(await client.log.pop("pushed"), null);
  });

  await t.test("a batch keeps the order of its entries", async () => {
    const inbox = server.inbox("batch");
    const answers = await client.batch([{ destination: inbox.url, body: "1" }, { destination: inbox.url, body: "2", queue: "nope" }, { destination: inbox.url, json: 3 }]);
    assert.deepEqual(answers.map((answer) => "error" in answer), [false, true, false]);
    assert.deepEqual((await inbox.waitFor(2)).map(({ body }) => body).sort(), ["1", "3"]);
  });
});

test("a test server ends with its run, even a killed one", async () => {
  const program = `import { startServer } from "@chronq/sdk/testing";
const server = await startServer();
console.log(server.url);
setTimeout(() => {}, 60_000);`;
  const run = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  const [url] = await once(run.stdout.setEncoding("utf8"), "data");
  const listens = () =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(url.trim()).port), "127.0.0.1");
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  assert.equal(await listens(), true);
  run.kill("SIGKILL");
  const until = Date.now() + 30_000;
  while (await listens()) assert.ok(Date.now() < until, "it still listens");
});
