/** The whole core, once an entry has initialised it. */

import { CoreClient, CoreReceiver, signatureHeaders } from "../wasm/full/chronq.js";

import type { ClientCore, ReceiverCore } from "./shared/core.js";
import { PLATFORM_DIGEST_FROM } from "./digest.js";

export const core: ReceiverCore & ClientCore = {
  CoreClient,
  CoreReceiver,
  signatureHeaders,
  platformDigestFrom: PLATFORM_DIGEST_FROM,
};
