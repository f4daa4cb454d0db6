//! The program. Everything is in the library, so that tests and other front ends can use it.

fn main() {
    // SAFETY: nothing has happened yet: there is no other thread.
    unsafe { hermes::cli::seal() };
    std::process::exit(hermes::cli::main());
}
