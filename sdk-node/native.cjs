// Loads the native core: the one built in the package's folder, else the package of this platform.
"use strict";

const { existsSync } = require("node:fs");
const { dirname, join } = require("node:path");

/** The C library of this Linux: musl's has a package of its own. */
function libc() {
  if (process.platform !== "linux") return "";
  const report = process.report.getReport();
  return report.header.glibcVersionRuntime ? "-gnu" : "-musl";
}

function load() {
  const built = [__dirname, dirname(__dirname)].map((folder) => join(folder, "chronq.node")).find(existsSync);
  if (built !== undefined) return require(built);
  const name = `@chronq/sdk-${process.platform}-${process.arch}${libc()}`;
  try {
    return require(name);
  } catch (cause) {
    throw new Error(`@chronq/sdk has no native core here: install ${name}, which is an optional dependency`, { cause });
  }
}

module.exports = load();
