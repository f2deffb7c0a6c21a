/** The adapters of frameworks whose requests are the web's own. */

import { type DeliveryOptions, judge, REFUSED, type VerifiedDelivery } from "./delivery.js";

/** Verifies a request whose body stays readable; a refusal is its response. */
export async function verifyWeb(options: DeliveryOptions, request: Request): Promise<VerifiedDelivery | Response> {
  const body = new Uint8Array(await request.clone().arrayBuffer());
  return answered(await judge(options, targetOf(request.url), request.headers, body));
}

/** A verdict, with a refusal as a response. */
export function answered(verdict: Awaited<ReturnType<typeof judge>>): VerifiedDelivery | Response {
  return "error" in verdict ? Response.json(verdict, { status: REFUSED }) : verdict;
}

/** Path and query of an absolute URL, as they are written. */
export function targetOf(url: string): string {
  const slash = url.indexOf("/", url.indexOf("//") + 2);
  const target = slash === -1 ? "/" : url.slice(slash);
  const hash = target.indexOf("#");
  return hash === -1 ? target : target.slice(0, hash);
}
