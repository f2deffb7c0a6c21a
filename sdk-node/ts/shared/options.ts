/** Options on their way to the core: what JSON would drop or bend silently is refused by name. */

import { invalidInput } from "./errors.js";

/** A span of time: text in the grammar (`"1h30m"`), or milliseconds. Never a bare number. */
export type Duration = string | { readonly milliseconds: number };

/** Request body or payload as bytes. */
export type Bytes = Uint8Array | ArrayBuffer | DataView;

/** Forwarded headers. */
export type HeaderOptions =
  | Readonly<Record<string, string>>
  | ReadonlyArray<readonly [string, string]>
  | { entries(): IterableIterator<[string, string]> };

/** What every call takes beside its own options. */
export interface CallOptions {
  /** Ends the call; its promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined;
}

type Plain = null | boolean | number | string | Plain[] | { [name: string]: Plain };

/** Options with those that a method takes by position; the core refuses what is left over. */
export function joined(options: object | null | undefined, positional: Record<string, unknown>): Record<string, unknown> {
  if (options !== null && options !== undefined && (typeof options !== "object" || Array.isArray(options))) {
    throw invalidInput("options", `options must be an object, got ${nameOfType(options)}`);
  }
  for (const name of Object.keys(positional)) {
    if (options && Object.hasOwn(options, name)) {
      throw invalidInput(name, `${name} is not an option of this call: it is an argument`);
    }
  }
  return { ...options, ...positional };
}

/** The options as JSON. */
export function toJson(options: Record<string, unknown>): string {
  const plain: Record<string, Plain> = {};
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && value !== null) plain[name] = toPlain(name, value, 0);
  }
  return JSON.stringify(plain);
}

const DEEPEST = 16;

function toPlain(option: string, value: unknown, depth: number): Plain {
  switch (typeof value) {
    case "boolean":
      return value;
    case "undefined":
      return null;
    case "string":
      if (!isWellFormed(value)) {
        throw invalidInput(option, `${option} must be text that has a UTF-8 form, got a lone surrogate`);
      }
      return value;
    case "number":
      if (!Number.isFinite(value)) {
        throw invalidInput(option, `${option} must be a finite number, got ${value}`, String(value));
      }
      return value;
    case "object":
      break;
    default:
      throw invalidInput(option, `${option} must be text, a number, true, false, a list or an object, got ${nameOfType(value)}`);
  }
  if (value === null) return null;
  if (depth > DEEPEST) throw invalidInput(option, `${option} is nested too deeply`);
  if (Array.isArray(value)) return value.map((item) => toPlain(option, item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw invalidInput(option, `${option} must be text, a number, true, false, a list or a plain object, got ${nameOfType(value)}`);
  }
  const plain: Record<string, Plain> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) plain[name] = toPlain(option, member, depth + 1);
  }
  return plain;
}

/** Replaces an option, if it is given. */
export function convert(
  options: Record<string, unknown>,
  name: string,
  change: (value: unknown) => unknown,
): void {
  const value = options[name];
  if (value !== null && value !== undefined) options[name] = change(value);
}

/** Headers as pairs, whatever holds them. */
export function headerPairs(headers: unknown): unknown {
  if (Array.isArray(headers)) return headers;
  const entries = (headers as { entries?: unknown }).entries;
  return typeof entries === "function" ? [...(headers as Map<string, string>).entries()] : headers;
}

/**
 * Splits content into what the core takes: `text` under the option's own name, bytes as base64, JSON
 * as the text it is written as.
 */
export function convertContent(options: Record<string, unknown>, name: "body" | "payload"): void {
  const { [name]: content, json } = options;
  if (content !== null && content !== undefined && typeof content !== "string") {
    const bytes = toBytes(content);
    if (bytes === null) {
      throw invalidInput(name, `${name} must be text or bytes, got ${nameOfType(content)}: pass an object as json`);
    }
    options[name] = null;
    options[`${name}Base64`] = toBase64(bytes);
  }
  if (json !== null && json !== undefined) {
    delete options.json;
    options.jsonText = writeJson("json", json);
  }
}

/** The text of a value that has a JSON form. */
export function writeJson(option: string, json: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(json);
  } catch (error) {
    throw invalidInput(option, `${option} cannot be written as JSON: ${error instanceof Error ? error.message : "it throws"}`);
  }
  if (text === undefined) throw invalidInput(option, `${option} cannot be written as JSON: it is ${nameOfType(json)}`);
  return text;
}

