/** Entry for workerd, which compiles a module as it loads it. */

import { initSync } from "../wasm/full/chronq.js";
import module from "../wasm/full/chronq_bg.wasm";

initSync({ module });

export * from "./index.js";
