/** `@chronq/edge`: the client and the receiver, on the WebAssembly core. */

import { core } from "./core.full.js";
import { type Chronq as Client, clientOn, type ChronqConstructor } from "./shared/client.js";
import { type Receiver as Verifier, receiverOn, type ReceiverConstructor } from "./shared/receiver.js";

export * from "./shared/surface.js";

/** A client of the server. */
export type Chronq = Client;
/** A client of the server. */
export const Chronq: ChronqConstructor = clientOn(core);

/** Verifies signed deliveries. */
export type Receiver = Verifier;
/** Verifies signed deliveries. */
export const Receiver: ReceiverConstructor = receiverOn(core);
