/** What both packages export beside the two classes that stand on a core. */

export * from "./errors.js";
export * from "./contract.js";
export type * from "./types.js";
export type {
  AckOptions,
  AckResult,
  Log,
  LogMessage,
  LogQueueOptions,
  PopOptions,
  Popped,
  PoppedMessage,
  Pushed,
  PushOptions,
} from "./log.js";
export type {
  Absent,
  CancelResult,
  Cancelled,
  PeekedTimer,
  Rescheduled,
  ScheduleResult,
  Scheduled,
  SettleOptions,
  Settled,
  TimerBatchOptions,
  TimerListOptions,
  TimerOperation,
  TimerOptions,
  TimerResult,
  TimerRow,
  Timers,
  TooLate,
} from "./timers.js";
export type { Bytes, CallOptions, Duration, HeaderOptions } from "./options.js";
export type { Fetch } from "./driver.js";
export type {
  ChronqConstructor,
  ChronqOptions,
  Groups,
  Messages,
  Queues,
  RetryPolicy,
  Schedules,
} from "./client.js";
export type {
  Claims,
  Delivery,
  DeliveryByHeaders,
  RawBody,
  ReceiverConstructor,
  ReceiverOptions,
  RequestHeaders,
  VerifiedRequest,
  VerifyOptions,
} from "./receiver.js";
