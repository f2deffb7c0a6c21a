/**
 * Drives one call: does what the core's exchange says, over `fetch` and `setTimeout`, and tells it
 * what came. Which calls are repeated, when and how often is the core's alone.
 */

import { asking, type CoreClient, type CoreSession } from "./core.js";
import { errorOf, type ErrorReport } from "./errors.js";

/** What the core answers when asked what is next. */
interface Step {
  send?: { method: string; url: string; headers: [string, string][]; body: string };
  wait?: number;
  error?: ErrorReport;
  done?: unknown;
}

/** The function that sends a request, as the platform's `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Failures to connect, told apart by the code that Node gives their cause: nothing was sent. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  // Bun and Deno name theirs so.
  "ConnectionRefused",
  "FailedToOpenSocket",
]);

/** One call, from its options as JSON to its answer. */
export async function drive(
  client: CoreClient,
  send: Fetch,
  name: string,
  options: string,
  signal: AbortSignal | null,
): Promise<unknown> {
  signal?.throwIfAborted();
  const seed = crypto.getRandomValues(new Uint8Array(32));
  const session = asking(() => client.call(name, options, seed, Date.now()));
  try {
    for (;;) {
      const step = JSON.parse(session.next()) as Step;
      if (step.send) await attempt(session, send, step.send, client.timeout(), signal);
      else if (step.wait !== undefined) await sleep(step.wait, signal);
      else if (step.error) throw errorOf(step.error);
      else return step.done;
    }
  } finally {
    session.free?.();
  }
}

async function attempt(
  session: CoreSession,
  send: Fetch,
  request: NonNullable<Step["send"]>,
  timeout: number,
  signal: AbortSignal | null,
): Promise<void> {
  const { method, url, headers, body } = request;
  const ending = new Ending(timeout, signal);
  try {
    const hasBody = method !== "GET" && method !== "HEAD" && (body !== "" || method === "POST" || method === "PUT");
    const response = await send(url, {
      method,
      headers,
      body: hasBody ? body : null,
      redirect: "manual",
      signal: ending.signal,
    });
    const answer = new Uint8Array(await response.arrayBuffer());
    session.respond(response.status, [...response.headers].flat(), answer, Date.now(), Math.random());
  } catch (error) {
    signal?.throwIfAborted();
    const [message, mayHaveBeenSent] = ending.timedOut
      ? [`no answer within ${timeout} ms`, true]
      : [describe(error), !NOT_SENT.has(codeOf(error))];
    session.fail(message, mayHaveBeenSent, Math.random());
  } finally {
    ending.clear();
  }
}

/** Ends an attempt when its time is up or its caller says so. */
class Ending {
  timedOut = false;
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #caller: AbortSignal | null;
  readonly #abort = (): void => {
    this.#controller.abort(this.#caller?.reason);
  };

  constructor(timeout: number, caller: AbortSignal | null) {
    this.#caller = caller;
    caller?.addEventListener("abort", this.#abort, { once: true });
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#controller.abort();
    }, Math.min(timeout, LONGEST_TIMER));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#abort);
  }
}

/** Timers of JavaScript hold 31 bits of milliseconds; beyond, they fire at once. */
const LONGEST_TIMER = 2_147_483_647;

function sleep(milliseconds: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, Math.min(milliseconds, LONGEST_TIMER));
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** The code of a failure; Node hides it in the cause, and several addresses behind an AggregateError. */
function codeOf(error: unknown): unknown {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string") return code;
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  return cause === undefined ? undefined : codeOf(cause);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "no answer came: the request failed";
  const cause = error.cause instanceof Error && error.cause.message ? `: ${error.cause.message}` : "";
  return `no answer came: ${error.message}${cause}`;
}
