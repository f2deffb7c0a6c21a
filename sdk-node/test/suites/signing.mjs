// Signs deliveries with node:crypto: independent of what verifies them.

import { createHash, createHmac } from "node:crypto";

export const KEY = "sig_this-is-not-a-real-signing-key-000000000000";
export const OTHER_KEY = "sig_this-is-another-fake-signing-key-00000000000";
export const NOW = 1_795_996_800;
export const URL_SIGNED = "https://app.example/hook?a=1";
const HEADER = { alg: "HS256", typ: "JWT" };

export function bodyClaim(body) {
  return createHash("sha256").update(body).digest("base64url");
}

export function claimsFor(body, changes = {}) {
  const claims = {
    iss: "chronq",
    sub: URL_SIGNED,
    iat: NOW,
    nbf: NOW - 5,
    exp: NOW + 300,
    jti: "jwt_01936b0e-8d2c-7c3a-9f00-000000000001",
    body: bodyClaim(body),
    ...changes,
  };
  for (const [name, value] of Object.entries(claims)) if (value === undefined) delete claims[name];
  return claims;
}

export function sign(claims, key = KEY, header = HEADER) {
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
}

/** The three headers of a Standard Webhooks delivery. */
export function webhookHeaders(secretBytes, body, prefix = "webhook", timestamp = NOW) {
  const id = "msg_1";
  const mac = createHmac("sha256", secretBytes).update(`${id}.${timestamp}.`).update(body).digest("base64");
  return { [`${prefix}-id`]: id, [`${prefix}-timestamp`]: String(timestamp), [`${prefix}-signature`]: `v1,${mac}` };
}
