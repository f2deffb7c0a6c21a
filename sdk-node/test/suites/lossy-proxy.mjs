// Stands before a real server, and loses answers: what it dropped was committed.

import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Carries bytes both ways; after `lose()`, the next answer ends its connection instead. */
export async function lossyProxy(t, url) {
  const { port } = new URL(url);
  let losing = false;
  const proxy = { lost: 0, lose: () => (losing = true) };
  const open = new Set();
  const server = createServer((client) => {
    const upstream = connect(Number(port), "127.0.0.1");
    for (const [one, other] of [[client, upstream], [upstream, client]]) {
      open.add(one);
      one.on("error", () => {}).on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
    client.on("data", (data) => upstream.write(data));
    upstream.on("data", (data) => {
      if (!losing) return client.write(data);
      // The answer has begun, so what was asked is committed.
      losing = false;
      proxy.lost += 1;
      return client.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return Object.assign(proxy, { url: `http://127.0.0.1:${server.address().port}` });
}
