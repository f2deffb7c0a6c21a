/** Where WebCrypto's SHA-256 overtakes that of WebAssembly, which has no instructions for it. */

/**
 * Measured by `cargo xtask bench verify-edge`: the asynchronous call costs 25 to 45 µs, as much as hashing
 * 4 KiB (workerd) to 8 KiB (Node) in WebAssembly.
 */
export const PLATFORM_DIGEST_FROM = 8_192;
