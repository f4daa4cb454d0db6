//! Answers of a person, a line each.

use anyhow::Context as _;
use std::io::Write;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin};

/// Nobody answers any more: the person pressed Ctrl-D, or the terminal is gone.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("left before a model was chosen; what was stored stays, and `hermes setup` asks again")]
pub struct Gone;

/// Standard input. One reader for all of it: a second one would lose the line that the first one still waits for.
pub struct Answers(Lines<BufReader<Stdin>>);

impl Default for Answers {
    fn default() -> Self {
        Self(BufReader::new(stdin()).lines())
    }
}

impl Answers {
    /// Asks; empty where the person only presses Enter.
    ///
    /// # Errors
    /// Nobody answers any more.
    pub async fn ask(&mut self, question: &str, out: &mut dyn Write) -> anyhow::Result<String> {
        write!(out, "{question}: ")?;
        out.flush()?;
        match self.0.next_line().await.context("standard input")? {
            Some(line) => Ok(line.trim().to_owned()),
            None => {
                writeln!(out)?;
                Err(Gone.into())
            }
        }
    }

    /// Asks for something that has a value already: Enter keeps it.
    pub async fn ask_or(&mut self, question: &str, now: &str, out: &mut dyn Write) -> anyhow::Result<String> {
        let question = if now.is_empty() { question.to_owned() } else { format!("{question} [{now}]") };
        let answer = self.ask(&question, out).await?;
        Ok(if answer.is_empty() { now.to_owned() } else { answer })
    }

    /// Only `y` and `yes` are a yes.
    pub async fn is_yes(&mut self, question: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let answer = self.ask(&format!("{question} [y/N]"), out).await?;
        Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
    }

    /// The address that a browser of another machine ended at.
    pub async fn address(&mut self) -> Option<String> {
        while let Ok(Some(line)) = self.0.next_line().await {
            if line.trim().starts_with("http") {
                return Some(line.trim().to_owned());
            }
        }
        None
    }
}

/// The row of so many that an answer names by its number from 1.
pub fn number(answer: &str, rows: usize) -> Option<usize> {
    answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|at| *at < rows)
}

/// The row that an answer names: by its number, else by its name.
pub fn row(answer: &str, names: &[&str]) -> Option<usize> {
    number(answer, names.len()).or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(answer)))
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_is_named_by_number_or_name() {
        for (answer, expected) in [
            ("1", Some(0)),
            ("3", Some(2)),
            ("4", None),
            ("0", None),
            ("-1", None),
            ("OpenRouter", Some(1)),
            ("nobody", None),
            ("", None),
        ] {
            assert_eq!(row(answer, &["gpt", "openrouter", "7b"]), expected, "{answer:?}");
        }
    }
}
