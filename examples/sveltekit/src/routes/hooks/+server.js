// POST /hooks: verified before the handler sees it.
//
// Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: where the app is reached
// from outside, such as https://app.example.

import { env } from "$env/dynamic/public";
import { json } from "@sveltejs/kit";

import { Receiver } from "@chronq/sdk";
import { verified } from "@chronq/sdk/sveltekit";

// A function, because a build loads this module too, where there are no keys.
const options = () => ({ receiver: new Receiver(), publicUrl: env.PUBLIC_URL });

export const POST = verified(options, async ({ request }, delivery) => {
  const order = await request.json();
  return json({ attempt: delivery.claims.jti, orderId: order.orderId });
});
