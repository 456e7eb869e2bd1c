//! Thousands of bad days for the real handlers and the real store, in stopped time, each from one number: providers that
//! repeat, a queue that loses, processes that die, a database that does not answer, destinations that act and do not say
//! so, people who act at the wrong moment. After each, every guarantee is checked against what really happened.
//!
//! `--histories N`, `--seed S` (one history, step by step, or the first of N), `--threads T`, `--sabotage`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports to its user"
)]
#![expect(clippy::unwrap_used, reason = "a test: what cannot be is to end it")]

mod bucket;
mod check;
mod database;
mod destination;
mod fence;
mod history;
mod machine;
mod people;
mod provider;
mod sabotage;
mod wire;
mod world;

use std::{
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use history::{End, Stage};
use sabotage::Sabotage;
use world::Kind;

/// How many histories run in `cargo test`.
const SHORT: u64 = 100;
/// As many are tried to notice one sabotage.
const PATIENCE: u64 = 4_000;
/// A word on stderr after so many.
const PROGRESS: u64 = 1_000;
/// So many failing histories are described.
const SHOWN: usize = 10;

struct Options {
    histories: Option<u64>,
    seed: Option<u64>,
    threads: usize,
    sabotage: bool,
}

fn options() -> Options {
    let mut options = Options {
        histories: None,
        seed: None,
        threads: std::thread::available_parallelism().map_or(2, usize::from),
        sabotage: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Option<u64> {
            let text = arguments.next().unwrap_or_default();
            let number = text.parse();
            Some(number.unwrap_or_else(|_| {
                eprintln!("{argument} takes a number, not `{text}`");
                std::process::exit(2)
            }))
        };
        match argument.as_str() {
            "--histories" => options.histories = number(),
            "--seed" => options.seed = number(),
            "--threads" => options.threads = number().map_or(1, |count| usize::try_from(count).unwrap()),
            "--sabotage" => options.sabotage = true,
            // What else cargo passes on.
            _ => {}
        }
    }
    options
}

fn main() -> ExitCode {
    let options = options();
    let ok = match (options.seed, options.histories) {
        (Some(seed), None) => one(seed),
        _ if options.sabotage => sabotages(&options),
        (seed, Some(histories)) => many(seed.unwrap_or_default(), histories, options.threads),
        (None, None) => many(0, SHORT, options.threads),
    };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One history, step by step.
fn one(seed: u64) -> bool {
    let end = Stage::new().play(seed, None, true);
    println!();
    for (kind, what) in &end.violations {
        println!("{kind}: {what}");
    }
    println!(
        "history {seed}: {} steps, {} crashes, {} violations",
        end.steps,
        end.crashes,
        end.violations.len()
    );
    end.violations.is_empty()
}

/// Plays seeds on several threads, until `each` has had enough.
fn play(
    first: u64,
    count: u64,
    threads: usize,
    sabotage: Option<Sabotage>,
    each: impl Fn(u64, End) -> bool + Sync,
) {
    let next = AtomicU64::new(first);
    let last = first.saturating_add(count);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let stage = Stage::new();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last || !each(seed, stage.play(seed, sabotage, false)) {
                        next.store(last, Ordering::Relaxed);
                        return;
                    }
                }
            });
        }
    });
}

#[derive(Default)]
struct Sum {
    histories: u64,
    crashes: u64,
    steps: u64,
    failed: Vec<(u64, Vec<(Kind, String)>)>,
}

fn many(first: u64, count: u64, threads: usize) -> bool {
    let started = Instant::now();
    let sum = Mutex::new(Sum::default());
    play(first, count, threads, None, |seed, end| {
        let mut sum = sum.lock().unwrap();
        sum.histories += 1;
        sum.crashes += end.crashes;
        sum.steps += end.steps;
        if sum.histories % PROGRESS == 0 {
            eprintln!("{} of {count} histories", sum.histories);
        }
        if !end.violations.is_empty() {
            sum.failed.push((seed, end.violations));
        }
        true
    });
    let mut sum = sum.into_inner().unwrap();
    sum.failed.sort_by_key(|(seed, _)| *seed);
    for (seed, violations) in sum.failed.iter().take(SHOWN) {
        println!("seed {seed} (make chaos SEED={seed} prints it step by step)");
        for (kind, what) in violations.iter().take(3) {
            println!("  {kind}: {what}");
        }
    }
    let of = |wanted: Kind| {
        let all = sum.failed.iter().flat_map(|(_, violations)| violations);
        all.filter(|(kind, _)| *kind == wanted).count()
    };
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "seeds {first} to {}, {} steps, {seconds:.1} s on {threads} threads",
        first + count - 1,
        sum.steps
    );
    println!(
        "{} histories, {} crashes, {} lost, {} doubled, {} stuck",
        sum.histories,
        sum.crashes,
        of(Kind::Lost),
        of(Kind::Doubled),
        of(Kind::Stuck)
    );
    sum.failed.is_empty()
}

/// Breaks the protocol in each way, and must notice each.
fn sabotages(options: &Options) -> bool {
    let mut missed = 0;
    for sabotage in Sabotage::ALL {
        let started = Instant::now();
        let caught: Mutex<Option<(u64, (Kind, String))>> = Mutex::new(None);
        play(
            0,
            options.histories.unwrap_or(PATIENCE),
            options.threads,
            Some(sabotage),
            |seed, end| {
                let mut caught = caught.lock().unwrap();
                if let Some(violation) = end.violations.into_iter().next() {
                    let earlier = caught.as_ref().is_none_or(|(before, _)| seed < *before);
                    if earlier {
                        *caught = Some((seed, violation));
                    }
                }
                caught.is_none()
            },
        );
        let seconds = started.elapsed().as_secs_f64();
        match caught.into_inner().unwrap() {
            Some((seed, (kind, what))) => {
                println!(
                    "caught: {} (seed {seed}, {seconds:.1} s)\n    {kind}: {what}",
                    sabotage.about()
                );
            }
            None => {
                missed += 1;
                println!("NOT CAUGHT: {} ({seconds:.1} s)", sabotage.about());
            }
        }
    }
    let all = Sabotage::ALL.len();
    println!("{all} sabotages, {} caught", all - missed);
    missed == 0
}
