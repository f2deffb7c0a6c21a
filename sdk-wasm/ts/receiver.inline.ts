/** Entry for Node, Deno, Bun and whatever else: the module stands in a source file, so that no bundler loses it. */

import { initSync } from "../wasm/receiver/chronq.js";
import { bytes } from "../wasm/receiver/inline.js";

initSync({ module: bytes });

export * from "./receiver.js";
