/** Entry for browsers, which compile a module while they fetch it. */

import init from "../wasm/full/chronq.js";

await init({ module_or_path: new URL("../wasm/full/chronq_bg.wasm", import.meta.url) });

export * from "./index.js";
