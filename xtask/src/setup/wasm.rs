//! The edge package: the wasm target, wasm-bindgen, wasm-opt, and the size budget.

use std::path::{Path, PathBuf};

use crate::command::{During, Failure, Run};
use crate::setup::{debian, node};
use crate::workspace;

const TARGET: &str = "wasm32-unknown-unknown";

/// One wasm module of the package.
struct Module {
    /// Name of its folder below sdk-wasm/wasm.
    name: &'static str,
    /// How cargo is told what goes in.
    features: &'static [&'static str],
    /// What it may weigh compressed, glue included.
    budget_bytes: usize,
}

const MODULES: [Module; 2] = [
    Module { name: "full", features: &[], budget_bytes: 90 * 1_024 },
    Module {
        name: "receiver",
        features: &["--no-default-features", "--features", "receiver"],
        budget_bytes: 40 * 1_024,
    },
];

/// Builds all modules, prints their sizes and holds them to their budgets.
pub(crate) fn build() -> Result<(), Failure> {
    let toolchain = Toolchain::obtain()?;
    let package = workspace::at("sdk-wasm");
    node::install(&package)?;
    let mut over = Vec::new();
    for module in &MODULES {
        let size = build_module(&toolchain, &package, module)?;
        println!(
            "sdk-wasm {}: {:.1} KB gzip, budget {} KB",
            module.name,
            kilobytes(size),
            module.budget_bytes / 1_024
        );
        if size > module.budget_bytes {
            over.push(module.name);
        }
    }
    if over.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("over the size budget: {}", over.join(", "))))
}

fn build_module(toolchain: &Toolchain, package: &Path, module: &Module) -> Result<usize, Failure> {
    let compiled = toolchain.build(module.features)?;
    let out = package.join("wasm").join(module.name);
    Run::new(workspace::cargo())
        .args(["run", "--quiet", "--locked", "--package", "xtask-wasm", "--"])
        .arg(&compiled)
        .arg(&out)
        .run()?;
    let wasm = out.join("chronq_bg.wasm");
    Run::new(package.join("node_modules/.bin/wasm-opt"))
        .args([
            "--flatten",
            "--rereloop",
            "-Oz",
            "-Oz",
            "--strip-target-features",
            "--enable-bulk-memory",
            "--enable-nontrapping-float-to-int",
        ])
        .args(["--enable-sign-ext", "--enable-mutable-globals", "--enable-reference-types"])
        .args(["--enable-multivalue", "-o"])
        .arg(&wasm)
        .arg(&wasm)
        .run()?;
    minify(package, &out.join("chronq.js"))?;
    Ok(gzipped(&wasm)? + gzipped(&out.join("chronq.js"))?)
}

/// Takes comments, white space and long names out of the glue, in place; what it exports keeps its names.
fn minify(package: &Path, glue: &Path) -> Result<(), Failure> {
    Run::new(package.join("node_modules/.bin/esbuild"))
        .arg(glue)
        .args(["--minify", "--format=esm", "--log-level=warning", "--allow-overwrite"])
        .arg(format!("--outfile={}", glue.display()))
        .run()
}

/// Size as a CDN would send it. Node does it, so that xtask needs no compressor.
fn gzipped(file: &Path) -> Result<usize, Failure> {
    const SCRIPT: &str = "console.log(zlib.gzipSync(fs.readFileSync(process.argv[1]),{level:9}).length)";
    let printed = Run::new("node").args(["-e", SCRIPT]).arg(file).output()?;
    printed.trim().parse().map_err(|_| Failure::new(format!("node printed {printed:?} instead of a size")))
}

#[expect(clippy::cast_precision_loss, reason = "a size in kilobytes, for people")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1_024.0
}

/// What compiles to wasm here.
enum Toolchain {
    /// The toolchain at hand has the target.
    Own,
    /// Debian's compiler, with the sources of std, which it builds along.
    Debian,
}

impl Toolchain {
    fn obtain() -> Result<Self, Failure> {
        if target_is_installed()
            || Run::line("rustup target add").arg(TARGET).succeeds() && target_is_installed()
        {
            return Ok(Self::Own);
        }
        if !Path::new("/usr/bin/wasm-ld-19").exists() {
            eprintln!("rustup cannot add {TARGET}; installing Debian's");
            debian::install(&["rustc-web", "cargo-web", "rust-web-src", "lld-19"])?;
        }
        Ok(Self::Debian)
    }

    /// Compiles sdk-wasm and says where the module stands.
    fn build(&self, features: &[&str]) -> Result<PathBuf, Failure> {
        const ARGUMENTS: [&str; 7] =
            ["build", "--locked", "--package", "chronq-wasm", "--profile", "wasm", "--target"];
        let target_dir = workspace::target().join("wasm");
        let run = match self {
            Self::Own => Run::new(workspace::cargo()).args(ARGUMENTS).arg(TARGET),
            Self::Debian => Run::new("/usr/bin/cargo")
                .args(ARGUMENTS)
                .arg(TARGET)
                .args(["-Z", "build-std=std,panic_abort"])
                .env("RUSTC", "/usr/bin/rustc")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "/usr/bin/wasm-ld-19")
                .env("PATH", format!("/usr/bin:{}", std::env::var("PATH").unwrap_or_default())),
        };
        run.args(features).env("CARGO_TARGET_DIR", &target_dir).run()?;
        // Both modules compile to one path: kept apart before the next overwrites it.
        let compiled = target_dir.join(TARGET).join("wasm/chronq_wasm.wasm");
        let named = compiled.with_file_name("chronq.wasm");
        std::fs::copy(&compiled, &named).during(compiled.display())?;
        Ok(named)
    }
}

fn target_is_installed() -> bool {
    let Ok(root) = Run::new("rustc").args(["--print", "sysroot"]).output() else { return false };
    Path::new(root.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir()
}
