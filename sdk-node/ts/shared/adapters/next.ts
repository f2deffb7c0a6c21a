/** Next.js, app router: wraps a route handler. */

import { checkedOnce, type DeliveryOptions, type VerifiedDelivery } from "./delivery.js";
import { verifyWeb } from "./web.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "./delivery.js";

/**
 * A route handler that takes verified deliveries only: `export const POST = verified(options, handler)`.
 * A build loads the module too: options that are a function are asked for at the first request.
 */
export function verified<R extends Request, C>(
  options: DeliveryOptions | (() => DeliveryOptions),
  handler: (request: R, delivery: VerifiedDelivery, context: C) => Response | Promise<Response>,
): (request: R, context: C) => Promise<Response> {
  const rules = checkedOnce(options);
  return async (request, context) => {
    const verdict = await verifyWeb(rules(), request);
    return verdict instanceof Response ? verdict : handler(request, verdict, context);
  };
}
