// An Express app that takes verified deliveries only below /hooks.
//
// Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: where the app is reached
// from outside, such as https://app.example.

import express from "express";

import { Receiver } from "@chronq/sdk";
import { deliveryOf, verifyDeliveries } from "@chronq/sdk/express";

const app = express();

// Before any parser: the raw body is what was signed, and is in request.body afterwards.
app.use("/hooks", verifyDeliveries({ receiver: new Receiver(), publicUrl: process.env.PUBLIC_URL }));

app.post("/hooks/orders", (request, response) => {
  const order = JSON.parse(request.body);
  response.json({ attempt: deliveryOf(request).claims.jti, orderId: order.orderId });
});

const server = app.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => {
  console.log("listening on port", server.address().port);
});
