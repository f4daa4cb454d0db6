//! What a search is narrowed to: words like `role:tool` and `since:2026-11-01` in a query, or the fields of a tool.

use crate::protocol::SessionId;
use crate::store::life::{self, Shelf};
use chrono::{Local, NaiveDate, NaiveTime, TimeZone};
use rusqlite::types::Value;

/// The platform of sessions that work for another one.
const CHILD: &str = "child";

/// What hits must be. Empty fields hold for every hit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The folder of the session.
    pub here: Option<String>,
    /// Part of the folder's path.
    pub folder: Option<String>,
    /// `user`, `assistant`, `tool`.
    pub roles: Vec<String>,
    /// Milliseconds since the epoch: from this time on, and before this one.
    pub since: Option<i64>,
    pub before: Option<i64>,
    /// Where the session was begun: `tui`, `print`, `telegram`.
    pub platform: Option<String>,
    /// Part of the model's name.
    pub model: Option<String>,
    /// The tool that the hit is a result of.
    pub tool: Option<String>,
    pub branch: Option<String>,
    /// Only sessions in which files were changed, and that was not undone.
    pub edits: bool,
    /// Sessions that have all of these tags.
    pub tags: Vec<String>,
    pub pinned: bool,
    /// The usual ones, or what is archived or in the trash.
    pub shelf: Shelf,
    pub session: Option<SessionId>,
}

/// A word of a query that looks like a filter and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub what: String,
    /// What to write instead.
    pub remedy: &'static str,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.remedy)
    }
}

impl Filter {
    /// Only this folder, or all.
    pub fn here(folder: Option<&str>) -> Self {
        Self { here: folder.map(str::to_owned), ..Self::default() }
    }

    /// Takes the words that narrow a search out of a query; what is not understood stays a word that is looked for.
    pub fn read(query: &str, here: Option<&str>) -> (String, Self) {
        let mut filter = Self::here(here);
        let mut rest = Vec::new();
        let mut quoted = false;
        for word in query.split_whitespace() {
            // A phrase is looked for as it is.
            if quoted || word.contains('"') || !filter.take(word) {
                rest.push(word);
            }
            quoted ^= word.matches('"').count() % 2 == 1;
        }
        (rest.join(" "), filter)
    }

    /// What of a query narrows nothing though it looks so.
    pub fn fault(query: &str) -> Option<Fault> {
        if query.matches('"').count() % 2 == 1 {
            let what = "a quotation mark is not closed".to_owned();
            return Some(Fault { what, remedy: "add the closing \"" });
        }
        let is_day = |word| date(word, NaiveDate::default()).is_some();
        let outside = query.split('"').step_by(2).flat_map(str::split_whitespace);
        outside.filter_map(|word| Some((word, word.split_once(':')?))).find_map(|(word, (name, value))| {
            let (fits, remedy) = match name {
                "role" => (role(value).is_some(), "use role:user, role:assistant or role:tool"),
                "since" | "before" => (is_day(value), "use 2026-11-01, today, yesterday or 7d"),
                "has" => (value == "edits", "use has:edits"),
                "is" => {
                    (["pinned", "archived", "trashed"].contains(&value), "use is:pinned, is:archived or is:trashed")
                }
                _ => return None,
            };
            (!fits).then(|| Fault { what: format!("`{word}` is no filter"), remedy })
        })
    }

    fn take(&mut self, word: &str) -> bool {
        let Some((name, value)) = word.split_once(':').filter(|(_, value)| !value.is_empty()) else { return false };
        let own = || Some(value.to_owned());
        match name {
            "role" => match role(value) {
                Some(role) => self.roles.push(role.to_owned()),
                None => return false,
            },
            "tool" => self.tool = own(),
            "model" => self.model = own(),
            "on" => {
                self.platform = own();
                if value == CHILD {
                    self.shelf = Shelf::All;
                }
            }
            "in" => self.folder = own(),
            "branch" => self.branch = own(),
            "since" if day(value).is_some() => self.since = day(value),
            "before" if day(value).is_some() => self.before = day(value),
            "has" if value == "edits" => self.edits = true,
            "tag" => self.tags.extend(life::tags_of(value)),
            "is" if value == "pinned" => self.pinned = true,
            "is" if value == "archived" => self.shelf = Shelf::Archived,
            "is" if value == "trashed" => self.shelf = Shelf::Trashed,
            _ => return false,
        }
        true
    }

