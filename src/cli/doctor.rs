//! `hermes doctor`: prints what the report on this installation says.

use crate::config::Paths;
use crate::report::doctor;
use clap::Args;
use std::io::Write;

/// Arguments of `hermes doctor`.
#[derive(Args, Clone, Debug, Default)]
pub struct DoctorArgs {
    #[arg(long)]
    pub json: bool,
}

/// Prints the report. Exits 1 when a row failed.
///
/// # Errors
/// Only when `out` can't be written.
pub fn run(args: &DoctorArgs, paths: &Paths, out: &mut dyn Write) -> anyhow::Result<i32> {
    let rows = doctor::checked(paths);
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&doctor::json(&rows))?)?;
    } else {
        out.write_all(doctor::text(&rows).as_bytes())?;
    }
    Ok(i32::from(doctor::has_failed(&rows)))
}
