//! Documents show what runs: snippets are files, links lead somewhere, the quickstart does what it says.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::Ran;
use crate::command::{During, Failure, Run};
use crate::context::Context;
use crate::readme;
use crate::workspace;

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    let faults = readme::faults()?;
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    quickstart(context)?;
    Ok(Ran::Passed)
}

/// Runs `examples/quickstart.sh` against a server of its own and looks for the delivery in what it prints.
fn quickstart(context: &Context) -> Result<(), Failure> {
    let mut server = Server::start(context)?;
    let url = server.url()?;
    let printed =
        Run::new("sh").arg(workspace::at("examples/quickstart.sh")).env("CHRONQ_URL", &url).output()?;
    for wanted in ["\"messageId\"", "\"queue\":\"default\"", "{\\\"orderId\\\":42}", "chronq-signature"] {
        if !printed.contains(wanted) {
            return Err(Failure::new(format!("examples/quickstart.sh printed no {wanted}:\n{printed}")));
        }
    }
    Ok(())
}

/// A development server that ends with its stdin, and so with us.
struct Server(Child);

impl Server {
    fn start(context: &Context) -> Result<Self, Failure> {
        let program = context.server()?;
        let mut command =
            Run::new(program).args(["dev", "--listen", "127.0.0.1:0", "--exit-with-parent"]).into_command();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        child.map(Self).during("chronq dev")
    }

    /// The URL in the ready line.
    fn url(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        let stdout = self.0.stdout.as_mut().ok_or_else(|| Failure::new("chronq dev has no stdout"))?;
        BufReader::new(stdout).read_line(&mut line).during("the ready line of chronq dev")?;
        let after = line.split_once("\"url\":\"").map(|(_, rest)| rest);
        let url = after.and_then(|rest| rest.split('"').next());
        url.map(str::to_owned).ok_or_else(|| Failure::new(format!("the ready line has no url: {line}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends by itself; waiting only collects it.
        let _ = self.0.wait();
    }
}
