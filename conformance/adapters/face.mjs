// What the JavaScript adapters share: the questions of the suite, put to a package's public face.

/** Answers one question; `sdk` is what `import * as sdk from "@chronq/sdk"` gives, `isEdge` that of `@chronq/edge`. */
export function answering(sdk, { isEdge = false } = {}) {
  return async ({ id, op, input }) => {
    try {
      if (op === "verify") return { id, ok: plain(await verify(sdk, input, isEdge)) };
      if (op === "call") return { id, ok: plain(await call(sdk, input)) };
      return { id, unsupported: `no op ${op}` };
    } catch (error) {
      return { id, error: describe(sdk, error) };
    }
  };
}

async function verify(sdk, input, isEdge) {
  const receiver = new sdk.Receiver(input.receiver);
  const rest = given({ url: input.url, now: input.now, clockToleranceSeconds: input.clockToleranceSeconds });
  const body = bodyOf(input.body);
  if (input.headers) {
    const asynchronous = await receiver.verifyHeaders({ headers: input.headers, body, ...rest });
    // Public keys are verified by the platform there, which answers later.
    if (isEdge && hasPublicKey(input.receiver)) return asynchronous;
    return agreed(asynchronous, receiver.verifyHeadersSync({ headers: input.headers, body, ...rest }));
  }
  const signature = input.signature?.value ?? input.signature;
  const asynchronous = await receiver.verify({ signature, body, ...rest });
  return agreed(asynchronous, receiver.verifySync({ signature, body, ...rest }));
}

function hasPublicKey({ currentSigningKey, nextSigningKey }) {
  return [currentSigningKey, nextSigningKey].some((key) => key?.startsWith("whpk_"));
}

/** The two ways to ask must agree. */
function agreed(asynchronous, synchronous) {
  const [one, other] = [JSON.stringify(asynchronous), JSON.stringify(synchronous)];
  if (one !== other) throw new Error(`verify answered ${one}, verifySync ${other}`);
  return asynchronous;
}

function bodyOf(body) {
  if (body.utf8 !== undefined) return body.utf8;
  if (body.base64 !== undefined) return fromBase64(body.base64);
  if (body.loneSurrogate) return "\ud800";
  return body.notRaw;
}

async function call(sdk, input) {
  const client = new sdk.Chronq(
    given({ url: input.url, token: input.token, timeout: input.timeout, retry: input.retry, userAgent: input.userAgent }),
  );
  const options = prepared(input.options ?? {});
  const make = CALLS[input.call];
  if (!make) throw new Error(`no call ${input.call}`);
  return make(client, options);
}

/** Each call, from options by name to the arguments of its method. */
const CALLS = {
  publish: (client, { destination, ...rest }) => client.publish(destination, rest),
  publish_to_group: (client, { group, ...rest }) => client.publishToGroup(group, rest),
  batch: (client, { entries }) => client.batch(entries),
  "messages.get": (client, { id }) => client.messages.get(id),
  "messages.cancel": (client, { id }) => client.messages.cancel(id),
  "messages.retry": (client, { id }) => client.messages.retry(id),
  "messages.events": (client, filter) => client.messages.events(filter),
  "groups.list": (client) => client.groups.list(),
  "groups.get": (client, { name }) => client.groups.get(name),
  "groups.add_endpoints": (client, { name, urls }) => client.groups.addEndpoints(name, urls),
  "groups.remove_endpoints": (client, { name, urls }) => client.groups.removeEndpoints(name, urls),
  "groups.delete": (client, { name }) => client.groups.delete(name),
  "queues.put": (client, { name, ...settings }) => client.queues.put(name, settings),
  "queues.list": (client) => client.queues.list(),
  "queues.get": (client, { name }) => client.queues.get(name),
  "queues.delete": (client, { name }) => client.queues.delete(name),
  "schedules.put": (client, schedule) => client.schedules.put(schedule),
  "schedules.list": (client) => client.schedules.list(),
  "schedules.get": (client, { name }) => client.schedules.get(name),
  "schedules.delete": (client, { name }) => client.schedules.delete(name),
  "schedules.run": (client, { name }) => client.schedules.run(name),
  "timers.schedule": (client, { queue, key, ...rest }) => client.timers.schedule(queue, key, rest),
  "timers.reschedule": (client, { queue, key, ...rest }) => client.timers.reschedule(queue, key, rest),
  "timers.cancel": (client, { queue, key, ...rest }) => client.timers.cancel(queue, key, rest),
  "timers.peek": (client, { queue, key }) => client.timers.peek(queue, key),
  "timers.list": async (client, { queue, ...rest }) => {
    const rows = [];
    for await (const row of client.timers.list(queue, rest)) rows.push(row);
    return { rows };
  },
  "timers.batch": (client, { operations, ...rest }) =>
    client.timers.batch(operations.map(({ key, ...operation }) => ({ ...operation, timerKey: key })), rest),
  // A cancel that answers absent, and what became of the timer.
  "timers.settle": async (client, { queue, key, txn, since }) => {
    const absent = await client.timers.cancel(queue, key, { txn });
    return absent.status === "absent" ? absent.settle(given({ since })) : absent;
  },
  "log.find": (client, { queue, txn, ...rest }) => client.log.find(queue, txn, rest),
  "log.pop": (client, { queue, ...rest }) => client.log.pop(queue, rest),
  "log.push": (client, { queue, payload, ...rest }) => client.log.push(queue, payload, rest),
  "log.configure": (client, { queue, ...rest }) => client.log.configure(queue, rest),
  // Takes a message and settles it.
  "log.ack": async (client, { queue, status, error, ...rest }) => {
    const popped = await client.log.pop(queue, rest);
    return client.log.ack(popped.messages[0], given({ status, error }));
  },
};

/** Bytes and JSON as the language has them. */
function prepared(options) {
  const made = { ...options };
  for (const name of ["body", "payload"]) {
    if (made[`${name}Base64`] !== undefined) {
      made[name] = fromBase64(made[`${name}Base64`]);
      delete made[`${name}Base64`];
    }
  }
  if (made.entries) made.entries = made.entries.map(prepared);
  if (made.operations) made.operations = made.operations.map(prepared);
  return made;
}

/** Without what is not given. */
function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** The answer as JSON; undefined is null there, bytes are base64. */
function plain(value) {
  const text = JSON.stringify(value, (_, member) =>
    member instanceof Uint8Array ? btoa(String.fromCharCode(...member)) : member,
  );
  return text === undefined ? null : JSON.parse(text);
}

function describe(sdk, error) {
  if (!(error instanceof sdk.ChronqError)) {
    return { kind: `not a ChronqError: ${error?.name}`, message: String(error?.stack ?? error) };
  }
  return { kind: error.name, message: error.message, ...error };
}

function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
