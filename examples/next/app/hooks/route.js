// POST /hooks: verified before the handler sees it.
//
// Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: where the app is reached
// from outside, such as https://app.example.

import { Receiver } from "@chronq/sdk";
import { verified } from "@chronq/sdk/next";

// A function, because `next build` loads this module too, where there are no keys.
const options = () => ({ receiver: new Receiver(), publicUrl: process.env.PUBLIC_URL });

export const POST = verified(options, async (request, delivery) => {
  const order = await request.json();
  return Response.json({ attempt: delivery.claims.jti, orderId: order.orderId });
});
