/** Entry for browsers, which compile a module while they fetch it. */

import init from "../wasm/receiver/chronq.js";

await init({ module_or_path: new URL("../wasm/receiver/chronq_bg.wasm", import.meta.url) });

export * from "./receiver.js";
