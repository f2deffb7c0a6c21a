// What is measured, in Node and in workerd alike: the edge package, the same with its digest in
// WebAssembly, and jose with a digest by WebCrypto.

import { jwtVerify } from "jose";

import { Receiver } from "@chronq/edge";

const KEY = "sig_this-is-not-a-real-signing-key-current-00";
const URL_SIGNED = "https://app.example.com/hook";
const encoder = new TextEncoder();

const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const digest = async (body) => base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", body)));

async function sign(body) {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: "chronq", sub: URL_SIGNED, iat: now, nbf: now - 5, exp: now + 3_600, jti: "jwt_1", body: await digest(body) };
  const signed = [{ alg: "HS256", typ: "JWT" }, claims].map((part) => base64url(encoder.encode(JSON.stringify(part)))).join(".");
  const key = await crypto.subtle.importKey("raw", encoder.encode(KEY), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `${signed}.${base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(signed))))}`;
}

/** Names and calls, for a body of one size. */
export async function contenders(size) {
  const body = new Uint8Array(size).fill(97);
  const signature = await sign(body);
  const receiver = new Receiver({ currentSigningKey: KEY });
  const secret = encoder.encode(KEY);
  return [
    ["chronq", () => receiver.verify({ signature, body, url: URL_SIGNED })],
    ["chronq, digest in WebAssembly", () => receiver.verifySync({ signature, body, url: URL_SIGNED })],
    ["jose and WebCrypto's digest", async () => {
      const { payload } = await jwtVerify(signature, secret, { algorithms: ["HS256"], issuer: "chronq", subject: URL_SIGNED });
      if (payload.body !== (await digest(body))) throw new Error("body");
      return payload;
    }],
  ];
}
