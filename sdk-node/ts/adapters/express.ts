/** Express: a middleware that verifies, before any parser. */

import type { IncomingMessage, ServerResponse } from "node:http";

import { checked, type DeliveryOptions, judgeRaw, REFUSED, type VerifiedDelivery } from "../shared/adapters/delivery.js";
import { DEFAULT_LIMIT, readAll } from "./body.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "../shared/adapters/delivery.js";

/** How the middleware verifies. */
export interface ExpressOptions extends DeliveryOptions {
  /** Largest body that is read, in bytes; 4 MiB by default. Larger is answered with 413. */
  readonly limit?: number | undefined;
}

interface ExpressRequest extends IncomingMessage {
  originalUrl?: string;
  body?: unknown;
  /** Body parsers leave a request alone that says so. */
  _body?: boolean;
}

const deliveries = new WeakMap<object, VerifiedDelivery>();

/**
 * Verifies every request that passes; a refused one is answered with 401. The raw body is left in
 * `req.body` as a Buffer, and body parsers that follow leave it alone.
 */
export function verifyDeliveries(
  options: ExpressOptions,
): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void {
  const rules = checked(options);
  const limit = options.limit ?? DEFAULT_LIMIT;
  const verify = async (request: ExpressRequest, response: ServerResponse): Promise<boolean> => {
    // A parser before this one either kept the bytes, or parsed: then the receiver says so.
    const body = request.body === undefined || !request.readableEnded && isEmpty(request.body)
      ? await readAll(request, limit)
      : request.body;
    if (body === null) return answer(response, 413, { error: "too_large" });
    const verdict = await judgeRaw(rules, request.originalUrl ?? request.url ?? "/", request.headers, body);
    if ("error" in verdict) return answer(response, REFUSED, verdict);
    request.body = body;
    request._body = true;
    const bytes = typeof body === "string" ? Buffer.from(body) : (body as Uint8Array);
    deliveries.set(request, { claims: verdict.claims, body: bytes });
    return true;
  };
  return (request, response, next) => {
    verify(request, response).then((verified) => { if (verified) next(); }, next);
  };
}

/** The delivery of a request that the middleware let pass. */
export function deliveryOf(request: IncomingMessage): VerifiedDelivery {
  const delivery = deliveries.get(request);
  if (delivery === undefined) throw new TypeError("this request has not passed verifyDeliveries");
  return delivery;
}

/** Express 4 sets an empty object before any parser ran. */
function isEmpty(body: unknown): boolean {
  return typeof body === "object" && body !== null && !ArrayBuffer.isView(body) && Object.keys(body).length === 0;
}

function answer(response: ServerResponse, status: number, body: object): false {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  return false;
}
