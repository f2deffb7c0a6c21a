/**
 * Every error of the SDK, under one base. `instanceof` holds across copies of the package: a bundle
 * that has two of them, or ESM and CJS side by side, still recognises its errors.
 */

import type { ErrorCode, MessageState, SignatureErrorCode, UrlDifference } from "./contract.js";

const KIND = Symbol.for("chronq.error.kind");

/** What the core says of an error; the wire of the bridge. */
export interface ErrorReport {
  kind: string;
  message: string;
  code: string;
  status?: number | null;
  reason?: string | null;
  detail?: string | null;
  retryAfter?: number | null;
  attempts?: number;
  mayHaveBeenSent?: boolean;
  option?: string | null;
  value?: string | null;
  index?: number | null;
  state?: string | null;
  claim?: string | null;
  seconds?: number | null;
  difference?: string | null;
}

/** The base of every error of this SDK. */
export class ChronqError extends Error {
  /** What went wrong, in one word. */
  readonly code: ErrorCode | SignatureErrorCode;
  /** Status of the server's answer, where there was one. */
  readonly status: number | null;
  /** The server's finer word. */
  readonly reason: string | null;
  /** The server's sentence. */
  readonly detail: string | null;
  /** How long the server asks to wait, in seconds. */
  readonly retryAfter: number | null;
  /** Attempts made; 0 where the call was refused before the network. */
  readonly attempts: number;
  /** Whether the server may have acted on the call although no answer came. */
  readonly mayHaveBeenSent: boolean;

  constructor(report: ErrorReport) {
    super(report.message);
    this.code = report.code as ErrorCode | SignatureErrorCode;
    this.status = report.status ?? null;
    this.reason = report.reason ?? null;
    this.detail = report.detail ?? null;
    this.retryAfter = report.retryAfter ?? null;
    this.attempts = report.attempts ?? 0;
    this.mayHaveBeenSent = report.mayHaveBeenSent ?? false;
  }

  /** Compares by kind, so that the error of another copy of this package is recognised. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // A class that a user derives is told apart as any other.
    if (!Object.hasOwn(this, KIND)) return Function.prototype[Symbol.hasInstance].call(this, value);
    const own = (this as unknown as Record<symbol, unknown>)[KIND];
    const kind = typeof value === "object" && value !== null ? (value as Record<symbol, unknown>)[KIND] : undefined;
    return own === "ChronqError" ? kind !== undefined : kind === own;
  }
}

/** An option or argument that the contract refuses, before the network or by the server's 400. */
export class InvalidInput extends ChronqError {
  /** Name of the option; null where the server did not name one. */
  readonly option: string | null;
  /** The refused value, unless it is secret. */
  readonly value: string | null;
  /** Which entry of a batch, from 0. */
  readonly index: number | null;

  constructor(report: ErrorReport) {
    super(report);
    this.option = report.option ?? null;
    this.value = report.value ?? null;
    this.index = report.index ?? null;
  }
}

/** 401: the token is missing, unknown, revoked or expired. */
export class Unauthorized extends ChronqError {}

/** 403: the token's level is too low. */
export class Forbidden extends ChronqError {}

/** 404. */
export class NotFound extends ChronqError {}

/** 409: the resource's state does not allow it. */
export class Conflict extends ChronqError {
  /** The state that stands in the way, where it is a message's. */
  readonly state: MessageState | null;

  constructor(report: ErrorReport) {
    super(report);
    this.state = (report.state ?? null) as MessageState | null;
  }
}

/** 413. */
export class TooLarge extends ChronqError {}

/** 429, after all attempts. */
export class Throttled extends ChronqError {}

/** 5xx, after all attempts. */
export class Unavailable extends ChronqError {}

/** 403: a quota is exhausted. */
export class QuotaExceeded extends ChronqError {}

/** 403: farther in the future than allowed. */
export class HorizonExceeded extends ChronqError {}

/** 403: not on the plan. */
export class FeatureGated extends ChronqError {}

/** No answer came: connection, name resolution, TLS, timeout. */
export class Transport extends ChronqError {}

/** An answer came that the contract does not know. */
export class Protocol extends ChronqError {}

/** A delivery that must not be trusted. */
export class SignatureError extends ChronqError {
  declare readonly code: SignatureErrorCode;
  /** The claim at fault, with `claim_missing` and `claim_invalid`. */
  readonly claim: string | null;
  /** With `expired` and `not_yet_valid`: by how many seconds it misses, tolerance included. */
  readonly seconds: number | null;
  /** With `url_mismatch`: how the URL differs from the one that was signed. */
  readonly difference: UrlDifference | null;

  constructor(report: ErrorReport) {
    super(report);
    this.claim = report.claim ?? null;
    this.seconds = report.seconds ?? null;
    this.difference = (report.difference ?? null) as UrlDifference | null;
  }
}

const CLASSES = {
  ChronqError,
  InvalidInput,
  Unauthorized,
  Forbidden,
  NotFound,
  Conflict,
  TooLarge,
  Throttled,
  Unavailable,
  QuotaExceeded,
  HorizonExceeded,
  FeatureGated,
  Transport,
  Protocol,
  SignatureError,
};

for (const [kind, errorClass] of Object.entries(CLASSES)) {
  Object.defineProperty(errorClass, KIND, { value: kind });
  // On the prototype: not an own property of every error, and safe from a minifier's new class names.
  Object.defineProperty(errorClass.prototype, "name", { value: kind, configurable: true, writable: true });
  Object.defineProperty(errorClass.prototype, KIND, { value: kind });
}

/** The error that the core reports. */
export function errorOf(report: ErrorReport): ChronqError {
  const errorClass = Object.hasOwn(CLASSES, report.kind) ? CLASSES[report.kind as keyof typeof CLASSES] : Protocol;
  return new errorClass(report);
}

/** A refusal of the package's own, for what never reaches the core. */
export function invalidInput(option: string, message: string, value: string | null = null): InvalidInput {
  return new InvalidInput({ kind: "InvalidInput", code: "invalid_input", message, option, value });
}
