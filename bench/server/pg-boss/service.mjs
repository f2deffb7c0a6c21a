// The contender: pg-boss behind a small publish route, delivering signed HTTP, at its best settings:
// batches fetched without a pause while they come back full, NOTIFY to wake, results settled per job.
import { createHash, createHmac, randomUUID } from "node:crypto";
import { Agent, createServer, request as httpRequest } from "node:http";
import { PgBoss } from "pg-boss";

const { DATABASE_URL, SIGNING_KEY } = process.env;
const QUEUE = "deliveries";
const encode = (text) => Buffer.from(text).toString("base64url");
const HEADER = encode('{"alg":"HS256","typ":"JWT"}');
const agent = new Agent({ keepAlive: true, maxSockets: 100, noDelay: true });

const boss = new PgBoss({ connectionString: DATABASE_URL, max: 10, useListenNotify: true, schema: "boss" });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE, { notify: true, retryLimit: 3 });

function sign(url, body) {
  const now = Math.floor(Date.now() / 1000);
  const hash = createHash("sha256").update(body).digest("base64url");
  const claims = { iss: "chronq", sub: url, iat: now, nbf: now - 5, exp: now + 300, jti: `jwt_${randomUUID()}`, body: hash };
  const signed = `${HEADER}.${encode(JSON.stringify(claims))}`;
  return `${signed}.${createHmac("sha256", SIGNING_KEY).update(signed).digest("base64url")}`;
}

function deliver({ id, data: { url, body, contentType } }) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": contentType, "chronq-signature": sign(url, body), "chronq-message-id": id };
    const outgoing = httpRequest(url, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("end", () => (response.statusCode < 300 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

await boss.work(
  QUEUE,
  { batchSize: 100, localConcurrency: 4, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, perJobResults: true },
  async (jobs) =>
    Promise.all(
      jobs.map((job) =>
        deliver(job).then(
          () => ({ id: job.id, status: "completed" }),
          (error) => ({ id: job.id, status: "failed", output: { message: error.message } }),
        ),
      ),
    ),
);

const read = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const server = createServer(async (request, response) => {
  try {
    const body = await read(request);
    const contentType = request.headers["content-type"];
    if (request.url === "/v2/batch") {
      const entries = JSON.parse(body).map((entry) => ({ data: { url: entry.destination, body: entry.body, contentType } }));
      await boss.insert(QUEUE, entries);
      response.end("[]");
    } else {
      const url = request.url.slice("/v2/publish/".length);
      const id = await boss.send(QUEUE, { url, body, contentType });
      response.end(JSON.stringify({ messageId: id, queue: QUEUE }));
    }
  } catch (error) {
    response.statusCode = 500;
    response.end(String(error));
  }
});
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({ event: "ready", url, token: "unused" }));
});

process.stdin.resume();
process.stdin.on("end", async () => {
  await boss.stop({ graceful: false });
  process.exit(0);
});
