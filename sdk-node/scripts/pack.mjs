// Packs what users install: the package itself, and the one that holds the native core of this
// platform, of which the first depends optionally. `node scripts/pack.mjs FOLDER` prints both names.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Every platform that has a package of its own; each is built on such a machine. */
export const PLATFORMS = ["linux-x64-gnu", "linux-arm64-gnu", "linux-x64-musl", "linux-arm64-musl", "darwin-arm64", "darwin-x64"];

function ownPlatform() {
  if (process.platform !== "linux") return `${process.platform}-${process.arch}`;
  return `linux-${process.arch}-${process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl"}`;
}

function pack(folder, into) {
  const out = execFileSync("npm", ["pack", "--json", "--pack-destination", into], { cwd: folder, encoding: "utf8" });
  const packed = JSON.parse(out);
  return join(into, (Array.isArray(packed) ? packed[0] : Object.values(packed)[0]).filename);
}

function addLicences(folder) {
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) cpSync(join(root, "..", name), join(folder, name));
}

/** Packs both into a folder, and answers with the paths of the tarballs. */
export function packAll(into) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { version, license, repository, engines } = manifest;
  const staging = mkdtempSync(join(tmpdir(), "chronq-pack-"));
  try {
    const main = join(staging, "main");
    const { devDependencies: _, scripts: __, ...published } = manifest;
    published.optionalDependencies = Object.fromEntries(PLATFORMS.map((platform) => [`@chronq/sdk-${platform}`, version]));
    mkdirSync(main);
    writeFileSync(join(main, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
    cpSync(join(root, "dist"), join(main, "dist"), { recursive: true });
    cpSync(join(root, "README.md"), join(main, "README.md"));
    addLicences(main);

    const platform = ownPlatform();
    const [os, cpu, libc] = platform.split("-");
    const native = join(staging, "native");
    mkdirSync(native);
    const about = {
      name: `@chronq/sdk-${platform}`,
      version,
      description: `The native core of @chronq/sdk for ${platform}`,
      license,
      repository,
      engines,
      os: [os],
      cpu: [cpu],
      ...(libc ? { libc: [libc === "gnu" ? "glibc" : libc] } : {}),
      main: "chronq.node",
      files: ["chronq.node", "LICENSE-*"],
    };
    writeFileSync(join(native, "package.json"), `${JSON.stringify(about, null, 2)}\n`);
    cpSync(join(root, "chronq.node"), join(native, "chronq.node"));
    addLicences(native);
    return { main: pack(main, into), native: pack(native, into) };
  } finally {
    rmSync(staging, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const into = resolve(process.argv[2] ?? ".");
  mkdirSync(into, { recursive: true });
  console.log(Object.values(packAll(into)).join("\n"));
}
