//! Runs parts one after the other and prints what became of them.

use std::time::Instant;

use crate::command::Failure;
use crate::context::Context;
use crate::parts::{Part, Ran};

/// Runs all parts, also after a failure, and prints the table.
///
/// # Errors
/// Where any part failed.
pub(crate) fn run_all(parts: &[Part], context: &Context) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for part in parts {
        eprintln!("\n━━━ {} ━━━", part.name());
        let start = Instant::now();
        let outcome = part.run(context);
        if let Err(failure) = &outcome {
            eprintln!("{}: {failure}", part.name());
        }
        rows.push((*part, outcome, start.elapsed()));
    }
    eprintln!();
    let (mut passed, mut failed, mut not_run) = (0, 0, 0);
    for (part, outcome, time) in &rows {
        let said = match outcome {
            Ok(Ran::Passed) => {
                passed += 1;
                "passed".to_owned()
            }
            Ok(Ran::NotThere(what)) => {
                not_run += 1;
                format!("not run: {what}")
            }
            Err(failure) => {
                failed += 1;
                format!("FAILED: {}", failure.to_string().lines().next().unwrap_or_default())
            }
        };
        println!("{:<12} {:>6.1} s  {said}", part.name(), time.as_secs_f64());
    }
    let total: f64 = rows.iter().map(|(_, _, time)| time.as_secs_f64()).sum();
    println!("{:<12} {total:>6.1} s", "together");
    println!();
    // Said as "skipped" only where there is something to say, so that a full run reads as one.
    let skipped = if not_run > 0 { format!(", {not_run} skipped") } else { String::new() };
    println!("{passed} passed, {failed} failed{skipped}");
    if failed > 0 {
        return Err(Failure::new(format!("{failed} of {} parts failed", rows.len())));
    }
    Ok(())
}
