/** Where WebCrypto's SHA-256 overtakes that of WebAssembly, which has no instructions for it. */

/** Measured by `bench/digest.mjs`: below, the asynchronous call costs more than it saves. */
export const PLATFORM_DIGEST_FROM = 16_384;
