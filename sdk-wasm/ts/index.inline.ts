/** Entry for Node, Deno, Bun and whatever else: the module stands in a source file, so that no bundler loses it. */

import { initSync } from "../wasm/full/chronq.js";
import { bytes } from "../wasm/full/inline.js";

initSync({ module: bytes });

export * from "./index.js";
