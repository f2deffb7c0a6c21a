// A server that answers as it is told, over a real socket.

import { once } from "node:events";
import { createServer } from "node:http";

/**
 * Starts a server; `answer(request, index)` gives `{ status, headers, body }`, or "drop" to cut the
 * connection after the request was read. Requests are recorded.
 */
export async function fakeServer(t, answer) {
  const requests = [];
  const server = createServer(async (incoming, response) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method, url: target, headers } = incoming;
    const request = { method, target, headers, body: Buffer.concat(chunks).toString() };
    requests.push(request);
    const told = answer(request, requests.length - 1);
    if (told === "drop") return incoming.socket.destroy();
    if (told === "hang") return undefined;
    const body = typeof told.body === "string" ? told.body : JSON.stringify(told.body ?? {});
    return response.writeHead(told.status ?? 200, { "content-type": "application/json", ...told.headers }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}
