// The package in Vercel's edge runtime: the example, bundled as that platform does.

import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { EdgeRuntime, runServer } from "edge-runtime";
import { build } from "esbuild";

import { EXAMPLE, exercise } from "./example-worker.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** `x.wasm?module` becomes a global of the runtime: code there may not compile a module itself. */
function compiledModules(files) {
  return {
    name: "compiled-modules",
    setup(build) {
      build.onResolve({ filter: /\.wasm\?module$/ }, ({ path, resolveDir }) => ({
        path: fileURLToPath(new URL(path.replace("?module", ""), `file://${resolveDir}/`)),
        namespace: "compiled-modules",
      }));
      build.onLoad({ filter: /.*/, namespace: "compiled-modules" }, ({ path }) => {
        files.push(path);
        return { contents: `export default wasm_${files.length - 1};` };
      });
    },
  };
}

/** The example as if it stood in this package, which may import itself by name. */
const example = {
  name: "example",
  setup(build) {
    build.onResolve({ filter: /^example$/ }, () => ({ path: EXAMPLE, namespace: "example" }));
    build.onLoad({ filter: /.*/, namespace: "example" }, async () => ({ contents: await readFile(EXAMPLE, "utf8"), resolveDir: ROOT }));
  },
};

async function start(env) {
  const files = [];
  const contents = `import worker from "example";
addEventListener("fetch", (event) => event.respondWith(worker.fetch(event.request, ${JSON.stringify(env)})));`;
  const { outputFiles } = await build({
    stdin: { contents },
    bundle: true,
    write: false,
    format: "iife",
    conditions: ["edge-light"],
    plugins: [example, compiledModules(files)],
    logLevel: "error",
  });
  const modules = await Promise.all(files.map(async (file) => WebAssembly.compile(await readFile(file))));
  const extend = (context) => Object.assign(context, Object.fromEntries(modules.map((module, index) => [`wasm_${index}`, module])));
  const runtime = new EdgeRuntime({ extend });
  runtime.evaluate(outputFiles[0].text);
  const server = await runServer({ runtime, port: 0, host: "127.0.0.1" });
  return { origin: server.url.replace(/\/$/, ""), stop: () => server.close() };
}

test("the example worker verifies, publishes and refuses in Vercel's edge runtime", (t) => exercise(t, start));
