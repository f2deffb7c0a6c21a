/** Entry for Vercel's edge runtime, which compiles a module that is imported as one. */

import { initSync } from "../wasm/receiver/chronq.js";
import module from "../wasm/receiver/chronq_bg.wasm?module";
import { ofThisRealm } from "./realm.js";

initSync({ module: ofThisRealm(module) });

export * from "./receiver.js";
