// Runs workerd as a child that never outlives this process, however this one ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

// Its standard input closes with this process, killed or not; then it ends workerd and clears up. It has a
// session of its own, so that an interrupt at the terminal does not end it first.
const GUARD = `
"$1" serve --control-fd=3 "$2/config.capnp" </dev/null &
child=$!
exec 3>&-
cat >/dev/null
kill -KILL "$child"
wait "$child" 2>/dev/null
rm -rf "$2"
`;

/** Serves the configuration in a folder, which is removed in the end; says on which port it listens. */
export async function serveFolder(program, folder) {
  const stdio = ["pipe", "inherit", "inherit", "pipe"];
  const guard = spawn("sh", ["-c", GUARD, "workerd-guard", program, folder], { stdio, detached: true });
  const stop = async () => {
    guard.stdin.end();
    if (guard.exitCode === null && guard.signalCode === null) await once(guard, "exit");
  };
  for await (const line of createInterface({ input: guard.stdio[3] })) {
    const event = JSON.parse(line);
    if (event.event === "listen") return { port: event.port, stop };
  }
  await stop();
  throw new Error("workerd ended before it listened");
}
