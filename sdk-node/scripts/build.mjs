// Compiles ts/ twice: ECMAScript modules with their types, and CommonJS with its own.

import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = join(root, "node_modules/typescript/bin/tsc");

function compile(...options) {
  execFileSync(process.execPath, [tsc, "-p", join(root, "tsconfig.json"), ...options], { stdio: "inherit" });
}

rmSync(join(root, "dist"), { recursive: true, force: true });
compile();
compile("--module", "commonjs", "--moduleResolution", "bundler", "--outDir", join(root, "dist/cjs"));
writeFileSync(join(root, "dist/cjs/package.json"), '{ "type": "commonjs" }\n');
// Both import it as "../native.cjs", as the sources do.
for (const file of ["native.cjs", "native.d.cts"]) cpSync(join(root, file), join(root, "dist", file));
