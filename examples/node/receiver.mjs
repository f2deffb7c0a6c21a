// A receiver: verifies every delivery before it looks at it.
//
// Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: what was published to,
// which is not what a request's Host header says.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

import { Receiver, SIGNATURE_HEADER, SignatureError } from "@chronq/sdk";

const receiver = new Receiver();
const url = process.env.PUBLIC_URL;

const server = createServer(async (request, response) => {
  try {
    const body = await buffer(request);
    const claims = await receiver.verify({ signature: request.headers[SIGNATURE_HEADER], body, url });
    // The message id is the idempotency key: a delivery may come twice.
    console.log("delivered:", request.headers["chronq-message-id"], "attempt", claims.jti);
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    console.log("refused:", error.message);
    response.writeHead(401).end();
  }
});

server.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => {
  console.log("listening on port", server.address().port);
});
