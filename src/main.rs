//! The program. Everything else is in the library, for tests and other front ends.

/// From what this was built: `assets/dist/build.rs` knows, and a builder who has no git may say it in `HERMES_COMMIT`.
const BUILD: hermes::cli::Build = hermes::cli::Build {
    commit: hermes::cli::commit(
        option_env!("HERMES_COMMIT"),
        include_bytes!(env!("HERMES_REFLOG")),
        include_bytes!("../assets/dist/commit"),
    ),
    profile: env!("HERMES_BUILD_PROFILE"),
    target: env!("HERMES_TARGET"),
};

fn main() {
    // SAFETY: nothing has happened yet: there is no other thread.
    unsafe { hermes::cli::seal() };
    std::process::exit(hermes::cli::main(BUILD));
}
