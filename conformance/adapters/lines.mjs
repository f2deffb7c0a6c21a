// The protocol of the suite on stdin and stdout: one line of JSON for one line of JSON, in order.

import process from "node:process";
import { createInterface } from "node:readline";

/** Answers every line until stdin closes. */
export async function serve(answer) {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
  }
}
