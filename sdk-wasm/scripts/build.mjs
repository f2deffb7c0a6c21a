// Compiles ts/, and writes each WebAssembly module (`cargo xtask wasm` made them) into a source file
// too, for runtimes and bundlers that cannot import one.

import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

for (const name of ["full", "receiver"]) {
  const folder = join(root, "wasm", name);
  const text = readFileSync(join(folder, "chronq_bg.wasm")).toString("base64");
  const code = `export const bytes = Uint8Array.from(atob("${text}"), (letter) => letter.charCodeAt(0));\n`;
  writeFileSync(join(folder, "inline.js"), code);
  writeFileSync(join(folder, "inline.d.ts"), "export declare const bytes: Uint8Array<ArrayBuffer>;\n");
}

// npm packs what stands below the manifest.
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) cpSync(join(root, "..", name), join(root, name));

rmSync(join(root, "dist"), { recursive: true, force: true });
const tsc = join(root, "node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.json")], { stdio: "inherit" });
