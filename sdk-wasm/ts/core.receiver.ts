/** The receiver's core, once an entry has initialised it. */

import { CoreReceiver, signatureHeaders } from "../wasm/receiver/chronq.js";

import type { ReceiverCore } from "./shared/core.js";
import { PLATFORM_DIGEST_FROM } from "./digest.js";

export const core: ReceiverCore = { CoreReceiver, signatureHeaders, platformDigestFrom: PLATFORM_DIGEST_FROM };
