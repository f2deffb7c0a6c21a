/** Entry for Vercel's edge runtime, which compiles a module that is imported as one. */

import { initSync } from "../wasm/full/chronq.js";
import module from "../wasm/full/chronq_bg.wasm?module";
import { ofThisRealm } from "./realm.js";

initSync({ module: ofThisRealm(module) });

export * from "./index.js";
