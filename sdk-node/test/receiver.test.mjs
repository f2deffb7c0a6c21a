import * as sdk from "@chronq/sdk";

import { receiverSuite } from "./suites/receiver.mjs";

receiverSuite(sdk);
