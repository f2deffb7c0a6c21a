/** The client: its groups of calls, each of them options for the core and an answer from it. */

import { asking, type ClientCore, type CoreClient } from "./core.js";
import { drive, type Fetch } from "./driver.js";
import { variable } from "./environment.js";
import { invalidInput } from "./errors.js";
import { type Log, logOf } from "./log.js";
import { type CallOptions, convert, convertContent, type Duration, headerPairs, joined, nameOfType, toJson } from "./options.js";
import { type Timers, timersOf } from "./timers.js";
import type {
  EntryError,
  Events,
  EventsFilter,
  Group,
  Message,
  Publish,
  Published,
  PublishedCopy,
  PublishOptions,
  Queue,
  QueueSettings,
  Schedule,
  ScheduleOptions,
  SchedulePut,
  ScheduleRun,
} from "./types.js";

/** How often and how patiently calls are repeated. */
export interface RetryPolicy {
  /** Attempts in all; 4 by default. */
  readonly attempts?: number | null | undefined;
  /** The first wait at most; 250 ms by default, doubling. */
  readonly base?: Duration | null | undefined;
  /** The longest wait; 8 s by default. */
  readonly cap?: Duration | null | undefined;
}

/** What a client is made from. */
export interface ChronqOptions {
  /** Base URL of the server; by default `CHRONQ_URL`. */
  readonly url?: string | null | undefined;
  /** By default `CHRONQ_TOKEN`. */
  readonly token?: string | null | undefined;
  /** Bound of one attempt; 30 s by default. */
  readonly timeout?: Duration | null | undefined;
  /** False turns repeating off. */
  readonly retry?: RetryPolicy | false | null | undefined;
  /** Added to the user agent. */
  readonly userAgent?: string | null | undefined;
  /** Sends the requests; the platform's `fetch` by default. */
  readonly fetch?: Fetch | null | undefined;
}

/** The calls on messages. */
export interface Messages {
  get(id: string, options?: CallOptions | null): Promise<Message>;
  /** Takes a message back; `Conflict` with its `state` where it is finished. */
  cancel(id: string, options?: CallOptions | null): Promise<void>;
  /** Gives a failed message one more attempt. */
  retry(id: string, options?: CallOptions | null): Promise<void>;
  events(filter?: EventsFilter | null): Promise<Events>;
}

/** The calls on URL groups. */
export interface Groups {
  list(options?: CallOptions | null): Promise<Group[]>;
  get(name: string, options?: CallOptions | null): Promise<Group>;
  /** Makes the group where it is not there. */
  addEndpoints(name: string, urls: readonly string[], options?: CallOptions | null): Promise<Group>;
  removeEndpoints(name: string, urls: readonly string[], options?: CallOptions | null): Promise<Group>;
  delete(name: string, options?: CallOptions | null): Promise<void>;
}

/** The calls on queues. */
export interface Queues {
  put(name: string, settings?: QueueSettings | null): Promise<Queue>;
  list(options?: CallOptions | null): Promise<Queue[]>;
  get(name: string, options?: CallOptions | null): Promise<Queue>;
  delete(name: string, options?: CallOptions | null): Promise<void>;
}

/** The calls on schedules. */
export interface Schedules {
  put(schedule: ScheduleOptions): Promise<SchedulePut>;
  list(options?: CallOptions | null): Promise<Schedule[]>;
  get(name: string, options?: CallOptions | null): Promise<Schedule>;
  delete(name: string, options?: CallOptions | null): Promise<void>;
  run(name: string, options?: CallOptions | null): Promise<ScheduleRun>;
}

/**
 * A client of the server. Calls are repeated where that is safe; what the contract would refuse is
 * refused before the network. A call that its signal ends rejects with the signal's reason; every
 * other failure is a `ChronqError`.
 */
export interface Chronq {
  /** Publishes one message. Without a deduplication id one is minted, so that a repeated attempt is safe. */
  publish(destination: string, options?: (PublishOptions & CallOptions) | null): Promise<Published>;
  /** Publishes to every endpoint of a URL group. */
  publishToGroup(group: string, options?: (PublishOptions & CallOptions) | null): Promise<PublishedCopy[]>;
  /** Publishes several messages; one answer per entry, in order. */
  batch(entries: readonly Publish[], options?: CallOptions | null): Promise<Array<Published | EntryError>>;
  readonly messages: Messages;
  readonly groups: Groups;
  readonly queues: Queues;
  readonly schedules: Schedules;
  readonly timers: Timers;
  readonly log: Log;
}

/** `new Chronq(options)`. */
export type ChronqConstructor = new (options?: ChronqOptions | null) => Chronq;

/** Makes one call of the core. */
export type Caller = (name: string, options: Record<string, unknown>) => Promise<unknown>;

