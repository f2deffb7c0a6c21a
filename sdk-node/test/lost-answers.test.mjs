import * as sdk from "@chronq/sdk";
import { startServer } from "@chronq/sdk/testing";

import { lostAnswersSuite } from "./suites/lost-answers.mjs";

lostAnswersSuite(sdk, startServer);
