/**
 * The core as the package sees it: native in Node, WebAssembly at the edge. Both have these shapes, and
 * nothing but text, numbers and bytes crosses.
 */

import { errorOf, type ErrorReport } from "./errors.js";

/** Shape of a header's value, as the core counts them. */
export const enum Shape {
  Absent = 0,
  One = 1,
  Several = 2,
  NotText = 3,
}

/** Verifies deliveries. `fault` is null for a raw body: see {@link rawBody}. */
export interface CoreReceiver {
  /** The usual delivery in fewer arguments, where the bridge makes each of them dear. */
  verifyBytes?(signature: string, body: Uint8Array, url: string | null, now: number): string;
  verify(
    shape: Shape,
    signature: string,
    body: Uint8Array,
    fault: string | null,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): string;
  verifyHeaders(
    headers: string[],
    shapes: Uint8Array,
    body: Uint8Array,
    fault: string | null,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): string;
}

/** A delivery of which everything is verified but the body. */
export interface CorePending {
  finish(digest: Uint8Array): string;
}

/** A webhook of which everything is verified but the signatures of public keys. */
export interface CorePendingWebhook {
  /** What they sign, up to the body. */
  prefix(): string;
  /** One after another: 32 bytes of public key, 64 of signature. */
  questions(): Uint8Array;
  /** Judges by the answers: 1 for yes. */
  finish(answers: Uint8Array): string;
}

/** A receiver whose body the platform may hash, and to which it answers for public keys. */
export interface SplitReceiver extends CoreReceiver {
  begin(
    shape: Shape,
    signature: string,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): CorePending;
  beginHeaders(
    headers: string[],
    shapes: Uint8Array,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): CorePending;
  beginWebhook(
    headers: string[],
    shapes: Uint8Array,
    body: Uint8Array,
    fault: string | null,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): CorePendingWebhook;
}

/** One call in progress. */
export interface CoreSession {
  next(): string;
  respond(status: number, headers: string[], body: Uint8Array, now: number, jitter: number): void;
  fail(message: string, mayHaveBeenSent: boolean, jitter: number): void;
  /** Gives memory back before the garbage collector would; WebAssembly alone has it. */
  free?(): void;
}

/** A client's configuration. */
export interface CoreClient {
  timeout(): number;
  call(name: string, options: string, seed: Uint8Array, now: number): CoreSession;
}

/** What a receiver needs of a core. */
export interface ReceiverCore {
  CoreReceiver: new (
    current: string | null,
    next: string | null,
    dialect: string | null,
    clockTolerance: number | null,
  ) => CoreReceiver;
  signatureHeaders(): string[];
  /** Size of a body, in bytes, from which on the platform hashes faster than this core; null for never. */
  platformDigestFrom: number | null;
}

/** What a client needs of a core. */
export interface ClientCore {
  CoreClient: new (options: string) => CoreClient;
}

/** Runs what may throw the core's error, and throws that of the package. */
export function asking<T>(ask: () => T): T {
  try {
    return ask();
  } catch (thrown) {
    // The native core throws errors, the WebAssembly core texts; both hold the report as JSON.
    const text = typeof thrown === "string" ? thrown : (thrown as Error).message;
    throw errorOf(readReport(text));
  }
}

function readReport(text: string): ErrorReport {
  try {
    return JSON.parse(text) as ErrorReport;
  } catch {
    return { kind: "Protocol", code: "protocol", message: `the core failed: ${text}` };
  }
}
