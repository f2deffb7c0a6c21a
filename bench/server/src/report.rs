//! What was measured, as a table of medians with their ratios, and the machine it was measured on.

use std::collections::BTreeMap;

use sqlx::{Connection, PgConnection};

use crate::Outcome;

/// Figures by contender and measure, one per round.
#[derive(Debug, Default)]
pub(crate) struct Table {
    order: Vec<(&'static str, &'static str)>,
    figures: BTreeMap<(&'static str, &'static str), Vec<f64>>,
}

impl Table {
    pub(crate) fn add(&mut self, contender: &'static str, measure: &'static str, figure: f64) {
        let key = (contender, measure);
        if !self.order.contains(&key) {
            self.order.push(key);
        }
        self.figures.entry(key).or_default().push(figure);
        eprintln!("  {contender}: {measure} {figure:.1}");
    }

    fn median(&self, contender: &'static str, measure: &'static str) -> Option<f64> {
        median(self.figures.get(&(contender, measure))?.clone())
    }

    pub(crate) fn print(&self, rounds: usize) {
        const BOSS: &str = "pg-boss 12 on Postgres";
        const CEILING: &str = "ceiling: bare signed hyper";
        println!("\nmedians of {rounds} interleaved rounds; messages a second unless said otherwise\n");
        println!("| contender | measure | median | over pg-boss | over half the ceiling |");
        println!("|---|---|---|---|---|");
        for (contender, measure) in &self.order {
            let Some(median) = self.median(contender, measure) else { continue };
            let ratio = |other: Option<f64>| {
                other.map_or_else(|| "–".to_owned(), |other| format!("{:.2}", median / other))
            };
            let boss = ratio(self.median(BOSS, measure).filter(|_| *contender != BOSS));
            let half = self.median(CEILING, "single").map(|ceiling| ceiling / 2.0);
            let half = ratio(half.filter(|_| *measure == "single" && *contender != CEILING));
            println!("| {contender} | {measure} | {median:.1} | {boss} | {half} |");
        }
    }
}

/// What a figure is held to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// The ratio to the other side is at least this.
    RatioAtLeast(f64),
    /// The ratio to the other side is at most this.
    RatioAtMost(f64),
    /// The figure itself is at most this.
    AtMost(f64),
    /// Told, held to nothing.
    Told,
}

/// Figures with their other side, one pair per round.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    what: String,
    goal: Goal,
    ours: Vec<f64>,
    beside: Vec<f64>,
}

impl Comparison {
    /// Adds a round's figure.
    pub(crate) fn add(&mut self, what: String, goal: Goal, ours: f64, beside: Option<f64>) {
        eprintln!(
            "  {what}: {ours:.1} {}",
            beside.map_or_else(String::new, |beside| format!("/ {beside:.1}"))
        );
        let at = self.lines.iter().position(|line| line.what == what).unwrap_or_else(|| {
            self.lines.push(Line { what, goal, ours: Vec::new(), beside: Vec::new() });
            self.lines.len() - 1
        });
        self.lines[at].ours.push(ours);
        self.lines[at].beside.extend(beside);
    }

    pub(crate) fn print(&self, rounds: usize) {
        println!("\nmedians of {rounds} interleaved rounds; the ratio is the median of each round's ratio\n");
        println!("| what | measured | beside | ratio | goal | met |");
        println!("|---|---|---|---|---|---|");
        for line in &self.lines {
            let ratios = line.ours.iter().zip(&line.beside).map(|(ours, beside)| ours / beside).collect();
            let (ours, beside, ratio) =
                (median(line.ours.clone()), median(line.beside.clone()), median(ratios));
            let cell = |figure: Option<f64>, digits| {
                figure.map_or_else(|| "–".to_owned(), |f| format!("{f:.digits$}"))
            };
            let (goal, met) = match line.goal {
                Goal::RatioAtLeast(least) => (format!("≥ {least} ×"), ratio.map(|ratio| ratio >= least)),
                Goal::RatioAtMost(most) => (format!("≤ {most} ×"), ratio.map(|ratio| ratio <= most)),
                Goal::AtMost(most) => (format!("≤ {most}"), ours.map(|ours| ours <= most)),
                Goal::Told => ("–".to_owned(), None),
            };
            let met = met.map_or("–", |met| if met { "yes" } else { "**no**" });
            let (ours, beside, ratio) = (cell(ours, 1), cell(beside, 1), cell(ratio, 2));
            println!("| {} | {ours} | {beside} | {ratio} | {goal} | {met} |", line.what);
        }
    }
}

fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

/// Prints what the figures were measured on.
pub(crate) fn machine() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let memory = read("/proc/meminfo");
    let memory = memory.lines().next().unwrap_or_default().replace("MemTotal:", "");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "machine: {cores} cores of{}, {} memory, {}",
        model.trim_start_matches(['\t', ' ']),
        memory.trim(),
        read("/proc/version").split(" (").next().unwrap_or_default()
    );
    println!("command: {}", std::env::args().collect::<Vec<_>>().join(" "));
}

/// Prints which Postgres it was.
pub(crate) async fn postgres(url: &str) -> Outcome<()> {
    let mut connection = PgConnection::connect(url).await?;
    let (version, commit): (String, String) =
        sqlx::query_as("SELECT current_setting('server_version'), current_setting('synchronous_commit')")
            .fetch_one(&mut connection)
            .await?;
    println!("PostgreSQL {version}, synchronous_commit {commit}");
    connection.close().await?;
    Ok(())
}
