/** Reads the body of a Node request, to a limit. */

import type { Readable } from "node:stream";

/** The bytes of a stream; null where there are more than `limit`. */
export async function readAll(stream: Readable, limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > limit) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, size);
}

/** Largest body that an adapter reads where its options say nothing: a publish holds 1 MiB, a callback a little more. */
export const DEFAULT_LIMIT = 4 * 1_048_576;
