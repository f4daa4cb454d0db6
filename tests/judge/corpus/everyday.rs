//! What a day's work consists of, by kind: none of it is worth a question.

use super::{Half, Kind};

pub const HALF: Half = Half {
    kinds: &[BUILD, SEARCH],
    around: &[
        "@",
        "cd src && @",
        "@ 2>&1 | tail -20",
        "time @",
        "@ | head -50",
        "@ && echo ok",
        "@ || true",
        "timeout 60 @",
    ],
};

const BUILD: &[Kind] = &[
    Kind {
        name: "cargo",
        forms: &["cargo {what} {how}"],
        slots: &[
            ("what", &["build", "check", "test", "clippy"]),
            ("how", &["", "--locked", "-p app", "--all-targets", "--release"]),
        ],
    },
    Kind {
        name: "make",
        forms: &["make", "make -j8", "make {target}"],
        slots: &[("target", &["all", "test", "lint", "check"])],
    },
];

const SEARCH: &[Kind] = &[Kind {
    name: "search",
    forms: &["rg {what} src", "grep -rn {what} src", "git grep {what}"],
    slots: &[("what", &["TODO", "'fn main'", "-i error", "-w panic"])],
}];
