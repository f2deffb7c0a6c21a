import * as sdk from "@chronq/sdk";
import { startServer } from "@chronq/sdk/testing";

import { errorSuite } from "./suites/errors.mjs";

errorSuite(sdk, startServer);
