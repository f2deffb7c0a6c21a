// The package in workerd, the runtime of Workers: the example as it would be deployed.

import { test } from "node:test";

import { EXAMPLE, exercise } from "./example-worker.mjs";
import { startWorker } from "./workerd.mjs";

test("the example worker verifies, publishes and refuses in workerd", (t) => exercise(t, (env) => startWorker(EXAMPLE, env)));
