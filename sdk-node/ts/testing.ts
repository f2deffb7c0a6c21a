/**
 * A server for tests, in one call: `await using server = await startServer()`. It ends with the test
 * run, even a killed one: the server watches its standard input.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** One request that an inbox recorded. */
export interface InboxRequest {
  readonly method: string;
  /** Path and query, as they arrived. */
  readonly target: string;
  readonly headers: ReadonlyArray<readonly [string, string]>;
  /** The body as text; null where it is none. */
  readonly body: string | null;
  /** The body in base64, where it is no text. */
  readonly bodyBase64: string | null;
  readonly receivedAt: string;
}

/** An answer of an inbox. */
export interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
}

/** A destination of the server's own, which takes and records any method. */
export interface Inbox {
  /** Where to publish to. */
  readonly url: string;
  /** What arrived so far. */
  requests(): Promise<InboxRequest[]>;
  /** Waits until so many requests have arrived, and answers with them. */
  waitFor(count: number, options?: { readonly timeoutMs?: number }): Promise<InboxRequest[]>;
  /** Scripts the answers, one per request; the last repeats. */
  script(respond: readonly ScriptedResponse[]): Promise<void>;
  /** Forgets what arrived. */
  clear(): Promise<void>;
}

/** A running server. */
export interface TestServer {
  readonly url: string;
  readonly token: string;
  /** What deliveries are signed with: options of a `Receiver`. */
  readonly signingKeys: { readonly currentSigningKey: string; readonly nextSigningKey: string | null };
  inbox(name: string): Inbox;
  readonly clock: {
    /** Moves all that the server takes as time, but the dates in signatures. */
    advance(milliseconds: number): Promise<void>;
  };
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How the server is started. */
export interface StartOptions {
  /** Path of the binary; by default `CHRONQ_SERVER_BIN`, else `chronq` on the PATH. */
  readonly binary?: string | undefined;
  /** Further arguments of `chronq dev`. */
  readonly args?: readonly string[] | undefined;
}

interface Ready {
  event: "ready";
  url: string;
  token: string;
  signingKey: string;
  nextSigningKey?: string | null;
}

/** Starts `chronq dev` on a free port. */
export async function startServer(options: StartOptions = {}): Promise<TestServer> {
  const binary = options.binary ?? process.env.CHRONQ_SERVER_BIN ?? "chronq";
  const args = ["dev", "--listen", "127.0.0.1:0", "--exit-with-parent", ...(options.args ?? [])];
  const child = spawn(binary, args, { stdio: ["pipe", "pipe", "pipe"], env: withoutSettings(process.env) });
  const ready = await whenReady(child, binary);
  // A test run must not wait for the server: it is the server that goes when the run ends.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as { unref?(): void } | null)?.unref?.();
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.ref();
    child.kill("SIGTERM");
    await ended;
  };
  return {
    url: ready.url,
    token: ready.token,
    signingKeys: { currentSigningKey: ready.signingKey, nextSigningKey: ready.nextSigningKey ?? null },
    inbox: (name) => inboxAt(`${ready.url}/dev/inbox/${encodeURIComponent(name)}`),
    clock: {
      advance: async (milliseconds) => void (await ask("POST", `${ready.url}/dev/clock/advance`, { ms: milliseconds })),
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** What is set for the tests, or for another server on this machine, is not meant for this one. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(CHRONQ|QUEEN)_/.test(name)));
}

async function whenReady(child: ChildProcess, binary: string): Promise<Ready> {
  let complaints = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-4_096);
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      reject(new Error(`cannot start ${binary}: install chronq, or name its path in CHRONQ_SERVER_BIN`, { cause }));
    });
    child.once("exit", (code) => {
      reject(new Error(`${binary} dev ended with ${code} before it was ready: ${complaints}`));
    });
    lines.on("line", (line) => {
      if (!line.startsWith("{")) return;
      const event = JSON.parse(line) as Ready | { event: string };
      if (event.event === "ready") resolve(event as Ready);
    });
  });
}

function inboxAt(url: string): Inbox {
  const requests = async (): Promise<InboxRequest[]> => (await (await ask("GET", `${url}/requests`)).json()) as InboxRequest[];
  return {
    url,
    requests,
    waitFor: async (count, { timeoutMs = 10_000 } = {}) => {
      const until = Date.now() + timeoutMs;
      for (;;) {
        const arrived = await requests();
        if (arrived.length >= count) return arrived;
        if (Date.now() > until) throw new Error(`${arrived.length} of ${count} requests arrived at ${url} within ${timeoutMs} ms`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    script: async (respond) => void (await ask("PUT", `${url}/script`, { respond })),
    clear: async () => void (await ask("DELETE", `${url}/requests`)),
  };
}

async function ask(method: string, url: string, body?: object): Promise<Response> {
  const response = await fetch(url, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${await response.text()}`);
  return response;
}
