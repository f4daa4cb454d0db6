//! stub
/// s
#[derive(Debug, Default, clap::Args)]
pub struct DebugArgs {}
/// s
pub fn run(_: DebugArgs, _: &mut dyn std::io::Write) -> anyhow::Result<i32> {
    Ok(0)
}
