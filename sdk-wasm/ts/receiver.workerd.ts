/** Entry for workerd, which compiles a module as it loads it. */

import { initSync } from "../wasm/receiver/chronq.js";
import module from "../wasm/receiver/chronq_bg.wasm";

initSync({ module });

export * from "./receiver.js";
