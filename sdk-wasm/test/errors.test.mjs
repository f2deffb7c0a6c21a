import * as edge from "@chronq/edge";

import { startServer } from "../../sdk-node/dist/esm/testing.js";
import { errorSuite } from "../../sdk-node/test/suites/errors.mjs";

errorSuite(edge, startServer);
