// A worker that takes verified deliveries, and publishes what follows from them.
//
// Its environment: CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_URL, CHRONQ_TOKEN, NEXT_DESTINATION, and PUBLIC_URL: where
// the worker is reached from outside.

import { Chronq, Receiver } from "@chronq/edge";
import { verified } from "@chronq/edge/workers";

const options = (env) => ({
  receiver: new Receiver({ currentSigningKey: env.CHRONQ_CURRENT_SIGNING_KEY }),
  publicUrl: env.PUBLIC_URL,
});

export default {
  fetch: verified(options, async (request, delivery, env) => {
    const order = await request.json();
    const client = new Chronq({ url: env.CHRONQ_URL, token: env.CHRONQ_TOKEN });
    const { messageId } = await client.publish(env.NEXT_DESTINATION, { json: { shipped: order.orderId } });
    return Response.json({ attempt: delivery.claims.jti, published: messageId });
  }),
};
