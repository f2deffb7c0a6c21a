// Puts a handler of web requests behind a real socket.

import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";

/** Serves `handle`, and answers with the origin. */
export async function listenWeb(t, handle) {
  const server = createServer(async (incoming, outgoing) => {
    const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method,
      headers: incoming.headers,
      body: hasBody ? Readable.toWeb(incoming) : null,
      duplex: "half",
    });
    const response = await handle(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}
