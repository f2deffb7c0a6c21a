// A test against a real server, in which seven days are a moment. Run it with `node --test`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Chronq, Receiver } from "@chronq/sdk";
import { startServer } from "@chronq/sdk/testing";

test("an order is reminded of after seven days, again where that failed", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const client = new Chronq({ url: server.url, token: server.token });
  const inbox = server.inbox("reminders");
  await inbox.script([{ status: 503 }, { status: 200 }]);

  await client.publish(inbox.url, { json: { orderId: 42 }, delay: "7d", retryDelay: "1ms" });
  assert.deepEqual(await inbox.requests(), []);
  await server.clock.advance(7 * 86_400_000);

  const receiver = new Receiver(server.signingKeys);
  for (const { headers, body } of await inbox.waitFor(2)) {
    assert.equal(receiver.verifyHeadersSync({ headers, body, url: inbox.url }).sub, inbox.url);
    assert.equal(body, '{"orderId":42}');
  }
});
