// A server that loses its answer after it has committed: one message, and a true answer; on either core.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lossyProxy } from "./lossy-proxy.mjs";

/** Declares the tests; `sdk` is what the package exports, `startServer` that of its testing entry. */
export function lostAnswersSuite(sdk, startServer) {
  test("a lost answer leaves one message, and a true answer", async (t) => {
    const server = await startServer();
    t.after(() => server.stop());
    const proxy = await lossyProxy(t, server.url);
    const api = new sdk.Chronq({ url: server.url, token: server.token });
    const client = new sdk.Chronq({ url: proxy.url, token: server.token, retry: { base: "1ms", cap: "1ms" } });
    const lossy = async (call) => {
      const { lost } = proxy;
      proxy.lose();
      const answer = await call();
      assert.equal(proxy.lost, lost + 1);
      return answer;
    };

    await t.test("of a publish", async () => {
      const inbox = server.inbox("one");
      const published = await lossy(() => client.publish(inbox.url, { body: "x", labels: ["one"] }));
      assert.equal(published.deduplicated, true, "it was already there");
      assert.deepEqual((await api.messages.events({ label: "one" })).jobs.map(({ messageId }) => messageId), [published.messageId]);
      assert.equal((await inbox.waitFor(1)).length, 1);
    });

    await t.test("of a batch", async () => {
      const entries = ["a", "b"].map((body) => ({ destination: server.inbox("batch").url, body, labels: ["batch"] }));
      const answers = await lossy(() => client.batch(entries));
      assert.deepEqual(answers.map(({ deduplicated }) => deduplicated), [true, true]);
      const { jobs } = await api.messages.events({ label: "batch" });
      assert.deepEqual(jobs.map(({ messageId }) => messageId).sort(), answers.map(({ messageId }) => messageId).sort());
    });

    await t.test("of a cancel, which was this call's own", async () => {
      const { messageId } = await api.publish(server.inbox("taken").url, { body: "x", delay: "1d" });
      assert.equal(await lossy(() => client.messages.cancel(messageId)), undefined);
      assert.equal((await api.messages.get(messageId)).state, "cancelled");
    });

    await t.test("of a timer", async () => {
      const placed = await lossy(() => client.timers.schedule("q", "k", { payload: "x", delay: "1d" }));
      assert.equal(placed.ok, true);
      const { txn, messageId } = await api.timers.peek("q", "k");
      assert.deepEqual([txn, messageId], [placed.txn, placed.messageId]);
    });

    await t.test("of a timer's cancel, which says that absent may be its own doing", async () => {
      await api.timers.schedule("q", "k", { payload: "x", delay: "1d", txn: "t" });
      const cancelled = await lossy(() => client.timers.cancel("q", "k", { txn: "t" }));
      assert.deepEqual([cancelled.status, cancelled.afterLostAnswer], ["absent", true]);
      const again = await api.timers.cancel("q", "k", { txn: "t" });
      assert.deepEqual([again.status, again.afterLostAnswer], ["absent", false]);
      assert.equal((await again.settle()).settled, "not_found");
    });
  });
}
