/** `@chronq/edge/receiver`: the receiver alone, in less than half the size. */

import { core } from "./core.receiver.js";
import { type Receiver as Verifier, receiverOn, type ReceiverConstructor } from "./shared/receiver.js";

export { ChronqError, InvalidInput, SignatureError } from "./shared/errors.js";
export { DIALECTS, SIGNATURE_ERROR_CODES, SIGNATURE_HEADER, URL_DIFFERENCES } from "./shared/contract.js";
export type { Dialect, KeyMatch, SignatureErrorCode, UrlDifference } from "./shared/contract.js";
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
} from "./shared/receiver.js";

/** Verifies signed deliveries. */
export type Receiver = Verifier;
/** Verifies signed deliveries. */
export const Receiver: ReceiverConstructor = receiverOn(core);