    /// Whether what is out of sight stays so: a session that is asked for by its id is never.
    pub(in crate::store) fn hides(&self) -> bool {
        self.shelf == Shelf::Shown && self.session.is_none()
    }

    /// Conditions over `sessions s` and `items i`, with the values of their numbered places from `first` on.
    pub(in crate::store) fn conditions(&self, first: usize) -> Conditions {
        let mut all = self.of_sessions(first);
        all.and(self.of_items(first + all.values.len()));
        if self.hides() {
            all.tests.push(self.shelf.condition().to_owned());
        }
        all
    }

    /// All of it over `sessions s` alone, with the times of the session; `None` where entries are asked for.
    pub(in crate::store) fn of_whole_sessions(&self, first: usize) -> Option<Conditions> {
        if self.tool.is_some() || !self.roles.is_empty() {
            return None;
        }
        let mut all = self.conditions(first);
        for test in &mut all.tests {
            *test = test.replace("i.at >= ", "s.updated_at >= ").replace("i.at < ", "s.started_at < ");
        }
        Some(all)
    }

    /// Conditions over `sessions s` alone.
    pub(in crate::store) fn of_sessions(&self, first: usize) -> Conditions {
        let mut all = Conditions::from(first);
        let part = |text: &str| format!("%{}%", crate::store::sessions::like_escaped(text));
        if let Some(here) = &self.here {
            all.test("s.cwd = ?", here.clone());
        }
        if let Some(folder) = &self.folder {
            all.test("s.cwd LIKE ? ESCAPE '\\'", part(folder));
        }
        if let Some(platform) = &self.platform {
            all.test("s.source = ?", platform.clone());
        }
        if let Some(model) = &self.model {
            all.test("s.model LIKE ? ESCAPE '\\'", part(model));
        }
        if let Some(branch) = &self.branch {
            all.test("s.branch = ?", branch.clone());
        }
        for tag in &self.tags {
            all.test("instr(s.tags, ?)", format!(",{tag},"));
        }
        if let Some(session) = &self.session {
            all.test("s.id = ?", session.0.clone());
        }
        if self.edits {
            let sql = "EXISTS (SELECT 1 FROM changes c WHERE c.session = s.key AND c.undone = 0)";
            all.tests.push(sql.to_owned());
        }
        if self.pinned {
            all.tests.push("s.pinned_at IS NOT NULL".to_owned());
        }
        match self.shelf {
            Shelf::Archived | Shelf::Trashed => all.tests.push(self.shelf.condition().to_owned()),
            // What is out of sight is left out by its keys, or by `conditions`.
            Shelf::Shown | Shelf::All => {}
        }
        all
    }

    /// Conditions over `items i` alone.
    pub(in crate::store) fn of_items(&self, first: usize) -> Conditions {
        let mut all = Conditions::from(first);
        if !self.roles.is_empty() {
            all.test("instr(?, ',' || i.role || ',')", format!(",{},", self.roles.join(",")));
        }
        if let Some(since) = self.since {
            all.test("i.at >= ?", since);
        }
        if let Some(before) = self.before {
            all.test("i.at < ?", before);
        }
        if let Some(tool) = &self.tool {
            all.test("i.role = 'tool' AND json_valid(i.body) AND i.body ->> '$.name' = ?", tool.clone());
        }
        all
    }
}

/// What a statement tests, with the values of its numbered places.
pub(in crate::store) struct Conditions {
    tests: Vec<String>,
    pub values: Vec<Value>,
    first: usize,
}

impl Conditions {
    fn from(first: usize) -> Self {
        Self { tests: Vec::new(), values: Vec::new(), first }
    }

    fn test(&mut self, sql: &str, value: impl Into<Value>) {
        self.tests.push(sql.replace('?', &format!("?{}", self.first + self.values.len())));
        self.values.push(value.into());
    }

