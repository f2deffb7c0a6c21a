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
    shapes: number[] | Uint8Array,
    body: Uint8Array,
    fault: string | null,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): string;
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
  CoreReceiver: new (options: string) => CoreReceiver;
  signatureHeaders(): string[];
  /**
   * Verifies with the platform's own digest, where that is faster than the core's for a body of this
   * size; null where it is not, or not to be had.
   */
  verifyWithPlatformDigest?(
    receiver: CoreReceiver,
    headers: string[],
    shapes: number[],
    body: Uint8Array,
    url: string | null,
    now: number,
    tolerance: number | null,
  ): Promise<string> | null;
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
