/** `@chronq/sdk`: the client and the receiver, on the native core. */

import native from "../native.cjs";

import { type Chronq as Client, clientOn, type ChronqConstructor } from "./shared/client.js";
import { type Receiver as Verifier, receiverOn, type ReceiverConstructor } from "./shared/receiver.js";

export * from "./shared/surface.js";

/** A client of the server. */
export type Chronq = Client;
/** A client of the server. */
export const Chronq: ChronqConstructor = clientOn(native);

/** Verifies signed deliveries. */
export type Receiver = Verifier;
/** Verifies signed deliveries. */
export const Receiver: ReceiverConstructor = receiverOn({ ...native, platformDigestFrom: null });
