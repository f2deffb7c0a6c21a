/** SvelteKit: wraps the handler of a `+server` route. */

import { checked, type DeliveryOptions, type VerifiedDelivery } from "./delivery.js";
import { verifyWeb } from "./web.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "./delivery.js";

/** A handler that takes verified deliveries only: `export const POST = verified(options, handler)`. */
export function verified<E extends { readonly request: Request }>(
  options: DeliveryOptions,
  handler: (event: E, delivery: VerifiedDelivery) => Response | Promise<Response>,
): (event: E) => Promise<Response> {
  const rules = checked(options);
  return async (event) => {
    const verdict = await verifyWeb(rules, event.request);
    return verdict instanceof Response ? verdict : handler(event, verdict);
  };
}
