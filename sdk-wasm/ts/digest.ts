/** Where WebCrypto's SHA-256 overtakes that of WebAssembly, which has no instructions for it. */

/**
 * Measured by `cargo xtask bench verify-edge`: the asynchronous call costs as much as hashing 4 KiB (workerd) to
 * 8 or 12 KiB (Node) in WebAssembly; docs/performance.md has the figures.
 */
export const PLATFORM_DIGEST_FROM = 8_192;
