/** Options and answers of the queue's calls; those of timers and the log have a file of their own. */

import type { MessageState, Method, Missed } from "./contract.js";
import type { Bytes, CallOptions, Duration, HeaderOptions } from "./options.js";

/** Where the outcome of a message is reported. */
export interface Callback {
  readonly url: string;
  readonly method?: Method | null | undefined;
  readonly timeout?: Duration | null | undefined;
  readonly headers?: HeaderOptions | null | undefined;
}

/** What a message carries: one of `body` and `json`. */
export interface Content {
  /** Text or bytes (which must be UTF-8), sent as they are. */
  readonly body?: string | Bytes | null | undefined;
  /** Anything that has a JSON form. */
  readonly json?: unknown;
  /** By default application/json for `json`, application/octet-stream for bytes, text/plain for text. */
  readonly contentType?: string | null | undefined;
}

/** What may be said about a publish; what is not given is the queue's setting, then the default. */
export interface PublishOptions extends Content {
  readonly queue?: string | null | undefined;
  /** Method of the delivery; POST by default. */
  readonly method?: Method | null | undefined;
  /** Headers that the delivery carries along. */
  readonly headers?: HeaderOptions | null | undefined;
  /** Retries after the first attempt, 0 to 100. */
  readonly retries?: number | null | undefined;
  /** Base of the wait between attempts. */
  readonly retryDelay?: Duration | null | undefined;
  /** Waits before the first attempt. */
  readonly delay?: Duration | null | undefined;
  /** No attempt before this instant: unix seconds, or a date. */
  readonly notBefore?: number | Date | null | undefined;
  /** Bound of one attempt. */
  readonly timeout?: Duration | null | undefined;
  /** A second publish with the same id is the first one. Without it the SDK mints one, so that a repeated attempt is safe. */
  readonly deduplicationId?: string | null | undefined;
  /** Takes the id from what is published. */
  readonly contentBasedDeduplication?: boolean | null | undefined;
  readonly callback?: string | Callback | null | undefined;
  readonly failureCallback?: string | Callback | null | undefined;
  readonly labels?: readonly string[] | null | undefined;
}

/** One entry of a batch. */
export interface Publish extends PublishOptions {
  readonly destination: string;
}

/** A message that is stored. */
export interface Published {
  /** Looks the message up, and is the receiver's idempotency key. */
  readonly messageId: string;
  readonly queue: string;
  /** It was already there: on the answer to a repeated attempt, the attempt before had arrived. */
  readonly deduplicated: boolean;
}

/** One copy of a publish to a group. */
export interface PublishedCopy extends Published {
  readonly url: string;
}

/** An entry of a batch that was refused, the others notwithstanding. */
export interface EntryError {
  readonly error: string;
}

/** What the destination answered to the last attempt. */
export interface AttemptResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly durationMs: number;
  readonly truncated: boolean;
}

/** A message, as the server knows it. Times are RFC 3339. */
export interface Message {
  readonly messageId: string;
  readonly queue: string;
  readonly state: MessageState;
  readonly url: string;
  readonly labels: readonly string[];
  readonly cronjob: string | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly retried: number;
  readonly maxRetries: number;
  readonly response: AttemptResponse | null;
}

/** Which messages are listed. */
export interface EventsFilter extends CallOptions {
  readonly queue?: string | null | undefined;
  readonly state?: MessageState | null | undefined;
  readonly label?: string | null | undefined;
  readonly cronjob?: string | null | undefined;
  readonly limit?: number | null | undefined;
  readonly offset?: number | null | undefined;
}

/** A page of messages. */
export interface Events {
  readonly jobs: readonly Message[];
  readonly total: number;
}

/** A URL group. Times are unix milliseconds. */
export interface Group {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endpoints: ReadonlyArray<{ readonly url: string }>;
}

/** Settings of a queue; what is not given is left as it is. */
export interface QueueSettings extends CallOptions {
  readonly retryLimit?: number | null | undefined;
  readonly retryDelay?: Duration | null | undefined;
  readonly maxDelay?: Duration | null | undefined;
  readonly backoff?: boolean | null | undefined;
  readonly expire?: Duration | null | undefined;
  readonly concurrency?: number | null | undefined;
  readonly keepCompleted?: Duration | null | undefined;
  readonly keepQueued?: Duration | null | undefined;
  readonly deadLetterQueue?: string | null | undefined;
  readonly enabled?: boolean | null | undefined;
  readonly description?: string | null | undefined;
}

/** A queue, every setting with the value in force; durations are text in the grammar. */
export interface Queue {
  readonly name: string;
  readonly retryLimit?: number;
  readonly retryDelay?: string;
  readonly maxDelay?: string;
  readonly backoff?: boolean;
  readonly expire?: string;
  readonly concurrency?: number;
  readonly keepCompleted?: string;
  readonly keepQueued?: string;
  readonly deadLetterQueue?: string;
  readonly enabled?: boolean;
  readonly description?: string;
}

/** A schedule to make or to replace, whole. */
export interface ScheduleOptions extends CallOptions {
  readonly name: string;
  /** A cron expression or an RRULE. */
  readonly cron: string;
  readonly url: string;
  readonly method?: Method | null | undefined;
  readonly headers?: HeaderOptions | null | undefined;
  readonly body?: string | null | undefined;
  readonly timezone?: string | null | undefined;
  /** What becomes of runs that were missed. */
  readonly missed?: Missed | null | undefined;
  readonly timeout?: Duration | null | undefined;
  readonly queue?: string | null | undefined;
  readonly enabled?: boolean | null | undefined;
  readonly description?: string | null | undefined;
  readonly failureCallback?: string | null | undefined;
}

/** A schedule, as the server knows it. Times are unix milliseconds. */
export interface Schedule {
  readonly name: string;
  readonly cron: string;
  readonly url: string;
  readonly method: Method;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timezone: string;
  readonly missed: Missed;
  readonly timeoutMs: number;
  readonly queue: string | null;
  readonly enabled: boolean;
  readonly description: string | null;
  readonly failureCallback: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Null while disabled, or once its rule has ended. */
  readonly nextRunAt: number | null;
  readonly lastRunAt: number | null;
  readonly lastMessageId: string | null;
}

/** What a put of a schedule did. */
export interface SchedulePut extends Schedule {
  /** Whether it was made anew. */
  readonly created: boolean;
}

/** The message of a schedule that was run by hand. */
export interface ScheduleRun {
  readonly messageId: string;
  readonly queue: string;
}
