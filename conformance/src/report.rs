//! The table requirement × column, for the terminal, as Markdown and as `JUnit`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::fault::Fault;
use crate::matching::show;
use crate::outcome::{Outcome, Verdict};

/// All results of a run.
pub(crate) struct Report {
    outcomes: Vec<Outcome>,
    columns: Vec<String>,
}

/// One cell of the table.
#[derive(Clone, Copy, Default)]
struct Cell {
    passed: usize,
    exempt: usize,
    not_run: usize,
    failed: usize,
}

impl Cell {
    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Exempt(_) => self.exempt += 1,
            Verdict::NotRun(_) => self.not_run += 1,
            Verdict::Failed(_) => self.failed += 1,
        }
    }

    const fn is_asked(self) -> bool {
        self.passed + self.exempt + self.not_run + self.failed > 0
    }

    /// `12`, `11 +1e` (exempt), `11 +1-` (not run), `11 !1` (failed); a dot where nothing is asked.
    fn show(self) -> String {
        if !self.is_asked() {
            return "·".to_owned();
        }
        let mut text = self.passed.to_string();
        for (count, sign) in [(self.exempt, "e"), (self.not_run, "-")] {
            if count > 0 {
                let _ = write!(text, " +{count}{sign}");
            }
        }
        if self.failed > 0 {
            let _ = write!(text, " !{}", self.failed);
        }
        text
    }
}

impl Report {
    /// Columns keep the order in which they first appear.
    pub(crate) fn new(outcomes: Vec<Outcome>) -> Self {
        let mut columns: Vec<String> = Vec::new();
        for outcome in &outcomes {
            if !columns.contains(&outcome.column) {
                columns.push(outcome.column.clone());
            }
        }
        Self { outcomes, columns }
    }

    pub(crate) fn failed(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Failed(_)))
    }

    fn count(&self, which: impl Fn(&Verdict) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| which(&outcome.verdict)).count()
    }

    fn rows(&self) -> Vec<(&str, Vec<Cell>)> {
        let mut rows: BTreeMap<&str, Vec<Cell>> = BTreeMap::new();
        for outcome in &self.outcomes {
            let cells =
                rows.entry(&outcome.requirement).or_insert_with(|| vec![Cell::default(); self.columns.len()]);
            if let Some(index) = self.columns.iter().position(|column| *column == outcome.column) {
                cells[index].count(&outcome.verdict);
            }
        }
        rows.into_iter().collect()
    }

    /// Every failure in full: input, wanted, got, requirement.
    pub(crate) fn failures(&self) -> String {
        let mut text = String::new();
        for outcome in &self.outcomes {
            if let Verdict::Failed(failure) = &outcome.verdict {
                let _ = writeln!(text, "\nFAILED {} [{}]", outcome.id, outcome.column);
                let _ = writeln!(text, "  contract  {}", outcome.requirement);
                let _ = writeln!(text, "  because   {}", failure.comment);
                if !failure.input.is_null() {
                    let _ = writeln!(text, "  input     {}", show(&failure.input));
                    let _ = writeln!(text, "  wanted    {}", show(&failure.wanted));
                    let _ = writeln!(text, "  got       {}", show(&failure.got));
                }
                for difference in &failure.differences {
                    let _ = writeln!(text, "  differs   {difference}");
                }
            }
        }
        text
    }

    /// The table for the terminal: a block for the cases, and one for the scenarios on each target, whose
    /// columns would stand too far apart on one line.
    pub(crate) fn table(&self) -> String {
        let mut targets: Vec<&str> = Vec::new();
        for column in &self.columns {
            let target = target_of(column);
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets.iter().map(|target| self.block(target)).collect::<Vec<_>>().join("\n")
    }

    fn block(&self, target: &str) -> String {
        let columns: Vec<usize> =
            (0..self.columns.len()).filter(|index| target_of(&self.columns[*index]) == target).collect();
        let rows: Vec<_> = self
            .rows()
            .into_iter()
            .filter(|(_, cells)| columns.iter().any(|index| cells[*index].is_asked()))
            .collect();
        let title = if target.is_empty() { "cases".to_owned() } else { format!("scenarios on {target}") };
        let first = rows.iter().map(|(name, _)| name.chars().count()).chain([title.len()]).max().unwrap_or(0);
        let mut text = format!("{title:<first$}");
        for index in &columns {
            let column = self.columns[*index].split('@').next().unwrap_or_default();
            let _ = write!(text, "  {column:>12}");
        }
        text.push('\n');
        for (name, cells) in rows {
            let _ = write!(text, "{name:<first$}");
            for index in &columns {
                let _ = write!(text, "  {:>12}", cells[*index].show());
            }
            text.push('\n');
        }
        text
    }

    /// The reasons of what was exempted or not run.
    pub(crate) fn reasons(&self) -> String {
        let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for outcome in &self.outcomes {
            let key = match &outcome.verdict {
                Verdict::Exempt(reason) => ("exempt", reason.as_str()),
                Verdict::NotRun(reason) => ("not run", reason.as_str()),
                Verdict::Passed | Verdict::Failed(_) => continue,
            };
            *reasons.entry(key).or_default() += 1;
        }
        let mut text = String::new();
        for ((what, reason), count) in reasons {
            let _ = writeln!(text, "{what} ({count}): {reason}");
        }
        text
    }

    /// `N passed, N failed, N skipped`.
    pub(crate) fn closing_line(&self) -> String {
        let skipped = self.count(|verdict| matches!(verdict, Verdict::NotRun(_) | Verdict::Exempt(_)));
        let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        format!("{} passed, {} failed{skipped}", self.count(|v| matches!(v, Verdict::Passed)), self.failed())
    }

    /// Writes `conformance.md` and `junit.xml` into a folder.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Fault> {
        let write = |name: &str, text: String| {
            let path = dir.join(name);
            std::fs::write(&path, text).map_err(|error| Fault::at(&path, &error))
        };
        std::fs::create_dir_all(dir).map_err(|error| Fault::at(dir, &error))?;
        write("conformance.md", self.markdown())?;
        write("junit.xml", self.junit())
    }

    fn markdown(&self) -> String {
        let mut text = String::from("# Conformance\n\n| requirement |");
        for column in &self.columns {
            let _ = write!(text, " {column} |");
        }
        text.push_str("\n|---|");
        text.push_str(&"--:|".repeat(self.columns.len()));
        text.push('\n');
        for (name, cells) in self.rows() {
            let _ = write!(text, "| {name} |");
            for cell in cells {
                let _ = write!(text, " {} |", cell.show());
            }
            text.push('\n');
        }
        let _ = write!(text, "\n{}\n", self.closing_line());
        let reasons = self.reasons();
        if !reasons.is_empty() {
            let _ = write!(text, "\n```\n{reasons}```\n");
        }
        text
    }

    fn junit(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for column in &self.columns {
            let of_column = || self.outcomes.iter().filter(|outcome| outcome.column == *column);
            let failed = of_column().filter(|outcome| matches!(outcome.verdict, Verdict::Failed(_))).count();
            let name = escape(column);
            let _ = writeln!(
                text,
                "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\">",
                of_column().count()
            );
            for outcome in of_column() {
                let _ = write!(
                    text,
                    "    <testcase classname=\"{name}\" name=\"{}\" time=\"{:.3}\"",
                    escape(&outcome.id),
                    outcome.seconds
                );
                match &outcome.verdict {
                    Verdict::Passed => text.push_str("/>\n"),
                    Verdict::Exempt(reason) | Verdict::NotRun(reason) => {
                        let _ = writeln!(text, "><skipped message=\"{}\"/></testcase>", escape(reason));
                    }
                    Verdict::Failed(failure) => {
                        let _ = writeln!(
                            text,
                            "><failure message=\"{}\">{}</failure></testcase>",
                            escape(&failure.comment),
                            escape(&failure.differences.join("\n"))
                        );
                    }
                }
            }
            text.push_str("  </testsuite>\n");
        }
        text.push_str("</testsuites>\n");
        text
    }
}

