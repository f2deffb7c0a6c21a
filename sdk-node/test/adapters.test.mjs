// Each adapter in its real framework, over a real socket.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { InvalidInput, Receiver, SIGNATURE_HEADER } from "@chronq/sdk";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import * as forExpress from "@chronq/sdk/express";
import * as forFastify from "@chronq/sdk/fastify";
import * as forHono from "@chronq/sdk/hono";
import * as forNext from "@chronq/sdk/next";
import * as forSvelteKit from "@chronq/sdk/sveltekit";

import { bodyClaim, KEY, sign } from "./suites/signing.mjs";
import { listenWeb } from "./suites/web-server.mjs";

const PUBLIC_URL = "https://app.example/prefix";
const TARGET = "/hooks/a%2Fb?x=1&y=%20";
const BODY = '{"n": 1}';

const refused = [];
const options = {
  receiver: new Receiver({ currentSigningKey: KEY }),
  publicUrl: PUBLIC_URL,
  onRefused: (error) => refused.push(error.code),
};

function signed(sub) {
  const now = Math.floor(Date.now() / 1_000);
  return sign({ iss: "chronq", sub, iat: now, nbf: now - 5, exp: now + 300, jti: "jwt_1", body: bodyClaim(BODY) });
}

/** Sends deliveries to the app at `origin`, whose handler answers with what it saw. */
async function exercise(origin) {
  const post = (headers, body = BODY, target = TARGET) =>
    fetch(origin + target, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  const good = await post({ [SIGNATURE_HEADER]: signed(PUBLIC_URL + TARGET), host: "evil.example" });
  assert.equal(good.status, 200, await good.clone().text());
  assert.deepEqual(await good.json(), { sub: PUBLIC_URL + TARGET, raw: BODY, parsed: { n: 1 } });
  const cases = [
    [{}, BODY, "signature_missing"],
    [{ [SIGNATURE_HEADER]: signed(origin + TARGET) }, BODY, "url_mismatch"],
    [{ [SIGNATURE_HEADER]: signed(PUBLIC_URL + TARGET) }, '{"n":1}', "body_mismatch"],
  ];
  refused.length = 0;
  for (const [headers, body, code] of cases) {
    const answer = await post(headers, body);
    assert.deepEqual([answer.status, await answer.json()], [401, { error: code }]);
  }
  assert.deepEqual(refused, cases.map(([, , code]) => code));
}

async function listen(t, handler) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const seen = ({ claims, body }, parsed) => ({ sub: claims.sub, raw: Buffer.from(body).toString(), parsed });

test("express", async (t) => {
  const app = express();
  app.use("/hooks", forExpress.verifyDeliveries(options), express.json(), (request, response) => {
    assert.ok(Buffer.isBuffer(request.body));
    response.json(seen(forExpress.deliveryOf(request), JSON.parse(request.body)));
  });
  await exercise(await listen(t, app));
});

test("express, behind a parser that keeps the bytes", async (t) => {
  const app = express();
  app.use(express.raw({ type: "*/*" }), forExpress.verifyDeliveries(options), (request, response) => {
    response.json(seen(forExpress.deliveryOf(request), JSON.parse(request.body)));
  });
  await exercise(await listen(t, app));
});

test("express, behind a parser that does not keep them, says what is wrong", async (t) => {
  const app = express();
  app.use(express.json(), forExpress.verifyDeliveries(options), () => assert.fail("passed"));
  const origin = await listen(t, app);
  const answer = await fetch(origin + TARGET, { method: "POST", headers: { "content-type": "application/json", [SIGNATURE_HEADER]: signed(PUBLIC_URL + TARGET) }, body: BODY });
  assert.deepEqual([answer.status, await answer.json()], [401, { error: "body_not_raw" }]);
});

test("express bounds what it reads", async (t) => {
  const app = express().use(forExpress.verifyDeliveries({ ...options, limit: 4 }), () => assert.fail("passed"));
  const answer = await fetch(await listen(t, app), { method: "POST", body: BODY });
  assert.equal(answer.status, 413);
});

test("fastify", async (t) => {
  const app = Fastify();
  t.after(() => app.close());
  app.register(async (scope) => {
    scope.register(forFastify.verifyDeliveries, options);
    scope.post("/hooks/*", async (request) => seen(forFastify.deliveryOf(request), request.body));
  });
  app.post("/open", async () => ({ open: true }));
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  await exercise(origin);
  assert.equal((await fetch(`${origin}/open`, { method: "POST" })).status, 200, "other scopes are left alone");
});

test("hono", async (t) => {
  const app = new Hono();
  app.use("/hooks/*", forHono.verifyDeliveries(options));
  app.post("/hooks/*", async (context) => context.json(seen(context.get("delivery"), await context.req.json())));
  await exercise(await listenWeb(t, (request) => app.fetch(request)));
});

test("web frameworks, whose options may come at the first request", async (t) => {
  let asked = 0;
  const late = () => {
    asked += 1;
    return options;
  };
  const route = forNext.verified(late, async (request, delivery, context) => {
    assert.deepEqual(context, { params: { id: "a" } });
    return Response.json(seen(delivery, await request.json()));
  });
  await exercise(await listenWeb(t, (request) => route(request, { params: { id: "a" } })));
  assert.equal(asked, 1);
  const handler = forSvelteKit.verified(options, async (event, delivery) => Response.json(seen(delivery, await event.request.json())));
  await exercise(await listenWeb(t, (request) => handler({ request })));
  const wrong = forNext.verified(() => ({ ...options, publicUrl: undefined }), () => assert.fail("passed"));
  await assert.rejects(wrong(new Request("https://h/"), {}), (error) => error instanceof InvalidInput && error.option === "publicUrl");
});

test("the public URL is configured, or refused at once", () => {
  for (const publicUrl of [undefined, "", "app.example", "ftp://h", "https://h/?x=1", new URL("https://h")]) {
    for (const make of [forExpress.verifyDeliveries, forHono.verifyDeliveries, forNext.verified, forSvelteKit.verified]) {
      assert.throws(() => make({ ...options, publicUrl }, () => {}), (error) => error instanceof InvalidInput && error.option === "publicUrl");
    }
  }
  assert.throws(() => forHono.verifyDeliveries({ publicUrl: null }), InvalidInput);
});
