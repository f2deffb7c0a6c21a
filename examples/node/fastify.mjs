// A Fastify app that takes verified deliveries only in one scope.
//
// Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: where the app is reached
// from outside, such as https://app.example.

import Fastify from "fastify";

import { Receiver } from "@chronq/sdk";
import { deliveryOf, verifyDeliveries } from "@chronq/sdk/fastify";

const app = Fastify();

app.register(async (scope) => {
  scope.register(verifyDeliveries, { receiver: new Receiver(), publicUrl: process.env.PUBLIC_URL });

  scope.post("/hooks/orders", async (request) => {
    // Verified, and parsed by Fastify as ever.
    return { attempt: deliveryOf(request).claims.jti, orderId: request.body.orderId };
  });
});

await app.listen({ port: Number(process.env.PORT ?? 8787), host: "127.0.0.1" });
console.log("listening on port", app.server.address().port);
