/** What every framework adapter does: verify against the configured public URL, and refuse with 401. */

import { SignatureError, invalidInput } from "../errors.js";
import type { Claims, RawBody, Receiver, RequestHeaders } from "../receiver.js";

/** How an adapter verifies. */
export interface DeliveryOptions {
  readonly receiver: Receiver;
  /**
   * Where this app is reached from outside, such as `https://app.example` or, behind a proxy that cuts a
   * prefix, `https://app.example/prefix`: the request's path and query are appended. Configured, because
   * a Host header is the sender's word. Null in the webhook dialects, which sign no URL.
   */
  readonly publicUrl: string | null;
  /** Told of every refusal, whose answer says no more than its code. */
  readonly onRefused?: ((error: SignatureError) => void) | undefined;
}

/** A delivery that was verified. */
export interface VerifiedDelivery {
  readonly claims: Claims;
  /** The body, as it arrived. */
  readonly body: Uint8Array;
}

/** The body of a refusal's answer. */
export interface Refusal {
  readonly error: SignatureError["code"];
}

/** Status of a refusal. */
export const REFUSED = 401;

/** Checks the options once, when the adapter is made. */
export function checked(options: DeliveryOptions): DeliveryOptions {
  const { receiver, publicUrl } = options;
  if (typeof receiver?.verifyHeaders !== "function") throw invalidInput("receiver", "receiver must be a Receiver");
  if (publicUrl !== null && (typeof publicUrl !== "string" || !/^https?:\/\/[^/?#]+[^?#]*$/.test(publicUrl))) {
    throw invalidInput(
      "publicUrl",
      "publicUrl must be where this app is reached from outside, such as https://app.example, or null in the webhook dialects",
    );
  }
  return { ...options, publicUrl: publicUrl === null ? null : publicUrl.replace(/\/+$/, "") };
}

/**
 * The same for options that may be a function: asked at the first request, where a build that only loads a
 * module has no keys yet, or where they come with the request. They do not change afterwards.
 */
export function checkedOnce<A extends unknown[]>(
  options: DeliveryOptions | ((...args: A) => DeliveryOptions),
): (...args: A) => DeliveryOptions {
  let rules = typeof options === "function" ? null : checked(options);
  return (...args) => (rules ??= checked((options as (...args: A) => DeliveryOptions)(...args)));
}

/** The URL that a delivery to this request's target was published to. */
export function publishedUrl(options: DeliveryOptions, target: string): string | null {
  return options.publicUrl === null ? null : options.publicUrl + target;
}

/** Verifies; a refusal is told and answered, anything else is a fault of the configuration and thrown. */
export async function judge(
  options: DeliveryOptions,
  target: string,
  headers: RequestHeaders,
  body: Uint8Array,
): Promise<VerifiedDelivery | Refusal> {
  return judgeRaw(options, target, headers, body);
}

/** The same for a body of unknown kind: one that was parsed before is refused as such. */
export async function judgeRaw<Body>(
  options: DeliveryOptions,
  target: string,
  headers: RequestHeaders,
  body: Body,
): Promise<{ claims: Claims; body: Body } | Refusal> {
  try {
    const url = publishedUrl(options, target);
    return { claims: await options.receiver.verifyHeaders({ headers, body: body as RawBody, url }), body };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    options.onRefused?.(error);
    return { error: error.code };
  }
}
