//! The program. Everything is in the library, so that tests and other front ends can use it.

fn main() {
    std::process::exit(hermes::cli::main());
}