/** The class `Chronq` on a core. */
export function clientOn(core: ClientCore): ChronqConstructor {
  return class Chronq implements Chronq {
    readonly #call: Caller;
    readonly messages: Messages;
    readonly groups: Groups;
    readonly queues: Queues;
    readonly schedules: Schedules;
    readonly timers: Timers;
    readonly log: Log;

    constructor(options?: ChronqOptions | null) {
      const { fetch: send, ...given } = joined(options, {});
      given.url ??= variable("CHRONQ_URL");
      given.token ??= variable("CHRONQ_TOKEN");
      const json = toJson(given);
      const client = asking(() => new core.CoreClient(json));
      const call = callerOf(client, fetchOf(send));
      this.#call = call;
      this.messages = messagesOf(call);
      this.groups = groupsOf(call);
      this.queues = queuesOf(call);
      this.schedules = schedulesOf(call);
      this.timers = timersOf(call);
      this.log = logOf(call);
    }

    async publish(destination: string, options?: (PublishOptions & CallOptions) | null): Promise<Published> {
      return (await this.#call("publish", publishOptions(joined(options, { destination })))) as Published;
    }

    async publishToGroup(group: string, options?: (PublishOptions & CallOptions) | null): Promise<PublishedCopy[]> {
      return (await this.#call("publish_to_group", publishOptions(joined(options, { group })))) as PublishedCopy[];
    }

    async batch(entries: readonly Publish[], options?: CallOptions | null): Promise<Array<Published | EntryError>> {
      const given = Array.isArray(entries) ? entries.map(batchEntry) : entries;
      return (await this.#call("batch", joined(options, { entries: given }))) as Array<Published | EntryError>;
    }
  };
}

function callerOf(client: CoreClient, send: Fetch): Caller {
  return async (name, options) => {
    const { signal, ...rest } = options;
    if (signal !== null && signal !== undefined && !(signal instanceof AbortSignal)) {
      throw invalidInput("signal", `signal must be an AbortSignal, got ${nameOfType(signal)}`);
    }
    return drive(client, send, name, toJson(rest), signal ?? null);
  };
}

function fetchOf(given: unknown): Fetch {
  // Looked up at each call: a test may put another `fetch` in its place.
  if (given === null || given === undefined) return (url, init) => fetch(url, init);
  if (typeof given !== "function") throw invalidInput("fetch", `fetch must be a function, got ${nameOfType(given)}`);
  return given as Fetch;
}

function batchEntry(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null ? publishOptions({ ...entry }) : entry;
}

function publishOptions(options: Record<string, unknown>): Record<string, unknown> {
  convertContent(options, "body");
  convert(options, "headers", headerPairs);
  convert(options, "notBefore", (value) =>
    value instanceof Date ? Math.ceil(value.getTime() / 1_000) : value,
  );
  for (const name of ["callback", "failureCallback"]) {
    convert(options, name, (callback) => {
      if (typeof callback !== "object") return callback;
      const given: Record<string, unknown> = { ...callback };
      convert(given, "headers", headerPairs);
      return given;
    });
  }
  return options;
}

function messagesOf(call: Caller): Messages {
  return {
    get: async (id, options) => (await call("messages.get", joined(options, { id }))) as Message,
    cancel: async (id, options) => void (await call("messages.cancel", joined(options, { id }))),
    retry: async (id, options) => void (await call("messages.retry", joined(options, { id }))),
    events: async (filter) => (await call("messages.events", joined(filter, {}))) as Events,
  };
}

function groupsOf(call: Caller): Groups {
  return {
    list: async (options) => (await call("groups.list", joined(options, {}))) as Group[],
    get: async (name, options) => (await call("groups.get", joined(options, { name }))) as Group,
    addEndpoints: async (name, urls, options) =>
      (await call("groups.add_endpoints", joined(options, { name, urls }))) as Group,
    removeEndpoints: async (name, urls, options) =>
      (await call("groups.remove_endpoints", joined(options, { name, urls }))) as Group,
    delete: async (name, options) => void (await call("groups.delete", joined(options, { name }))),
  };
}

function queuesOf(call: Caller): Queues {
  return {
    put: async (name, settings) => (await call("queues.put", joined(settings, { name }))) as Queue,
    list: async (options) => (await call("queues.list", joined(options, {}))) as Queue[],
    get: async (name, options) => (await call("queues.get", joined(options, { name }))) as Queue,
    delete: async (name, options) => void (await call("queues.delete", joined(options, { name }))),
  };
}

function schedulesOf(call: Caller): Schedules {
  return {
    put: async (schedule) => {
      const given = joined(schedule, {});
      convert(given, "headers", headerPairs);
      return (await call("schedules.put", given)) as SchedulePut;
    },
    list: async (options) => (await call("schedules.list", joined(options, {}))) as Schedule[],
    get: async (name, options) => (await call("schedules.get", joined(options, { name }))) as Schedule,
    delete: async (name, options) => void (await call("schedules.delete", joined(options, { name }))),
    run: async (name, options) => (await call("schedules.run", joined(options, { name }))) as ScheduleRun,
  };
}
