/** The receiver: sorts what a caller passes by its shape, lets the core judge, and reads its answer. */

import { type Dialect, type KeyMatch } from "./contract.js";
import { answersOf } from "./ed25519.js";
import { asking, type CorePending, type CoreReceiver, type ReceiverCore, Shape, type SplitReceiver } from "./core.js";
import { variable } from "./environment.js";
import { errorOf, type ErrorReport, invalidInput } from "./errors.js";
import { isWellFormed, joined, nameOfType, NO_BYTES, ordinaryBytes, toBytes, utf8, utf8AtOnce } from "./options.js";

/** A delivery's raw body: before any parser. */
export type RawBody = string | Uint8Array | ArrayBuffer | DataView;

/** What a receiver is made from. */
export interface ReceiverOptions {
  /** A signing key; by default `CHRONQ_CURRENT_SIGNING_KEY`. */
  readonly currentSigningKey?: string | null | undefined;
  /**
   * The other key, during a rotation; by default `CHRONQ_NEXT_SIGNING_KEY`, where the current key is
   * taken from the environment too. Which of the two is newer makes no difference.
   */
  readonly nextSigningKey?: string | null | undefined;
  /** Whose deliveries are verified; `chronq` by default. */
  readonly dialect?: Dialect | null | undefined;
  /** How far this machine's clock may be off: 0 to 300 whole seconds, 0 by default. */
  readonly clockToleranceSeconds?: number | null | undefined;
}

/** What may be said about any verification. */
export interface VerifyOptions {
  /**
   * The URL that the delivery was published to, as it was published: configured, never taken from the
   * request. Null leaves it unchecked.
   */
  readonly url?: string | null | undefined;
  /** Whole unix seconds, for a delivery that is verified later than it came; the clock by default. */
  readonly now?: number | null | undefined;
  /** Replaces the receiver's tolerance for this one verification. */
  readonly clockToleranceSeconds?: number | null | undefined;
}

/** One delivery, by the value of its signature header. */
export interface Delivery extends VerifyOptions {
  /** Value of the signature header, as the framework has it. */
  readonly signature: string | readonly string[] | null | undefined;
  /** The raw body. */
  readonly body: RawBody;
}

/** The headers of a request, as the framework has them. */
export type RequestHeaders =
  | Headers
  | ReadonlyMap<string, string | readonly string[] | undefined>
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** One delivery, by its headers. */
export interface DeliveryByHeaders extends VerifyOptions {
  /** All headers of the request, names in any case. */
  readonly headers: RequestHeaders;
  /** The raw body. */
  readonly body: RawBody;
}

/** What a verified delivery says about itself; times are unix seconds. Null where its dialect signs none. */
export interface Claims {
  /** Who signed. */
  readonly iss: string | null;
  /** The URL that the delivery was signed for, as it was published. */
  readonly sub: string | null;
  /** The first second at which the signature is too old. */
  readonly exp: number;
  /** The first second at which it is valid. */
  readonly nbf: number;
  /** When it was signed. */
  readonly iat: number | null;
  /** Id of this very attempt; in the webhook dialects, of the message. */
  readonly jti: string | null;
  /** base64url, without padding, of SHA-256 of the body. */
  readonly body: string | null;
  /** The key that matched. */
  readonly key: KeyMatch;
}

