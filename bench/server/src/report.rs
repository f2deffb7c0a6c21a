//! What was measured, as a table of medians with their ratios, and the machine it was measured on.

use std::collections::BTreeMap;

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
        let mut figures = self.figures.get(&(contender, measure))?.clone();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied()
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
