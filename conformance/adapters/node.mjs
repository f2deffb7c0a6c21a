// The adapter of the Node package, as it is built.

import * as sdk from "../../sdk-node/dist/esm/index.js";

import { answering } from "./face.mjs";
import { serve } from "./lines.mjs";

await serve(answering(sdk));
