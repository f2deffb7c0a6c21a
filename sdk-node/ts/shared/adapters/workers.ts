/** Workers: wraps a `fetch` handler. Keys live in the environment that comes with each request. */

import { checkedOnce, type DeliveryOptions, type VerifiedDelivery } from "./delivery.js";
import { verifyWeb } from "./web.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "./delivery.js";

/** A handler that takes verified deliveries only: `export default { fetch: verified(options, handler) }`. */
export function verified<Env, Context>(
  options: DeliveryOptions | ((env: Env) => DeliveryOptions),
  handler: (request: Request, delivery: VerifiedDelivery, env: Env, context: Context) => Response | Promise<Response>,
): (request: Request, env: Env, context: Context) => Promise<Response> {
  const rules = checkedOnce(options);
  return async (request, env, context) => {
    const verdict = await verifyWeb(rules(env), request);
    return verdict instanceof Response ? verdict : handler(request, verdict, env, context);
  };
}
