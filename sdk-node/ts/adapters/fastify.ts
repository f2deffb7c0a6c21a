/** Fastify: a plugin that verifies every request of the scope in which it is registered. */

import { Readable } from "node:stream";
import type { IncomingMessage } from "node:http";

import { checked, type DeliveryOptions, judge, REFUSED, type VerifiedDelivery } from "../shared/adapters/delivery.js";
import { DEFAULT_LIMIT, readAll } from "./body.js";

export type { DeliveryOptions, Refusal, VerifiedDelivery } from "../shared/adapters/delivery.js";

/** How the plugin verifies. */
export interface FastifyOptions extends DeliveryOptions {
  /** Largest body that is read, in bytes; 4 MiB by default. Larger is answered with 413. */
  readonly limit?: number | undefined;
}

interface Request {
  raw: IncomingMessage;
  originalUrl: string;
  headers: IncomingMessage["headers"];
}

interface Reply {
  code(status: number): Reply;
  send(body: unknown): unknown;
}

const deliveries = new WeakMap<object, VerifiedDelivery>();

/**
 * `app.register(verifyDeliveries, options)`. A refused request is answered with 401. The body stays as
 * it was: Fastify parses it after it has been verified.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- Fastify's own type, which is no dependency
export function verifyDeliveries(instance: any, options: FastifyOptions, done: (error?: Error) => void): void {
  let rules: DeliveryOptions;
  try {
    rules = checked(options);
  } catch (error) {
    done(error as Error);
    return;
  }
  const limit = options.limit ?? DEFAULT_LIMIT;
  // eslint-disable-next-line @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-member-access -- see above
  instance.addHook("preParsing", async (request: Request, reply: Reply, payload: Readable | undefined) => {
    const body = await readAll(payload ?? request.raw, limit);
    if (body === null) return reply.code(413).send({ error: "too_large" });
    const verdict = await judge(rules, request.originalUrl, request.headers, body);
    if ("error" in verdict) return reply.code(REFUSED).send(verdict);
    deliveries.set(request.raw, verdict);
    return Object.assign(Readable.from(body.length === 0 ? [] : [body], { objectMode: false }), { receivedEncodedLength: body.length });
  });
  done();
}

// The hook belongs to the scope that registers the plugin, not to one of its own.
Object.assign(verifyDeliveries, { [Symbol.for("skip-override")]: true });

/** The delivery of a request that the plugin let pass. */
export function deliveryOf(request: { readonly raw: object }): VerifiedDelivery {
  const delivery = deliveries.get(request.raw);
  if (delivery === undefined) throw new TypeError("this request has not passed verifyDeliveries");
  return delivery;
}
