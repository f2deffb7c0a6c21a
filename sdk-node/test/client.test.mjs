import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as sdk from "@chronq/sdk";

import { clientSuite } from "./suites/client.mjs";

clientSuite(sdk);

test("instanceof holds between the copies of ESM and CommonJS", () => {
  const other = createRequire(import.meta.url)("@chronq/sdk");
  assert.notEqual(other.InvalidInput, sdk.InvalidInput);
  const error = (() => {
    try { new other.Receiver({ currentSigningKey: "short" }); } catch (error) { return error; }
    return assert.fail("accepted");
  })();
  assert.ok(error instanceof sdk.InvalidInput && error instanceof sdk.ChronqError && error instanceof Error);
  assert.ok(!(error instanceof sdk.SignatureError));
  class Mine extends sdk.InvalidInput {}
  assert.ok(!(error instanceof Mine));
});

test("every class is exported, under one base and by its own name", () => {
  const names = ["InvalidInput", "Unauthorized", "Forbidden", "NotFound", "Conflict", "TooLarge", "Throttled", "Unavailable",
    "QuotaExceeded", "HorizonExceeded", "FeatureGated", "Transport", "Protocol", "SignatureError"];
  for (const name of names) {
    const error = new sdk[name]({ kind: name, code: "protocol", message: "m" });
    assert.ok(error instanceof sdk[name] && error instanceof sdk.ChronqError);
    assert.equal(error.name, name);
    for (const other of names) assert.equal(error instanceof sdk[other], other === name);
  }
});
