import * as edge from "@chronq/edge";

import { startServer } from "../../sdk-node/dist/esm/testing.js";
import { lostAnswersSuite } from "../../sdk-node/test/suites/lost-answers.mjs";

lostAnswersSuite(edge, startServer);
