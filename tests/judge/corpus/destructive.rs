//! What destroys, opens or hands out something, by class, tool and spelling: all of it is worth a question.

use super::{Half, Kind};

pub const HALF: Half = Half {
    kinds: &[MOVED],
    around: &[
        "@",
        "cd src && @",
        "sudo @",
        "@ 2>/dev/null",
        "time @",
        "sh -c %",
        "@ && echo done",
        "true; @",
        "( @ )",
        "env A=1 @",
    ],
};

const MOVED: &[Kind] = &[Kind {
    name: "moved away",
    forms: &["mv {what} {gone}", "mv -t {gone} {what}"],
    slots: &[
        ("what", &["src", "*", "notes.txt", "src/*.py", "app.db"]),
        ("gone", &["/tmp", "/tmp/gone", "/var/tmp/x", "/dev/shm/x"]),
    ],
}];
