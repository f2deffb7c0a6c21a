/** What both packages export beside the two classes that stand on a core. */

export * from "./errors.js";
export {
  DIALECTS,
  ERROR_CODES,
  KEY_MATCHS,
  MESSAGE_STATES,
  METHODS,
  SIGNATURE_ERROR_CODES,
  TIMER_REASONS,
  TIMER_STATUSES,
  URL_DIFFERENCES,
  SIGNATURE_HEADER,
  MESSAGE_ID_HEADER,
  RETRIED_HEADER,
  DEAD_LETTER_OF_HEADER,
  NON_RETRYABLE_HEADER,
  NON_RETRYABLE_STATUS,
} from "./contract.js";
export type * from "./contract.js";
export type * from "./types.js";
export type * from "./log.js";
export type * from "./timers.js";
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
