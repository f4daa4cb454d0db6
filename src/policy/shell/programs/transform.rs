//! Filters of text whose outcome can be told from a text that is known: `sed`, `cut`, `head` and the like. A script may write a
//! command in pieces and put it together on its way into a shell.

use super::sed;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::table::Kind;

/// Bytes of a text that is followed.
const MAX_TEXT: usize = 4 * 1024;

/// What a filter prints of its standard input; `None` where that is not computed.
pub(in crate::policy::shell) fn filtered(known: &Known<'_>, text: &str) -> Option<String> {
    if text.len() > MAX_TEXT || known.argv.iter().any(|field| !field.is_known()) {
        return None;
    }
    if known.spec.kind == Kind::Sed {
        return sed_scripts(known, text);
    }
    let lines = || text.lines();
    let whole = known.args.operands.is_empty();
    match known.name.as_str() {
        "head" | "tail" if whole => {
            let count = count(known)?;
            let skip = match known.name.as_str() {
                "tail" => lines().count().saturating_sub(count),
                _ => 0,
            };
            Some(joined(lines().skip(skip).take(count)))
        }
        "tac" if whole => Some(joined(lines().rev())),
        "cut" if whole => cut(known, text),
        "paste" if known.has(&["-s", "--serial"]) && known.operands().all(|field| field.text == "-") => {
            let between = known.value(&["-d", "--delimiters"]).map_or_else(|| "\t".to_owned(), |field| field.text);
            Some(lines().collect::<Vec<_>>().join(&between) + "\n")
        }
        _ => None,
    }
}

fn joined<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    lines.map(|line| format!("{line}\n")).collect()
}

/// Lines that `head` and `tail` keep: `-n 3`, `-3`.
fn count(known: &Known<'_>) -> Option<usize> {
    match known.argv.get(1..)? {
        [] => Some(10),
        [one] => one.text.trim_start_matches("--lines=").trim_start_matches("-n").trim_start_matches('-').parse().ok(),
        [option, value] if matches!(option.text.as_str(), "-n" | "--lines") => value.text.parse().ok(),
        _ => None,
    }
}

/// `cut -c LIST`, `cut -d X -f LIST`.
fn cut(known: &Known<'_>, text: &str) -> Option<String> {
    let of_characters = known.value(&["-c", "--characters", "-b", "--bytes"]);
    let between = known.value(&["-d", "--delimiter"]).map_or_else(|| "\t".to_owned(), |field| field.text);
    let list = of_characters.clone().or_else(|| known.value(&["-f", "--fields"]))?.text;
    let ranges: Option<Vec<(usize, usize)>> = list.split(',').map(range).collect();
    let ranges = ranges?;
    let kept = |at: usize| ranges.iter().any(|(from, to)| (*from..=*to).contains(&(at + 1)));
    let line = |line: &str| match &of_characters {
        Some(_) => line.chars().enumerate().filter(|(at, _)| kept(*at)).map(|(_, c)| c).collect(),
        None if !line.contains(&between) => line.to_owned(),
        None => {
            let parts = line.split(between.as_str()).enumerate().filter(|(at, _)| kept(*at));
            parts.map(|(_, part)| part).collect::<Vec<_>>().join(&between)
        }
    };
    (!between.is_empty()).then(|| text.lines().map(|l| line(l) + "\n").collect())
}

/// `2`, `2-`, `-4`, `2-4`, counted from one.
fn range(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str, empty| if text.is_empty() { Some(empty) } else { text.parse().ok() };
    match text.split_once('-') {
        Some((from, to)) => Some((number(from, 1)?, number(to, usize::MAX)?)),
        None => text.parse().ok().map(|at| (at, at)),
    }
}

/// All scripts of a `sed` that reads its standard input.
fn sed_scripts(known: &Known<'_>, text: &str) -> Option<String> {
    let plain = ["-n", "-e", "-E", "-r", "-u", "--quiet", "--silent", "--expression", "--regexp-extended"];
    if known.args.flags.iter().any(|flag| !plain.contains(&flag.name.as_str())) {
        return None;
    }
    let given: Vec<String> = known.args.flags.iter().filter_map(|f| f.value.as_ref().map(|v| v.0.clone())).collect();
    let operands = known.args.operands.len();
    let script = match given.is_empty() {
        true if operands == 1 => known.operand(0)?.text.clone(),
        false if operands == 0 => given.join("\n"),
        _ => return None,
    };
    let extended = known.has(&["-E", "-r", "--regexp-extended"]);
    sed::run(&script, text, known.has(&["-n", "--quiet", "--silent"]), extended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range("2-4"), Some((2, 4)));
        assert_eq!(range("2-"), Some((2, usize::MAX)));
        assert_eq!(range("-3"), Some((1, 3)));
        assert_eq!(range("5"), Some((5, 5)));
        assert_eq!(range("x"), None);
    }
}
