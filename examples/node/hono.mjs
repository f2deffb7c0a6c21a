// A Hono app that takes verified deliveries only below /hooks; any of Hono's servers can serve it.
//
// Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: where the app is reached
// from outside, such as https://app.example.

import { Hono } from "hono";

import { Receiver } from "@chronq/sdk";
import { verifyDeliveries } from "@chronq/sdk/hono";

const app = new Hono();

app.use("/hooks/*", verifyDeliveries({ receiver: new Receiver(), publicUrl: process.env.PUBLIC_URL }));

app.post("/hooks/orders", async (context) => {
  const order = await context.req.json();
  return context.json({ attempt: context.get("delivery").claims.jti, orderId: order.orderId });
});

export default app;
