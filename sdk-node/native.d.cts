// The native core, as `src/` declares it. Private: users import the package.

declare namespace native {
  class CoreReceiver {
    constructor(current: string | null, next: string | null, dialect: string | null, clockTolerance: number | null);
    verifyBytes(signature: string, body: Uint8Array, url: string | null, now: number): string;
    verify(
      shape: number,
      signature: string,
      body: Uint8Array,
      fault: string | null,
      url: string | null,
      now: number,
      tolerance: number | null,
    ): string;
    verifyHeaders(
      headers: string[],
      shapes: Uint8Array,
      body: Uint8Array,
      fault: string | null,
      url: string | null,
      now: number,
      tolerance: number | null,
    ): string;
  }
  class CoreClient {
    constructor(options: string);
    timeout(): number;
    call(name: string, options: string, seed: Uint8Array, now: number): CoreSession;
  }
  class CoreSession {
    next(): string;
    respond(status: number, headers: string[], body: Uint8Array, now: number, jitter: number): void;
    fail(message: string, mayHaveBeenSent: boolean, jitter: number): void;
  }
  function signatureHeaders(): string[];
}

export = native;