    fn and(&mut self, more: Self) {
        self.tests.extend(more.tests);
        self.values.extend(more.values);
    }

    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// As the condition of a statement.
    pub fn sql(&self) -> String {
        if self.tests.is_empty() { "1".to_owned() } else { self.tests.join(" AND ") }
    }
}

/// The role that a person or a model means.
pub fn role(word: &str) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        "user" | "you" | "person" => Some("user"),
        "assistant" | "agent" | "model" => Some("assistant"),
        "tool" | "tools" => Some("tool"),
        _ => None,
    }
}

/// The start of a day in local time, in milliseconds since the epoch: `2026-11-01`, `today`, `yesterday`, `7d`.
pub fn day(word: &str) -> Option<i64> {
    start(date(word, Local::now().date_naive())?)
}

/// The day that a word means when it is today.
fn date(word: &str, today: NaiveDate) -> Option<NaiveDate> {
    let back = |days: u64| today.checked_sub_days(chrono::Days::new(days));
    match word {
        "today" => Some(today),
        "yesterday" => back(1),
        _ => match word.strip_suffix('d').map(str::parse) {
            Some(Ok(days)) => back(days),
            Some(Err(_)) | None => word.parse().ok(),
        },
    }
}

/// The times of a range of days in local time, from the first and before the second: `2026-11-01..2026-11-30`, one day, or
/// `7d` for all since.
pub fn range(text: &str) -> Option<(Option<i64>, Option<i64>)> {
    let next = |word: &str| match word {
        "yesterday" => day("today"),
        _ => start(word.parse::<NaiveDate>().ok()?.succ_opt()?),
    };
    match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (from.trim(), to.trim());
            let first = if from.is_empty() { None } else { Some(day(from)?) };
            let last = if to.is_empty() { None } else { Some(next(to)?) };
            let is_reversed = first.zip(last).is_some_and(|(first, last)| first >= last);
            (!is_reversed).then_some((first, last))
        }
        None => Some((Some(day(text)?), next(text))),
    }
}

fn start(date: NaiveDate) -> Option<i64> {
    Some(Local.from_local_datetime(&date.and_time(NaiveTime::MIN)).earliest()?.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_narrow_a_search_and_others_are_looked_for() {
        let (query, filter) =
            Filter::read("role:tool panic in:hermes std::fs role:nobody has:edits \"v-on on:click\"", Some("/x"));
        assert_eq!(query, "panic std::fs role:nobody \"v-on on:click\"");
        let expected = Filter {
            here: Some("/x".into()),
            folder: Some("hermes".into()),
            roles: vec!["tool".into()],
            edits: true,
            ..Filter::default()
        };
        assert_eq!(filter, expected);
        assert_eq!(Filter::read("just words", None).1, Filter::default());
        for (query, fault) in [
            ("role:tool since:7d std::fs \"is:foo\"", None),
            ("x role:nobody", Some("`role:nobody` is no filter: use role:user, role:assistant or role:tool")),
            ("since:bogus", Some("`since:bogus` is no filter: use 2026-11-01, today, yesterday or 7d")),
            ("is:foo", Some("`is:foo` is no filter: use is:pinned, is:archived or is:trashed")),
            ("\"open", Some("a quotation mark is not closed: add the closing \"")),
        ] {
            assert_eq!(Filter::fault(query).map(|fault| fault.to_string()).as_deref(), fault, "{query}");
        }
    }

    #[test]
    fn days_are_read_in_local_time() {
        let first = day("2026-11-01").unwrap();
        assert_eq!(Local.timestamp_millis_opt(first).unwrap().to_string()[..19], *"2026-11-01 00:00:00");
        assert!(day("today").unwrap() - day("1d").unwrap() >= 23 * 3_600_000);
        let (first, last) = range("2026-11-01").unwrap();
        assert_eq!(range("2026-11-01..2026-11-01"), Some((first, last)));
        assert_eq!(last, day("2026-11-02"));
        assert_eq!((range("2026-11-02..2026-11-01"), range("7d")), (None, Some((day("7d"), None))));
        assert_eq!((day("yesterday"), day("soon"), day("2026-13-01")), (day("1d"), None, None));
    }
}
