import * as edge from "@chronq/edge";

import { clientSuite } from "../../sdk-node/test/suites/client.mjs";

clientSuite(edge);
