/** Timers: messages into the log that can be taken back until they are delivered. */

import type { TimerStatus } from "./contract.js";
import type { LogMessage } from "./log.js";
import { type Bytes, type CallOptions, convert, convertContent, type Duration, fromBase64, joined } from "./options.js";
import type { Caller } from "./client.js";

/** What a timer carries and when. One of `payload` and `json`. */
export interface TimerOptions extends CallOptions {
  /** Text or bytes. */
  readonly payload?: string | Bytes | null | undefined;
  /** Anything that has a JSON form. */
  readonly json?: unknown;
  /** From now; zero or a negative number of milliseconds is due at once. */
  readonly delay: Duration;
  /** Names the transaction; minted where none is given. */
  readonly txn?: string | null | undefined;
  readonly partition?: string | null | undefined;
  /** The payload is a zstd frame. */
  readonly payloadZstd?: boolean | null | undefined;
  /** The payload is encrypted by its producer. */
  readonly encrypted?: boolean | null | undefined;
}

/** A timer that stands. */
interface Placed {
  readonly ok: true;
  readonly queue: string;
  readonly timerKey: string;
  /** The transaction id that the delivered frame will carry. */
  readonly txn: string;
  /** The id that the delivered frame will have; minted anew at each reschedule. */
  readonly messageId: string;
  /** Not before this instant (RFC 3339, microseconds). */
  readonly deliverAt: string;
}

/** The timer did not exist and now does. */
export interface Scheduled extends Placed {
  readonly status: "scheduled";
}

/** It existed and has been replaced: a new message under an old key. */
export interface Rescheduled extends Placed {
  readonly status: "rescheduled";
}

/** It existed, was not claimed, and is gone. */
export interface Cancelled {
  readonly status: "cancelled";
  readonly ok: true;
  readonly queue: string;
  readonly timerKey: string;
  readonly txn: string;
}

/**
 * No longer pending. **It may already be delivered**: the authority is the log, and `settle()` asks it.
 * Code that compensates must do so before it compensates.
 */
export interface Absent {
  readonly status: "absent";
  readonly ok: false;
  readonly queue: string;
  readonly timerKey: string;
  readonly txn: string | null;
  /** An earlier attempt of this call may have arrived: this very call may have cancelled the timer. */
  readonly afterLostAnswer: boolean;
  /** What became of the timer. `InvalidInput` naming `txn` where the cancel carried none. */
  settle(options?: SettleOptions | null): Promise<Settled>;
}

/** Its delivery has begun. Use a new key, or wait for the delivery. */
export interface TooLate {
  readonly status: "too_late";
  readonly ok: false;
  readonly queue: string;
  readonly timerKey: string;
}

/** What became of a timer operation. Closed: a `switch` over `status` can be complete. */
export type TimerResult = Scheduled | Rescheduled | Cancelled | Absent | TooLate;
/** What a schedule or reschedule can answer. */
export type ScheduleResult = Scheduled | Rescheduled | TooLate;
/** What a cancel can answer. */
export type CancelResult = Cancelled | Absent | TooLate;

/** Bounds a search in the log. */
export interface SettleOptions extends CallOptions {
  /** Only frames that entered the log then or later: a date, or an RFC 3339 instant. */
  readonly since?: Date | string | null | undefined;
}

/** What became of an absent timer. */
export type Settled =
  | { readonly settled: "delivered"; readonly message: LogMessage }
  | { readonly settled: "pending"; readonly timer: PeekedTimer }
  | { readonly settled: "not_found"; readonly since: string | null };