// The intrinsic getters look at what an object is, not at what it says: a proxy or a look-alike does
// not pass, a typed array of another realm does.
const typedArrayTag = intrinsic(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag);
const typedArrayBuffer = intrinsic(Object.getPrototypeOf(Uint8Array.prototype) as object, "buffer");
const arrayBufferLength = intrinsic(ArrayBuffer.prototype, "byteLength");

function intrinsic(prototype: object, property: PropertyKey): (this: unknown) => unknown {
  // eslint-disable-next-line @typescript-eslint/unbound-method
  return Object.getOwnPropertyDescriptor(prototype, property)?.get as (this: unknown) => unknown;
}

/** No bytes, and what a detached buffer is taken for: not every bridge can read one. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** The bytes that a value is, without a copy; null for what is none. May throw for hostile objects. */
export function toBytes(value: unknown): Uint8Array | null {
  if (typedArrayTag.call(value) === "Uint8Array") {
    const bytes = value as Uint8Array;
    if (bytes.byteLength === 0) return NO_BYTES;
    // Shared memory could change between the hash and its use.
    return isShared(typedArrayBuffer.call(bytes)) ? new Uint8Array(bytes) : bytes;
  }
  if (value instanceof DataView) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return isArrayBuffer(value) ? new Uint8Array(value) : null;
}

/** The bytes of a typed array of unshared memory; null for anything else. */
export function ordinaryBytes(value: unknown): Uint8Array | null {
  if (typedArrayTag.call(value) !== "Uint8Array") return null;
  if ((value as Uint8Array).byteLength === 0) return NO_BYTES;
  return isShared(typedArrayBuffer.call(value)) ? null : (value as Uint8Array);
}

function isShared(buffer: unknown): boolean {
  return typeof SharedArrayBuffer !== "undefined" && buffer instanceof SharedArrayBuffer;
}

function isArrayBuffer(value: unknown): value is ArrayBuffer {
  if (typeof value !== "object" || value === null) return false;
  try {
    arrayBufferLength.call(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether a text has a UTF-8 form. */
export function isWellFormed(text: string & { isWellFormed?(): boolean }): boolean {
  return text.isWellFormed ? text.isWellFormed() : !/\p{Surrogate}/u.test(text);
}

interface WritableBytes extends Uint8Array {
  write(text: string, encoding: "utf8"): number;
}

interface NodeBuffer {
  from(text: string, encoding: "utf8"): Uint8Array;
  allocUnsafeSlow(size: number): WritableBytes;
}

const encoder = new TextEncoder();
const { Buffer } = globalThis as unknown as { Buffer?: NodeBuffer };

/** The UTF-8 of a text that has one. Node's Buffer writes it faster than its TextEncoder. */
export function utf8(text: string): Uint8Array {
  return Buffer === undefined ? encoder.encode(text) : Buffer.from(text, "utf8");
}

/** Texts up to here are written into memory that is kept: fresh memory costs as much as the writing. */
const KEPT_BYTES = 4 * 1_048_576;
let kept: WritableBytes | null = null;

/** The same, valid until the next call: for what is read at once. */
export function utf8AtOnce(text: string): Uint8Array {
  // No character takes more than three bytes for each of its units.
  if (Buffer === undefined || text.length < 1_024 || text.length * 3 > KEPT_BYTES) return utf8(text);
  if (kept === null || kept.length < text.length * 3) {
    kept = Buffer.allocUnsafeSlow(Math.min(KEPT_BYTES, text.length * 4));
  }
  return kept.subarray(0, kept.write(text, "utf8"));
}

/** The name of a value's type, for people; never its content. */
export function nameOfType(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return "text";
    case "number":
      return "a number";
    case "boolean":
      return "true or false";
    case "object":
      return "an object";
    default:
      return `a ${typeof value}`;
  }
}

function toBase64(bytes: Uint8Array): string {
  const modern = bytes as Uint8Array & { toBase64?(): string };
  if (modern.toBase64) return modern.toBase64();
  const PART = 0x8000;
  let binary = "";
  for (let at = 0; at < bytes.length; at += PART) {
    binary += String.fromCharCode(...bytes.subarray(at, at + PART));
  }
  return btoa(binary);
}

/** The bytes of standard base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
