/** The log: where delivered timers are found, taken under a lease, and settled. */

import type { AckStatus } from "./contract.js";
import { type CallOptions, convert, type Duration, joined, writeJson } from "./options.js";
import type { Caller } from "./client.js";
import { instant, type SettleOptions } from "./timers.js";

/** A frame in the log. Instants are RFC 3339. */
export interface LogMessage {
  readonly id: string;
  readonly transactionId: string;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly offset: number;
  /** Parsed JSON, or `{ _raw_b64 }` where the payload is none. */
  readonly data: unknown;
  readonly producerSub: string | null;
  readonly createdAt: string;
}

/** A message under a lease. */
export interface PoppedMessage {
  readonly id: string;
  readonly transactionId: string;
  readonly data: unknown;
  readonly producerSub: string | null;
  readonly createdAt: string;
  readonly partitionId: string;
  readonly partition: string;
  /** None under `autoAck`. */
  readonly leaseId: string | null;
  readonly consumerGroup: string | null;
}

/** What a pop took. */
export interface Popped {
  readonly success: boolean;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string | null;
  readonly consumerGroup: string | null;
  readonly messages: readonly PoppedMessage[];
}

/** How messages are taken. */
export interface PopOptions extends CallOptions {
  /** Any where none is given. */
  readonly partition?: string | null | undefined;
  /** Most messages; 1 by default. */
  readonly batch?: number | null | undefined;
  /** How long to wait for the first; not at all by default. */
  readonly wait?: Duration | null | undefined;
  readonly consumerGroup?: string | null | undefined;
  /** Commit at delivery: at most once. */
  readonly autoAck?: boolean | null | undefined;
}

/** What is said with an ack. */
export interface AckOptions extends CallOptions {
  /** `completed` by default. */
  readonly status?: AckStatus | null | undefined;
  /** Why it failed. */
  readonly error?: string | null | undefined;
}

/** Whether the server took an ack: a lease that has passed is an answer, not an error. */
export interface AckResult {
  readonly index: number;
  readonly transactionId: string;
  readonly success: boolean;
  readonly error: string | null;
}

/** How a message is appended. */
export interface PushOptions extends CallOptions {
  /** `Default` where none is given. */
  readonly partition?: string | null | undefined;
  /** Names the transaction; minted where none is given. */
  readonly txn?: string | null | undefined;
}

/** A message that was appended. */
export interface Pushed {
  readonly messageId: string;
  readonly transactionId: string;
  readonly queue: string;
}

/** Options of a queue of the log; what is not given keeps the server's default. */
export interface LogQueueOptions extends CallOptions {
  /** Payloads are sealed at rest; a timer's when it is scheduled. */
  readonly encryptionEnabled?: boolean | null | undefined;
  /** How long frames are kept, in whole seconds. */
  readonly retention?: Duration | null | undefined;
  /** How long a pop's lease holds, in whole seconds. */
  readonly lease?: Duration | null | undefined;
  /** Failed acks before a message becomes a dead letter. */
  readonly retryLimit?: number | null | undefined;
}

/** The calls on the log. */
export interface Log {
  /** The frames that carry a transaction id, oldest first. */
  find(queue: string, txn: string, options?: SettleOptions | null): Promise<LogMessage[]>;
  /** Takes messages under a lease; null where there are none. */
  pop(queue: string, options?: PopOptions | null): Promise<Popped | null>;
  /** Settles a message that was popped. */
  ack(message: Pick<PoppedMessage, "transactionId" | "partitionId" | "leaseId" | "consumerGroup">, options?: AckOptions | null): Promise<AckResult>;
  /**
   * Appends one message, whose payload is anything that has a JSON form. Not repeated after a lost answer:
   * the log takes a transaction id twice.
   */
  push(queue: string, payload: unknown, options?: PushOptions | null): Promise<Pushed>;
  /** Sets a queue's options; it is made where it does not exist. */
  configure(queue: string, options?: LogQueueOptions | null): Promise<void>;
}

/** The server spells this answer as no other. */
interface WirePushed {
  message_id: string;
  transaction_id: string;
  queueName: string;
}

/** The calls on the log, made by `call`. */
export function logOf(call: Caller): Log {
  return {
    find: async (queue, txn, options) => {
      const given = joined(options, { queue, txn });
      convert(given, "since", instant);
      return (await call("log.find", given)) as LogMessage[];
    },
    pop: async (queue, options) => (await call("log.pop", joined(options, { queue }))) as Popped | null,
    ack: async (message, options) => {
      const { transactionId, partitionId, leaseId, consumerGroup } = message;
      const given = joined(options, { transactionId, partitionId, leaseId, consumerGroup });
      return (await call("log.ack", given)) as AckResult;
    },
    push: async (queue, payload, options) => {
      const { signal, payload: _, ...given } = joined(options, { queue, payload });
      const item = { ...given, jsonText: writeJson("payload", payload) };
      const [pushed] = (await call("log.push", { items: [item], signal })) as [WirePushed];
      return { messageId: pushed.message_id, transactionId: pushed.transaction_id, queue: pushed.queueName };
    },
    configure: async (queue, options) => void (await call("log.configure", joined(options, { queue }))),
  };
}
