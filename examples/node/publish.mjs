// Publish one message, and wait until it was delivered.
//
// Wants CHRONQ_URL and CHRONQ_TOKEN; the destination is the one argument.

import { setTimeout as sleep } from "node:timers/promises";

import { Chronq } from "@chronq/sdk";

const client = new Chronq();
const published = await client.publish(process.argv[2], { json: { orderId: 42 }, retries: 5, retryDelay: "30s" });
console.log("published", published.messageId, "into", published.queue);

let message;
while ((message = await client.messages.get(published.messageId)).state !== "completed") await sleep(100);
console.log("delivered after", message.retried, "retries");
