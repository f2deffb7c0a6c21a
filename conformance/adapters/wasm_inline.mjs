// The adapter of the edge package where its WebAssembly stands in a source file: in Node, deno and bun.

import * as sdk from "../../sdk-wasm/dist/index.inline.js";

import { answering } from "./face.mjs";
import { serve } from "./lines.mjs";

await serve(answering(sdk, { isEdge: true }));
