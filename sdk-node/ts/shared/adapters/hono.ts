/** Hono: a middleware that verifies; handlers find the delivery in the context and read the body as ever. */

import { checked, type DeliveryOptions, judge, type VerifiedDelivery } from "./delivery.js";
import { answered, targetOf } from "./web.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "./delivery.js";

/** Variables of the context: `new Hono<{ Variables: DeliveryVariables }>()`. */
export interface DeliveryVariables {
  delivery: VerifiedDelivery;
}

interface Context {
  req: { raw: Request; url: string; arrayBuffer(): Promise<ArrayBuffer> };
  set(name: "delivery", value: VerifiedDelivery): void;
}

/** Verifies every request that passes; a refused one is answered with 401. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-invalid-void-type -- Hono's own types, which are no dependency
export function verifyDeliveries(options: DeliveryOptions): (context: any, next: () => Promise<void>) => Promise<Response | void> {
  const rules = checked(options);
  return async (context: Context, next) => {
    // Read through Hono, which keeps it for the handler.
    const body = new Uint8Array(await context.req.arrayBuffer());
    const verdict = answered(await judge(rules, targetOf(context.req.url), context.req.raw.headers, body));
    if (verdict instanceof Response) return verdict;
    context.set("delivery", verdict);
    return next();
  };
}
