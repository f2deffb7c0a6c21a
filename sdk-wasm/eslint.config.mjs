// The rules of both packages stand, with the linter itself, in sdk-node.

import { lint } from "../sdk-node/eslint.config.mjs";

export default lint(import.meta.dirname);