/// `sqlite` in the column `rust@sqlite`; nothing where no server is judged.
fn target_of(column: &str) -> &str {
    column.split_once('@').map_or("", |(_, target)| target)
}

/// Text for XML 1.0, which has no spelling for control characters.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Failure;
    use serde_json::json;

    fn outcome(id: &str, column: &str, verdict: Verdict) -> Outcome {
        let requirement = "signature.md: Verification".to_owned();
        Outcome { id: id.to_owned(), requirement, column: column.to_owned(), verdict, seconds: 0.001 }
    }

    fn report() -> Report {
        let failure = Failure {
            comment: "alg must be HS256".to_owned(),
            input: json!({"signature": "<x>"}),
            wanted: json!({"error": {"code": "algorithm_not_allowed"}}),
            got: json!({"ok": {}}),
            differences: vec!["error: wanted {}, got nothing".to_owned()],
        };
        Report::new(vec![
            outcome("verify.valid", "rust", Verdict::Passed),
            outcome("verify.alg_none", "rust", Verdict::Failed(Box::new(failure))),
            outcome("verify.valid", "node", Verdict::Exempt("no reason".to_owned())),
        ])
    }

    #[test]
    fn the_table_counts_per_requirement_and_column() {
        let table = report().table();
        assert!(table.contains("signature.md: Verification          1 !1         0 +1e"), "{table}");
        assert_eq!(report().closing_line(), "1 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn scenarios_have_a_block_for_each_target() {
        let on = |column| outcome("delivery.three_attempts", column, Verdict::Passed);
        let table = Report::new(vec![on("rust"), on("rust@sqlite"), on("node@sqlite")]).table();
        let titles: Vec<_> = table.lines().filter(|line| !line.starts_with("signature.md")).collect();
        assert_eq!(
            titles,
            [
                "cases                               rust",
                "",
                "scenarios on sqlite                 rust          node"
            ]
        );
    }

    #[test]
    fn a_failure_tells_a_stranger_everything() {
        let text = report().failures();
        for part in [
            "verify.alg_none [rust]",
            "signature.md: Verification",
            "alg must be HS256",
            "<x>",
            "algorithm_not_allowed",
            "got nothing",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }

    #[test]
    fn junit_escapes_what_it_quotes() {
        assert!(
            report()
                .junit()
                .contains("<failure message=\"alg must be HS256\">error: wanted {}, got nothing</failure>")
        );
        assert_eq!(escape("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
    }
}
