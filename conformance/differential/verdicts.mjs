// Asks the Node verifiers: JSON lines in, JSON lines out. Each is set as strictly as its options allow.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// The packages stand where the driver installed them, not beside this file.
const require = createRequire(pathToFileURL(`${process.argv[2]}/`));
const { jwtVerify } = await import(pathToFileURL(require.resolve("jose")));
const { Receiver } = require("@upstash/qstash");
const { Webhook } = require("standardwebhooks");
const { KEY, OTHER_KEY, SECRET, URL, BODY } = JSON.parse(process.argv[3]);

const verifiers = {
  jwt: {
    name: "jose",
    verify: (input) =>
      jwtVerify(input.token, new TextEncoder().encode(input.key ?? KEY), {
        algorithms: ["HS256"],
        issuer: input.issuer,
        clockTolerance: input.tolerance ?? 0,
        requiredClaims: ["iss", "sub", "iat", "nbf", "exp", "jti"],
      }),
  },
  qstash: {
    name: "@upstash/qstash",
    verify: (input) =>
      new Receiver({ currentSigningKey: input.key ?? KEY, nextSigningKey: input.key ?? OTHER_KEY }).verify({
        signature: input.token,
        body: BODY,
        url: URL,
        clockTolerance: input.tolerance ?? 0,
      }),
  },
  webhook: {
    name: "standardwebhooks (JS)",
    verify: (input) =>
      new Webhook(input.key ?? SECRET).verify(Buffer.from(input.body, "base64"), input.headers, { jsonParse: false }),
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const input = JSON.parse(line);
  const { name, verify } = verifiers[input.kind];
  let error = null;
  try {
    const answer = await verify(input);
    if (answer === false) error = "false";
  } catch (caught) {
    error = `${caught?.code ?? caught?.name}: ${caught?.message}`;
  }
  console.log(JSON.stringify({ id: input.id, verifier: name, error }));
}
