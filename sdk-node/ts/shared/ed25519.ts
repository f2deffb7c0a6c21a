/** Ed25519 by the platform: answers to what the WebAssembly core asks, which has no curve arithmetic of its own. */

import { invalidInput } from "./errors.js";

const KEY_BYTES = 32;
const QUESTION_BYTES = 96;

/**
 * One answer for each question (32 bytes of public key, 64 of signature): 1 for a valid signature of prefix and body.
 * The core asks about nothing that platforms judge differently.
 */
export async function answersOf(questions: Uint8Array, prefix: string, body: Uint8Array, option: string): Promise<Uint8Array> {
  const answers = new Uint8Array(questions.length / QUESTION_BYTES);
  if (answers.length === 0) return answers;
  const head = new TextEncoder().encode(prefix);
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  for (const at of answers.keys()) {
    const question = questions.slice(at * QUESTION_BYTES, (at + 1) * QUESTION_BYTES);
    answers[at] = (await isSigned(question, message, option)) ? 1 : 0;
  }
  return answers;
}

async function isSigned(question: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>, option: string): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey("raw", question.subarray(0, KEY_BYTES), { name: "Ed25519" }, false, ["verify"]);
    // Nothing but true is a yes, whatever a runtime answers.
    const answer: unknown = await crypto.subtle.verify({ name: "Ed25519" }, key, question.subarray(KEY_BYTES), message);
    return answer === true;
  } catch {
    throw invalidInput(
      option,
      `${option} is a public key (whpk_), and this runtime's WebCrypto cannot verify Ed25519: use a newer runtime, or a secret (whsec_)`,
    );
  }
}