/** A pending timer, without its payload. Instants are RFC 3339. */
export interface TimerRow {
  readonly queue: string;
  readonly timerKey: string;
  readonly partition: string;
  readonly deliverAt: string;
  readonly txn: string;
  readonly messageId: string;
  readonly payloadZstd: boolean;
  readonly encrypted: boolean;
  readonly producerSub: string | null;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly claimed: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A pending timer with its payload as stored: peek never decrypts. */
export interface PeekedTimer extends TimerRow {
  readonly payload: Uint8Array;
}

/** One operation of a batch. */
export type TimerOperation =
  | ({ readonly op: "schedule" | "reschedule"; readonly queue: string; readonly timerKey: string } & Omit<TimerOptions, "signal">)
  | { readonly op: "cancel"; readonly queue: string; readonly timerKey: string; readonly txn?: string | null | undefined };

/** What may be said about a batch of timer operations. */
export interface TimerBatchOptions extends CallOptions {
  /** Cancels in batches cannot be told apart after a lost answer, so they are asked for. */
  readonly allowCancel?: boolean | null | undefined;
}

/** How the timers of a queue are listed. */
export interface TimerListOptions extends CallOptions {
  /** Only keys after this one. */
  readonly after?: string | null | undefined;
  /** Rows of a page, 1 to 1000. */
  readonly limit?: number | null | undefined;
}

/** The calls on timers. */
export interface Timers {
  schedule(queue: string, key: string, options: TimerOptions): Promise<ScheduleResult>;
  reschedule(queue: string, key: string, options: TimerOptions): Promise<ScheduleResult>;
  cancel(queue: string, key: string, options?: (CallOptions & { readonly txn?: string | null | undefined }) | null): Promise<CancelResult>;
  /** The pending timer, or null: a miss is an answer. */
  peek(queue: string, key: string, options?: CallOptions | null): Promise<PeekedTimer | null>;
  /** All pending timers of a queue, page after page as they are asked for. */
  list(queue: string, options?: TimerListOptions | null): AsyncIterableIterator<TimerRow>;
  /** Several operations, results in their order; more than the server's limit travel in several calls. */
  batch(operations: readonly TimerOperation[], options?: TimerBatchOptions | null): Promise<TimerResult[]>;
}

interface Page {
  rows: TimerRow[];
  truncated: boolean;
  nextAfter: string | null;
}

/** The calls on timers, made by `call`. */
export function timersOf(call: Caller): Timers {
  const place = async (name: string, queue: string, key: string, options: TimerOptions): Promise<ScheduleResult> => {
    const given = joined(options, { queue, key });
    convertContent(given, "payload");
    return (await call(name, given)) as ScheduleResult;
  };
  const revive = (result: TimerResult & { status: TimerStatus }): TimerResult =>
    result.status === "absent" ? absent(call, result) : result;

  return {
    schedule: async (queue, key, options) => place("timers.schedule", queue, key, options),
    reschedule: async (queue, key, options) => place("timers.reschedule", queue, key, options),
    cancel: async (queue, key, options) =>
      revive((await call("timers.cancel", joined(options, { queue, key }))) as TimerResult) as CancelResult,
    peek: async (queue, key, options) => {
      const wire = (await call("timers.peek", joined(options, { queue, key }))) as WirePeek | null;
      return wire === null ? null : peeked(wire);
    },
    async *list(queue, options) {
      let after = options?.after ?? null;
      for (;;) {
        const page = (await call("timers.list", { ...joined(options, { queue }), after })) as Page;
        yield* page.rows;
        if (!page.truncated || page.nextAfter === null) return;
        after = page.nextAfter;
      }
    },
    batch: async (operations, options) => {
      const given = joined(options, { operations: Array.isArray(operations) ? operations.map(operation) : operations });
      return ((await call("timers.batch", given)) as TimerResult[]).map(revive);
    },
  };
}

function operation(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const converted: Record<string, unknown> = { ...given };
  convertContent(converted, "payload");
  return converted;
}

function absent(call: Caller, result: Absent): Absent {
  const { queue, timerKey, txn } = result;
  // Not enumerable: the result prints, compares and serialises as the data that it is.
  return Object.defineProperty({ ...result }, "settle", {
    value: async (options?: SettleOptions | null): Promise<Settled> => {
      const given = joined(options, { queue, timerKey, txn });
      convert(given, "since", instant);
      const settled = (await call("timers.settle", given)) as Settled | { settled: "pending"; timer: WirePeek };
      return settled.settled === "pending" ? { ...settled, timer: peeked(settled.timer as WirePeek) } : settled;
    },
  });
}

type WirePeek = TimerRow & { payload: string; found: boolean };

function peeked(wire: WirePeek): PeekedTimer {
  const { found: _, payload, ...row } = wire;
  return { ...row, payload: fromBase64(payload) };
}

/** An instant as the core reads it. */
export function instant(value: unknown): unknown {
  return value instanceof Date ? { milliseconds: value.getTime() } : value;
}
