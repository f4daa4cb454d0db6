//! `hermes approvals log`: the audit log for people and programs, and the check of its chain.

use crate::cli::setup;
use crate::report::approvals;
use crate::store::Store;
use crate::store::audit::told::{FULL, Filter, FilterError, ROWS, chosen, text};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;

/// Version of the JSON shape.
const VERSION: u32 = 1;

/// `hermes approvals log`.
#[derive(Args, Debug, Default)]
pub struct LogArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Only this session: an id, its unique start, or a title
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only rows of this kind: call, rule, mode, pruned
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only calls decided by: policy, rule, person, yolo, smart, nobody, hook
    #[arg(long, value_name = "WHO")]
    pub by: Option<String>,
    /// Only calls with this verdict: allow, ask, ask-always, denied-by-rule, refuse
    #[arg(long, value_name = "VERDICT")]
    pub verdict: Option<String>,
    /// Only calls with this outcome: ok, failed, denied, timed_out, no_one, refused, interrupted, unknown
    #[arg(long, value_name = "OUTCOME")]
    pub outcome: Option<String>,
    /// Only rows whose call or rule contains these words
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Maximum number of rows
    #[arg(short = 'n', long, default_value_t = ROWS)]
    pub limit: usize,
    /// Only since: `30m`, `2h`, `3d`, `2026-11-22`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Verify that no row was changed or removed
    #[arg(long)]
    pub verify: bool,
}

pub(super) async fn run(args: &LogArgs, out: &mut impl Write) -> anyhow::Result<i32> {
    let store = Store::spawn(setup::paths()?.home);
    let code = show(args, &store, out).await;
    store.close().await;
    code
}

async fn show(args: &LogArgs, store: &Store, out: &mut impl Write) -> anyhow::Result<i32> {
    if args.verify {
        let found = store.audit_verify().await?;
        if args.json {
            writeln!(out, "{}", json!({"version": VERSION, "rows": found.rows, "faults": found.faults}))?;
        } else if found.faults.is_empty() {
            writeln!(out, "{} rows: none missing or changed", found.rows)?;
        } else {
            for fault in &found.faults {
                writeln!(out, "{fault}")?;
            }
            writeln!(out, "{} rows: the log was tampered with, or the database was damaged", found.rows)?;
        }
        return Ok(i32::from(!found.faults.is_empty()));
    }
    let rows = chosen(store, &filter(args)?).await?;
    if args.json {
        let rows: Vec<Value> = rows.iter().map(|(row, end)| approvals::as_json(row, end.as_ref())).collect();
        writeln!(out, "{}", json!({"version": VERSION, "rows": rows}))?;
    } else {
        out.write_all(text(&rows, FULL).as_bytes())?;
    }
    Ok(0)
}

fn filter(args: &LogArgs) -> Result<Filter, FilterError> {
    let mut filter = Filter::newest(args.limit);
    for (name, value) in [
        ("kind", &args.kind),
        ("tool", &args.tool),
        ("by", &args.by),
        ("verdict", &args.verdict),
        ("outcome", &args.outcome),
        ("session", &args.session),
        ("since", &args.since),
    ] {
        value.iter().try_for_each(|value| filter.set(name, value))?;
    }
    args.words.iter().for_each(|word| filter.word(word));
    Ok(filter)
}