/** A request that can be trusted, with the body that was read to verify it. */
export interface VerifiedRequest {
  readonly claims: Claims;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Verifies deliveries. Throws `SignatureError` for one that must not be trusted, `InvalidInput` for a
 * wrong option, and nothing else, whatever it is given. */
export interface Receiver {
  /** Whose deliveries are verified. */
  readonly dialect: Dialect;
  /** Verifies a delivery by the value of its signature header. */
  verify(delivery: Delivery): Promise<Claims>;
  /** The same, at once. */
  verifySync(delivery: Delivery): Claims;
  /** Verifies a delivery by its headers: the only way in the webhook dialects, which sign three. */
  verifyHeaders(delivery: DeliveryByHeaders): Promise<Claims>;
  /** The same, at once; at the edge not with a public key (`whpk_`), for which the platform is asked. */
  verifyHeadersSync(delivery: DeliveryByHeaders): Claims;
  /** Reads a web request's body, verifies it, and hands it out. */
  verifyRequest(request: Request, options?: VerifyOptions | null): Promise<VerifiedRequest>;
}

/** `new Receiver(options)`. */
export type ReceiverConstructor = new (options?: ReceiverOptions | null) => Receiver;

/** The class `Receiver` on a core. */
export function receiverOn(core: ReceiverCore): ReceiverConstructor {
  let known: Set<string> | null = null;
  return class Receiver implements Receiver {
    readonly #core: CoreReceiver;
    readonly #dialect: Dialect;
    /** The option that holds a public key, if one does and this core cannot verify with it alone. */
    readonly #publicKey: string | null;

    constructor(options?: ReceiverOptions | null) {
      const { currentSigningKey, nextSigningKey, dialect, clockToleranceSeconds, ...unknown } = withEnvironment(joined(options, {}));
      for (const name of Object.keys(unknown)) throw invalidInput(name, `${name} is not an option of a receiver`);
      const current = text("currentSigningKey", currentSigningKey);
      const next = text("nextSigningKey", nextSigningKey);
      const word = text("dialect", dialect);
      const tolerance = seconds("clockToleranceSeconds", clockToleranceSeconds);
      this.#core = asking(() => new core.CoreReceiver(current, next, word, tolerance));
      this.#dialect = (word ?? "chronq") as Dialect;
      const holder = isPublicKey(current) ? "currentSigningKey" : isPublicKey(next) ? "nextSigningKey" : null;
      this.#publicKey = core.platformDigestFrom === null ? null : holder;
    }

    get dialect(): Dialect {
      return this.#dialect;
    }

    async verify(delivery: Delivery): Promise<Claims> {
      if (core.platformDigestFrom === null) return this.verifySync(delivery);
      const sorted = new SortedDelivery(delivery);
      if (!this.#asksPlatform(sorted)) return this.#judge(sorted);
      const { shape, signature, url, now, tolerance } = sorted;
      return finish(sorted.body, () => (this.#core as SplitReceiver).begin(shape, signature, url, now, tolerance));
    }

    verifySync(delivery: Delivery): Claims {
      const usual = verifyUsual(this.#core, delivery);
      return usual === null ? this.#judge(new SortedDelivery(delivery)) : readOutcome(usual);
    }

    async verifyHeaders(delivery: DeliveryByHeaders): Promise<Claims> {
      const sorted = this.#sortHeaders(delivery);
      if (this.#publicKey !== null) return this.#askAbout(this.#publicKey, sorted);
      if (!this.#asksPlatform(sorted)) return this.#judgeHeaders(sorted);
      const { headers, shapes, url, now, tolerance } = sorted;
      return finish(sorted.body, () =>
        (this.#core as SplitReceiver).beginHeaders(headers, Uint8Array.from(shapes), url, now, tolerance),
      );
    }

    verifyHeadersSync(delivery: DeliveryByHeaders): Claims {
      return this.#judgeHeaders(this.#sortHeaders(delivery));
    }

    async verifyRequest(request: Request, options?: VerifyOptions | null): Promise<VerifiedRequest> {
      const { url, now, clockToleranceSeconds } = options ?? {};
      const [headers, body] = await readRequest(request);
      const claims = await this.verifyHeaders({ headers, body: body as RawBody, url, now, clockToleranceSeconds });
      return { claims, body: body as Uint8Array<ArrayBuffer> };
    }

    /** Leaves Ed25519 to the platform, and nothing else. */
    async #askAbout(option: string, sorted: SortedByHeaders): Promise<Claims> {
      const { headers, shapes, body, fault, url, now, tolerance } = sorted;
      const pending = asking(() =>
        (this.#core as SplitReceiver).beginWebhook(headers, Uint8Array.from(shapes), body, fault, url, now, tolerance),
      );
      const answers = await answersOf(pending.questions(), pending.prefix(), body, option);
      return readOutcome(pending.finish(answers));
    }

    /** The webhook dialects sign the body itself: its digest is of no use to them. */
    #asksPlatform(sorted: Sorted): boolean {
      const from = core.platformDigestFrom;
      if (from === null || sorted.fault !== null || sorted.body.length < from) return false;
      return typeof crypto === "object" && crypto.subtle !== undefined && !isWebhook(this.#dialect);
    }

    #sortHeaders(delivery: DeliveryByHeaders): SortedByHeaders {
      known ??= new Set(core.signatureHeaders());
      return new SortedByHeaders(delivery, known);
    }

    #judge(sorted: SortedDelivery): Claims {
      const { shape, signature, body, fault, url, now, tolerance } = sorted;
      return readOutcome(this.#core.verify(shape, signature, body, fault, url, now, tolerance));
    }

    #judgeHeaders(sorted: SortedByHeaders): Claims {
      const { headers, shapes, body, fault, url, now, tolerance } = sorted;
      return readOutcome(this.#core.verifyHeaders(headers, Uint8Array.from(shapes), body, fault, url, now, tolerance));
    }
  };
}

/**
 * The hot path: a text as signature, bytes or text as body, the clock and the receiver's tolerance. Null
 * where anything is of another shape, which is then sorted with care.
 */
function verifyUsual(receiver: CoreReceiver, delivery: Delivery): string | null {
  if (receiver.verifyBytes === undefined) return null;
  try {
    const { signature, url, body, now, clockToleranceSeconds } = delivery;
    if (typeof signature !== "string" || (clockToleranceSeconds ?? null) !== null) return null;
    if (typeof url !== "string" && (url ?? null) !== null) return null;
    if (!Number.isSafeInteger(now) && (now ?? null) !== null) return null;
    const bytes = typeof body === "string" ? encode(body, utf8AtOnce) : ordinaryBytes(body);
    if (bytes === null) return null;
    return receiver.verifyBytes(signature, bytes, url ?? null, now ?? Math.floor(Date.now() / 1_000));
  } catch {
    return null;
  }
}

function isWebhook(dialect: Dialect): boolean {
  return dialect === "standard-webhooks" || dialect === "svix";
}

/** Of the webhook dialects, in which alone a key may begin so. */
function isPublicKey(key: string | null): boolean {
  return key?.startsWith("whpk_") === true;
}

/** Verifies everything but the body, then has the platform hash that: a forged delivery costs no hash. */
async function finish(body: Uint8Array, begin: () => CorePending): Promise<Claims> {
  const pending = asking(begin);
  const digest = await crypto.subtle.digest("SHA-256", body as Uint8Array<ArrayBuffer>);
  return readOutcome(pending.finish(new Uint8Array(digest)));
}

/** The next key comes from the environment only together with the current one. */
function withEnvironment(options: Record<string, unknown>): Record<string, unknown> {
  const dialect = options.dialect ?? "chronq";
  if (options.currentSigningKey !== null && options.currentSigningKey !== undefined) return options;
  if (dialect !== "chronq") return options;
  return {
    ...options,
    currentSigningKey: variable("CHRONQ_CURRENT_SIGNING_KEY"),
    nextSigningKey: options.nextSigningKey ?? variable("CHRONQ_NEXT_SIGNING_KEY"),
  };
}

/** The UTF-8 of a text; null where it has none. */
function encode(text: string, write: (text: string) => Uint8Array): Uint8Array | null {
  return isWellFormed(text) ? write(text) : null;
}

const UNREADABLE = "an object that cannot be read";

/** What every verification is told, once its types are what they should be. */
class Sorted {
  body: Uint8Array = NO_BYTES;
  /** Null for a raw body, empty for text with a lone surrogate, else the name of the type it was. */
  fault: string | null = null;
  readonly url: string | null;
  readonly now: number;
  readonly tolerance: number | null;

  constructor(given: VerifyOptions | null | undefined) {
    const url = read(given, "url");
    if (url !== null && typeof url !== "string") {
      throw invalidInput("url", `url must be text, as it was published, got ${nameOfType(url)}`);
    }
    this.url = url;
    this.now = seconds("now", read(given, "now")) ?? Math.floor(Date.now() / 1_000);
    this.tolerance = seconds("clockToleranceSeconds", read(given, "clockToleranceSeconds"));
  }

  protected sortBody(body: unknown): void {
    if (typeof body === "string") {
      const bytes = encode(body, utf8);
      if (bytes === null) this.fault = "";
      else this.body = bytes;
      return;
    }
    try {
      const bytes = toBytes(body);
      if (bytes === null) this.fault = FAULTS.get(body) ?? nameOfType(body);
      else this.body = bytes;
    } catch {
      this.fault = UNREADABLE;
    }
  }
}

class SortedDelivery extends Sorted {
  readonly shape: Shape;
  readonly signature: string;

  constructor(delivery: Delivery | null | undefined) {
    super(delivery);
    this.sortBody(read(delivery, "body", UNREADABLE_VALUE));
    const signature = read(delivery, "signature", UNREADABLE_VALUE);
    if (typeof signature === "string") {
      this.shape = Shape.One;
      this.signature = signature;
    } else {
      [this.shape, this.signature] = shapeOf(signature);
    }
  }
}

class SortedByHeaders extends Sorted {
  readonly headers: string[] = [];
  readonly shapes: number[] = [];

  constructor(delivery: DeliveryByHeaders | null | undefined, known: Set<string>) {
    super(delivery);
    this.sortBody(read(delivery, "body", UNREADABLE_VALUE));
    try {
      for (const [name, value] of headerEntries(read(delivery, "headers"))) {
        if (typeof name !== "string" || !known.has(name.toLowerCase())) continue;
        const [shape, text] = shapeOf(value);
        this.headers.push(name, text);
        this.shapes.push(shape);
      }
    } catch {
      // Headers that cannot be read hold no signature.
      this.headers.length = 0;
      this.shapes.length = 0;
    }
  }
}

/** Stands for a property whose getter threw: neither text nor bytes. */
const UNREADABLE_VALUE = Symbol("unreadable");
/** Stands for the body of a request that somebody read before. */
const ALREADY_READ = Symbol("already read");
const FAULTS = new Map<unknown, string>([
  [UNREADABLE_VALUE, UNREADABLE],
  [ALREADY_READ, "a request whose body was read before"],
]);

/** A property of what the caller passed; null where it is not given. */
function read(given: object | null | undefined, name: string, unreadable?: symbol): unknown {
  if (given === null || given === undefined) return null;
  try {
    return (given as Record<string, unknown>)[name] ?? null;
  } catch {
    if (unreadable !== undefined) return unreadable;
    if (name === "headers") return null;
    throw invalidInput(name, `${name} cannot be read: its getter throws`);
  }
}

/** A number of seconds for the core, which has whole numbers alone. */
function seconds(option: string, value: unknown): number | null {
  if (value === null || value === undefined) return null;
  if (Number.isSafeInteger(value)) return value as number;
  const shown = typeof value === "number" ? String(value) : null;
  throw invalidInput(option, `${option} must be a whole number of seconds, got ${shown ?? nameOfType(value)}`, shown);
}

/** A text for the core. Its value is not shown: it may be a key. */
function text(option: string, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "string") throw invalidInput(option, `${option} must be text, got ${nameOfType(value)}`);
  if (!isWellFormed(value)) throw invalidInput(option, `${option} must be text that has a UTF-8 form, got a lone surrogate`);
  return value;
}

/** The shape of a header's value, and its text where it is one. */
function shapeOf(value: unknown): [Shape, string] {
  if (typeof value === "string") return [Shape.One, value];
  if (value === null || value === undefined) return [Shape.Absent, ""];
  try {
    if (Array.isArray(value)) {
      if (value.length > 1) return [Shape.Several, ""];
      // A list in a list is nobody's header.
      return Array.isArray(value[0]) ? [Shape.NotText, ""] : shapeOf(value[0]);
    }
    const bytes = toBytes(value);
    if (bytes !== null) return [Shape.One, decoder.decode(bytes)];
  } catch {
    // Judged as what it is: nothing that can be read.
  }
  return [Shape.NotText, ""];
}

// Only ASCII is a signature: whatever else the bytes are, they must not become that.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function headerEntries(headers: unknown): Iterable<readonly [unknown, unknown]> {
  if (typeof headers !== "object" || headers === null) return [];
  if (Symbol.iterator in headers) return headers as Iterable<readonly [unknown, unknown]>;
  return Object.entries(headers);
}

async function readRequest(request: Request): Promise<[RequestHeaders, unknown]> {
  try {
    const headers = request.headers;
    if (request.bodyUsed) return [headers, ALREADY_READ];
    return [headers, new Uint8Array(await request.arrayBuffer())];
  } catch {
    return [{}, UNREADABLE_VALUE];
  }
}

const ISSUERS: Readonly<Record<string, string>> = { c: "chronq", u: "Upstash" };
const BODY_AT = 46;
const BODY_CHARACTERS = 43;

/** Reads the core's columns: see `outcome_to_text` there. */
function readOutcome(text: string): Claims {
  const key = text[0];
  if (key === "{") throw errorOf(JSON.parse(text) as ErrorReport);
  const hasBody = text[3] === "b";
  const jtiAt = hasBody ? BODY_AT + BODY_CHARACTERS : BODY_AT;
  const hasJti = text[40] !== "-";
  const subAt = hasJti ? jtiAt + digits(text, 40, BODY_AT) : jtiAt;
  return {
    iss: ISSUERS[text[1] as string] ?? null,
    sub: text[2] === "s" ? text.slice(subAt) : null,
    exp: digits(text, 4, 16),
    nbf: digits(text, 16, 28),
    iat: text[28] === "-" ? null : digits(text, 28, 40),
    jti: hasJti ? text.slice(jtiAt, subAt) : null,
    body: hasBody ? text.slice(BODY_AT, jtiAt) : null,
    key: key === "c" ? "current" : "next",
  };
}

function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + text.charCodeAt(at) - 48;
  return number;
}
