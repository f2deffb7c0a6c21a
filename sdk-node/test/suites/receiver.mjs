// What a receiver must do, on either core.

import assert from "node:assert/strict";
import { test } from "node:test";
import { format, inspect } from "node:util";
import vm from "node:vm";

import { bodyClaim, claimsFor, KEY, NOW, OTHER_KEY, sign, URL_SIGNED, webhookHeaders } from "./signing.mjs";

/** Declares the tests; `sdk` is what the package exports. */
export function receiverSuite({ InvalidInput, Receiver, SIGNATURE_HEADER, SignatureError }) {
  const BODY = Buffer.from('{"n":1}');
  const SIGNATURE = sign(claimsFor(BODY));
  const receiver = new Receiver({ currentSigningKey: KEY, nextSigningKey: OTHER_KEY });
  const delivery = (changes = {}) => ({ signature: SIGNATURE, body: BODY, url: URL_SIGNED, now: NOW, ...changes });

  async function refusal(judge) {
    try {
      await judge();
    } catch (error) {
      return error;
    }
    return assert.fail("it was accepted");
  }

  test("a good delivery answers its claims and the key that matched", async () => {
    assert.deepEqual(await receiver.verify(delivery()), {
      iss: "chronq",
      sub: URL_SIGNED,
      exp: 1_795_997_100,
      nbf: 1_795_996_795,
      iat: 1_795_996_800,
      jti: "jwt_01936b0e-8d2c-7c3a-9f00-000000000001",
      body: bodyClaim(BODY),
      key: "current",
    });
    assert.equal(receiver.verifySync(delivery({ signature: sign(claimsFor(BODY), OTHER_KEY) })).key, "next");
  });

  test("claims outside ASCII come through whole", () => {
    const signature = sign(claimsFor(BODY, { sub: "https://app.example/é\n😀", jti: "jwt_😀 x" }));
    const claims = receiver.verifySync({ signature, body: BODY, now: NOW });
    assert.deepEqual([claims.sub, claims.jti], ["https://app.example/é\n😀", "jwt_😀 x"]);
  });

  test("a body may be text, a Buffer, a Uint8Array, an ArrayBuffer or a DataView", () => {
    const offset = new Uint8Array([0, ...BODY, 0]).subarray(1, 1 + BODY.length);
    const alone = new Uint8Array(BODY).buffer;
    const shared = new Uint8Array(new SharedArrayBuffer(BODY.length));
    shared.set(BODY);
    const foreign = vm.runInNewContext("Uint8Array.from(bytes)", { bytes: [...BODY] });
    for (const body of [BODY.toString(), BODY, offset, alone, new DataView(alone), shared, foreign]) {
      assert.equal(receiver.verifySync(delivery({ body })).key, "current", inspect(body));
    }
    const text = "grüße 😀";
    assert.equal(receiver.verifySync(delivery({ body: text, signature: sign(claimsFor(text)) })).key, "current");
  });

  test("a body that is not raw is body_not_raw, whatever it is", async () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const others = [undefined, null, 1, 1n, true, Symbol("s"), () => "", { n: 1 }, [1], new Uint16Array(2), new Blob([]),
      new Proxy(new Uint8Array(2), {}), Object.create(Uint8Array.prototype), revoked.proxy, new Map(), "\ud800",
      { [Symbol.toStringTag]: "Uint8Array" }, { get byteLength() { throw new Error("no"); } }, BODY.toJSON()];
    for (const body of others) {
      const error = await refusal(() => receiver.verify(delivery({ body })));
      assert.ok(error instanceof SignatureError, inspect(error));
      assert.equal(error.code, "body_not_raw", inspect(error));
    }
  });

  test("a signature of any shape is judged, never thrown at", async () => {
    const cases = [
      [undefined, "signature_missing"],
      [null, "signature_missing"],
      ["", "signature_missing"],
      ["  \t", "signature_missing"],
      [[], "signature_missing"],
      [[SIGNATURE, SIGNATURE], "signature_ambiguous"],
      [`${SIGNATURE}, ${SIGNATURE}`, "signature_ambiguous"],
      [[[SIGNATURE]], "signature_malformed"],
      [7, "signature_malformed"],
      [{}, "signature_malformed"],
      [Symbol("s"), "signature_malformed"],
      [`${SIGNATURE}\u00a0`, "signature_malformed"],
      [`${SIGNATURE}\ud800`, "signature_malformed"],
      [Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(SIGNATURE)]), "signature_malformed"],
      [`${"a".repeat(9_000)}.b.c`, "signature_malformed"],
      [sign(claimsFor(BODY), KEY, { alg: "none" }), "algorithm_not_allowed"],
      [sign(claimsFor(BODY), "sig_a-key-that-nobody-configured-0000000000000"), "signature_mismatch"],
      [sign(claimsFor(BODY, { jti: undefined })), "claim_missing"],
      [sign(claimsFor(BODY, { exp: "1795997100" })), "claim_invalid"],
      [sign(claimsFor(BODY, { exp: NOW })), "expired"],
      [sign(claimsFor(BODY, { nbf: NOW + 1 })), "not_yet_valid"],
      [sign(claimsFor(BODY, { sub: "http://app.example/hook?a=1" })), "url_mismatch"],
      [sign(claimsFor("another")), "body_mismatch"],
    ];
    for (const [signature, code] of cases) {
      const error = await refusal(() => receiver.verify(delivery({ signature })));
      assert.ok(error instanceof SignatureError, inspect(error));
      assert.equal(error.code, code, inspect(signature));
      assert.equal(error.name, "SignatureError");
    }
    for (const signature of [[SIGNATURE], ` \t${SIGNATURE} `, Buffer.from(SIGNATURE)]) {
      assert.equal(receiver.verifySync(delivery({ signature })).key, "current");
    }
  });

  test("a refusal carries what its code has to say", async () => {
    const invalid = await refusal(() => receiver.verify(delivery({ signature: sign(claimsFor(BODY, { iss: "Upstash" })) })));
    assert.deepEqual([invalid.code, invalid.claim, invalid.seconds, invalid.difference], ["claim_invalid", "iss", null, null]);
    const expired = await refusal(() => receiver.verify(delivery({ now: NOW + 307 })));
    assert.deepEqual([expired.code, expired.seconds], ["expired", 7]);
    const tolerated = await refusal(() => receiver.verify(delivery({ now: NOW + 307, clockToleranceSeconds: 3 })));
    assert.equal(tolerated.seconds, 4);
    assert.equal((await receiver.verify(delivery({ now: NOW + 307, clockToleranceSeconds: 8 }))).key, "current");
    const elsewhere = await refusal(() => receiver.verify(delivery({ url: "https://app.example:443/hook?a=1" })));
    assert.deepEqual([elsewhere.code, elsewhere.difference], ["url_mismatch", "default_port"]);
  });

  test("wrong options are InvalidInput and name the option", async () => {
    const cases = [
      [{ now: NOW * 1_000 }, "now"],
      [{ now: 0.5 }, "now"],
      [{ now: NaN }, "now"],
      [{ now: Infinity }, "now"],
      [{ now: -1 }, "now"],
      [{ now: "1795996800" }, "now"],
      [{ now: 1n }, "now"],
      [{ now: new Date() }, "now"],
      [{ clockToleranceSeconds: 301 }, "clockToleranceSeconds"],
      [{ clockToleranceSeconds: -1 }, "clockToleranceSeconds"],
      [{ clockToleranceSeconds: "1" }, "clockToleranceSeconds"],
      [{ url: new URL(URL_SIGNED) }, "url"],
      [{ url: 7 }, "url"],
    ];
    for (const [changes, option] of cases) {
      const error = await refusal(() => receiver.verify(delivery(changes)));
      assert.ok(error instanceof InvalidInput, inspect(error));
      assert.equal(error.option, option, error.message);
      assert.ok(error.message.includes(option), error.message);
    }
  });

  test("nothing that can be passed as a delivery throws anything else", async () => {
    const hostile = ["signature", "body", "url", "now", "clockToleranceSeconds"].map((name) =>
      Object.defineProperty(delivery(), name, { get: () => { throw new RangeError("hostile"); } }));
    const given = [undefined, null, 0, "", "text", [], () => {}, Symbol("s"), new Proxy({}, { get: () => { throw new Error("no"); } }), ...hostile];
    for (const value of given) {
      for (const method of ["verify", "verifyHeaders"]) {
        const error = await refusal(() => receiver[method](value));
        assert.ok(error instanceof SignatureError || error instanceof InvalidInput, `${method}: ${inspect(error)}`);
      }
    }
    for (const request of [undefined, null, 7, {}, new Response("x")]) {
      const error = await refusal(() => receiver.verifyRequest(request));
      assert.ok(error instanceof SignatureError, inspect(error));
    }
  });

  test("a detached buffer is refused", async () => {
    const buffer = new Uint8Array(BODY).buffer;
    const view = new Uint8Array(buffer);
    structuredClone(buffer, { transfer: [buffer] });
    for (const [body, code] of [[view, "body_mismatch"], [buffer, "body_not_raw"]]) {
      const error = await refusal(() => receiver.verify(delivery({ body })));
      assert.ok(error instanceof SignatureError, inspect(error));
      assert.equal(error.code, code);
    }
  });

  test("headers are found whatever holds them and however they are written", async () => {
    const shapes = [
      { [SIGNATURE_HEADER]: SIGNATURE },
      { "Chronq-Signature": [SIGNATURE], host: "x" },
      new Headers({ [SIGNATURE_HEADER]: SIGNATURE }),
      new Map([["CHRONQ-SIGNATURE", SIGNATURE]]),
      [["chronq-signature", SIGNATURE]],
    ];
    for (const headers of shapes) {
      assert.equal((await receiver.verifyHeaders({ headers, body: BODY, url: URL_SIGNED, now: NOW })).key, "current");
    }
    const twice = await refusal(() => receiver.verifyHeaders({ headers: [["chronq-signature", SIGNATURE], ["Chronq-Signature", SIGNATURE]], body: BODY }));
    assert.equal(twice.code, "signature_ambiguous");
    const foreign = await refusal(() => receiver.verifyHeaders({ headers: { "upstash-signature": SIGNATURE }, body: BODY }));
    assert.equal(foreign.code, "signature_missing");
    assert.match(foreign.message, /dialect qstash/);
    for (const headers of [null, 7, "x", [1, 2], new Map([[1, 2]]), { get "chronq-signature"() { throw new Error("no"); } }]) {
      assert.equal((await refusal(() => receiver.verifyHeaders({ headers, body: BODY }))).code, "signature_missing");
    }
  });

  test("a web request is verified and its body handed out", async () => {
    const request = new Request("http://internal/hook", { method: "POST", headers: { [SIGNATURE_HEADER]: SIGNATURE }, body: BODY });
    const { claims, body } = await receiver.verifyRequest(request, { url: URL_SIGNED, now: NOW });
    assert.equal(claims.sub, URL_SIGNED);
    assert.deepEqual(Buffer.from(body), BODY);
    const error = await refusal(() => receiver.verifyRequest(request, { now: NOW }));
    assert.equal(error.code, "body_not_raw");
    assert.match(error.message, /read before/);
  });

  test("the other dialects are verified by the same receiver", async () => {
    const claims = claimsFor(BODY, { iss: "Upstash", iat: undefined, jti: undefined, body: `${bodyClaim(BODY)}=` });
    const qstash = new Receiver({ currentSigningKey: KEY, dialect: "qstash" });
    const answer = await qstash.verifyHeaders({ headers: { "Upstash-Signature": sign(claims) }, body: BODY, url: URL_SIGNED, now: NOW });
    assert.deepEqual([answer.iss, answer.iat, answer.jti, answer.body], ["Upstash", null, null, bodyClaim(BODY)]);

    const secret = Buffer.alloc(32, 7);
    const currentSigningKey = `whsec_${secret.toString("base64")}`;
    for (const [dialect, prefix] of [["standard-webhooks", "webhook"], ["svix", "svix"], ["svix", "webhook"]]) {
      const webhooks = new Receiver({ currentSigningKey, dialect });
      assert.equal(webhooks.dialect, dialect);
      const headers = webhookHeaders(secret, BODY, prefix);
      const claims = await webhooks.verifyHeaders({ headers, body: BODY, now: NOW });
      assert.deepEqual([claims.iss, claims.sub, claims.iat, claims.jti, claims.body, claims.key], [null, null, NOW, "msg_1", null, "current"]);
      const error = await refusal(() => webhooks.verify({ signature: headers[`${prefix}-signature`], body: BODY, now: NOW }));
      assert.ok(error instanceof InvalidInput);
      assert.equal((await refusal(() => webhooks.verifyHeaders({ headers, body: "x", now: NOW }))).code, "signature_mismatch");
    }
  });

  test("construction refuses what is no key, naming the argument and never the value", () => {
    const secrets = ["", " ", `${KEY}\n`, "short-but-secret", "ssh-ed25519 AAAA secret", `{"kty":"oct","k":"secret"}`, "-----BEGIN secret-----"];
    for (const [option, other] of [["currentSigningKey", "nextSigningKey"], ["nextSigningKey", "currentSigningKey"]]) {
      for (const value of [...secrets, 7, {}, "\ud800", Symbol("s"), () => KEY, NaN]) {
        const error = (() => {
          try { new Receiver({ [other]: KEY, [option]: value }); } catch (error) { return error; }
          return assert.fail(`accepted ${String(value)}`);
        })();
        assert.ok(error instanceof InvalidInput, inspect(error));
        assert.equal(error.option, option);
        assert.equal(error.value, null);
        if (typeof value === "string" && value.trim().length > 1) assert.ok(!inspect(error).includes(value.trim()));
      }
    }
    assert.equal(new Receiver({ currentSigningKey: KEY, nextSigningKey: null }).dialect, "chronq");
    for (const options of [{ clockToleranceSeconds: 301 }, { clockToleranceSeconds: NaN }, { dialect: "jwt" }, { clockTolerance: 1 }]) {
      assert.throws(() => new Receiver({ currentSigningKey: KEY, ...options }), (error) => error instanceof InvalidInput && error.option === Object.keys(options)[0]);
    }
  });

  test("the environment stands in for keys that are not given", () => {
    process.env.CHRONQ_CURRENT_SIGNING_KEY = KEY;
    process.env.CHRONQ_NEXT_SIGNING_KEY = OTHER_KEY;
    try {
      assert.equal(new Receiver().verifySync(delivery({ signature: sign(claimsFor(BODY), OTHER_KEY) })).key, "next");
    } finally {
      delete process.env.CHRONQ_CURRENT_SIGNING_KEY;
      delete process.env.CHRONQ_NEXT_SIGNING_KEY;
    }
    assert.throws(() => new Receiver(), (error) => error instanceof InvalidInput && /CHRONQ_CURRENT_SIGNING_KEY/.test(error.message));
  });

  test("a receiver shows no key", () => {
    for (const text of [
      inspect(receiver, { showHidden: true, depth: 9, getters: true }), JSON.stringify(receiver), String(receiver),
      inspect(structuredClone(receiver), { showHidden: true }), format("%o %O %s %j", receiver, receiver, receiver, receiver),
    ]) {
      assert.ok(!text.includes("not-a-real"), text);
    }
  });
}
