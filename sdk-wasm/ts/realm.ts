/** Modules that a platform compiled outside the realm in which they are used. */

/**
 * The module, as one of this realm: Next.js and Vercel's local runtime hand over one of another, which the glue
 * would take for bytes because `instanceof` does not know it.
 */
export function ofThisRealm(module: WebAssembly.Module): WebAssembly.Module {
  if (!(module instanceof WebAssembly.Module)) Object.setPrototypeOf(module, WebAssembly.Module.prototype);
  return module;
}
