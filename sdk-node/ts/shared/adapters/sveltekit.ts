/** SvelteKit: wraps the handler of a `+server` route. */

import { checkedOnce, type DeliveryOptions, type VerifiedDelivery } from "./delivery.js";
import { verifyWeb } from "./web.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "./delivery.js";

/**
 * A handler that takes verified deliveries only: `export const POST = verified(options, handler)`.
 * A build loads the module too: options that are a function are asked for at the first request.
 */
export function verified<E extends { readonly request: Request }>(
  options: DeliveryOptions | (() => DeliveryOptions),
  handler: (event: E, delivery: VerifiedDelivery) => Response | Promise<Response>,
): (event: E) => Promise<Response> {
  const rules = checkedOnce(options);
  return async (event) => {
    const verdict = await verifyWeb(rules(), event.request);
    return verdict instanceof Response ? verdict : handler(event, verdict);
  };
}
