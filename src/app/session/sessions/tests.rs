//! Browsing, switching and leaving.

use super::*;
use crate::app::msg::Msg;
use crate::app::tests::{opened, ready, script, script_at, user};
use crate::app::update;
use crate::protocol::ItemId;
use crate::store::{SessionChange, Shelf, StoreReply};

fn row(id: &str) -> SessionRow {
    SessionRow { id: id.into(), preview: format!("prompt of {id}"), ..SessionRow::default() }
}

fn rows(model: &mut Model, query: &str, ids: &[&str]) -> Vec<Effect> {
    let rows = ids.iter().map(|id| row(id)).collect();
    let now = model.now;
    update(model, now, Msg::Store(StoreReply::Sessions { query: query.into(), rows, of: None }))
}

fn list(query: &str, here: Option<&str>) -> Effect {
    let here = here.map(str::to_owned);
    Effect::Store(StoreJob::ListSessions { query: query.into(), here, shelf: Shelf::Shown, limit: PAGE })
}

fn preview_of(id: &str) -> Effect {
    Effect::Store(StoreJob::Preview { session: id.into(), hit: None })
}

#[test]
fn the_browser_asks_after_a_pause_and_previews_on_move() {
    let mut model = ready();
    assert_eq!(script_at(&mut model, 1000, "<C-r>"), [list("", None)]);
    assert_eq!(rows(&mut model, "", &["a", "b"]), [preview_of("a")]);
    assert_eq!(script_at(&mut model, 1001, "<down>"), [preview_of("b")]);
    assert_eq!(script_at(&mut model, 1010, "re"), [Effect::WakeAt(1010 + DEBOUNCE)]);
    assert_eq!(update(&mut model, 1010 + DEBOUNCE, Msg::Woke), [list("re", None)]);
    assert_eq!(rows(&mut model, "r", &["z"]), [], "an answer to an older query is dropped");
    assert_eq!(rows(&mut model, "re", &["c", "b"]), [preview_of("c")], "the best hit is selected");
    script(&mut model, "<down>");
    changed_elsewhere(&mut model, &mut Vec::new());
    assert_eq!(rows(&mut model, "re", &["b", "c"]), [preview_of("b")], "the selection stays on its session");
    assert_eq!(script(&mut model, "<tab>"), [list("re", Some("/src/app"))]);
    let effects = script(&mut model, "<ret>");
    assert_eq!(opens(&effects), [&Opens::Resume("b".into())]);
    assert!(model.tab.modals.is_empty());
}

#[test]
fn the_end_of_a_page_asks_for_more_rows() {
    let mut model = ready();
    script(&mut model, "<C-r>");
    let ids: Vec<String> = (0..PAGE).map(|n| format!("s{n}")).collect();
    let page: Vec<&str> = ids.iter().map(String::as_str).collect();
    rows(&mut model, "", &page);
    let more = StoreJob::ListSessions { query: String::new(), here: None, shelf: Shelf::Shown, limit: 4 * PAGE };
    assert_eq!(orders(script(&mut model, "<end>")), [preview_of("s59"), Effect::Store(more)]);
    assert_eq!(orders(script(&mut model, "<up><down>")), [preview_of("s58"), preview_of("s59")], "it comes already");
    rows(&mut model, "", &[&page[..], &["last"]].concat());
    assert_eq!(browser(&mut model).map(|browser| browser.selected), Some(PAGE - 1));
    assert_eq!(orders(script(&mut model, "<down>")), [preview_of("last")], "there are no more");
}

#[test]
fn the_preview_shows_the_session_that_is_selected() {
    let mut model = ready();
    script(&mut model, "<C-r>");
    rows(&mut model, "", &["a", "b"]);
    let preview = |id: &str| {
        Msg::Store(StoreReply::Preview {
            session: id.into(),
            items: vec![user(1, "hello\x1b[31m"), user(2, "two\nlines")],
        })
    };
    update(&mut model, 0, preview("b"));
    let lines = |model: &mut Model| browser(model).map(|browser| browser.preview.len());
    assert_eq!(lines(&mut model), Some(0));
    update(&mut model, 0, preview("a"));
    assert_eq!(lines(&mut model), Some(3));
    let first = browser(&mut model).map(|browser| browser.preview[0].spans[0].text.clone());
    assert_eq!(first.as_deref(), Some("❯ hello␛[31m"));
}

#[test]
fn the_preview_goes_to_the_hit_and_marks_its_words() {
    let mut model = ready();
    script_at(&mut model, 0, "<C-r>word 30");
    let hit = SessionRow { hit: Some(ItemId(30)), ..row("a") };
    let listed = StoreReply::Sessions { query: "word 30".into(), rows: vec![hit], of: None };
    let effects = update(&mut model, 0, Msg::Store(listed));
    assert_eq!(effects, [Effect::Store(StoreJob::Preview { session: "a".into(), hit: Some(ItemId(30)) })]);
    let items = (20..36).map(|n| user(n, &format!("word {n}"))).collect();
    update(&mut model, 0, Msg::Store(StoreReply::Preview { session: "a".into(), items }));
    let browser = browser(&mut model).unwrap();
    assert_eq!(browser.preview_hit, Some(10));
    let marked: Vec<&str> = browser.preview[10].spans.iter().map(|span| span.text.as_ref()).collect();
    assert_eq!(marked, ["❯ ", "word", " ", "30"]);
}

#[test]
fn deleting_goes_to_the_trash_and_spares_the_open_session() {
    let mut model = ready();
    script(&mut model, "<C-r>");
    rows(&mut model, "", &["s", "old"]);
    assert_eq!(orders(script(&mut model, "<del>")), []);
    assert_eq!(browser(&mut model).map(|browser| browser.rows.len()), Some(2), "the open one cannot be deleted");
    assert_eq!(
        orders(script(&mut model, "<down><del>")),
        [preview_of("old"), change("old", SessionChange::Trashed(true))]
    );
    assert_eq!(browser(&mut model).map(|browser| browser.rows.len()), Some(1));
    let kept = StoreReply::SessionChanged("old".into());
    assert_eq!(orders(update(&mut model, 0, Msg::Store(kept.clone()))), [list("", None)]);
    assert_eq!(rows(&mut model, "", &["s"]), [preview_of("s")]);
    assert_eq!(orders(script(&mut model, "<A-u>")), [change("old", SessionChange::Trashed(false))]);
    assert_eq!(orders(update(&mut model, 0, Msg::Store(kept))), [list("", None)]);
    // In the trash it is restored, or goes for good after a yes.
    let trashed = |id: &str| SessionRow { trashed_at: Some(1), ..row(id) };
    let lists = |shelf| Effect::Store(StoreJob::ListSessions { query: String::new(), here: None, shelf, limit: PAGE });
    let effects = orders(script(&mut model, "<tab><tab><tab><tab>"));
    let others = Effect::Load(LoadRequest::Elsewhere { query: String::new() });
    assert_eq!(effects, [list("", Some("/src/app")), others, lists(Shelf::Archived), lists(Shelf::Trashed)]);
    let listed = StoreReply::Sessions { query: String::new(), rows: vec![trashed("a"), trashed("b")], of: None };
    update(&mut model, 0, Msg::Store(listed));
    assert_eq!(orders(script(&mut model, "<A-u>")), [change("a", SessionChange::Trashed(false))]);
    let effects = orders(script(&mut model, "<del>y<ret>"));
    assert_eq!(effects, [Effect::Store(StoreJob::DeleteSession("b".into()))]);
}

/// Without what only moves on the screen.
fn orders(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::WakeAt(_))).collect()
}

fn change(id: &str, change: SessionChange) -> Effect {
    Effect::Store(StoreJob::ChangeSession { session: id.into(), change })
}

#[test]
fn a_session_is_named_tagged_pinned_archived_and_written_to_a_file() {
    let mut model = ready();
    script(&mut model, "<C-r>");
    rows(&mut model, "", &["a", "b"]);
    let title = SessionChange::Title("new name".into());
    assert_eq!(orders(script(&mut model, "<C-t>new name<ret>")), [change("a", title)]);
    let tags = SessionChange::Tags(vec!["red".into(), "blue".into()]);
    assert_eq!(orders(script(&mut model, "<A-t>#Red, blue<ret>")), [change("a", tags)]);
    assert_eq!(orders(script(&mut model, "<A-p>")), [change("a", SessionChange::Pinned(true))]);
    let shown = browser(&mut model).map(|browser| browser.rows[0].clone()).unwrap();
    assert_eq!((shown.title.as_deref(), shown.tags.len(), shown.pinned), (Some("new name"), 2, true));
    assert_eq!(orders(script(&mut model, "<A-p>")), [change("a", SessionChange::Pinned(false))]);
    let export = Effect::Load(LoadRequest::ExportOf { session: "a".into() });
    assert_eq!(orders(script(&mut model, "<A-e>")), [export]);
    assert_eq!(orders(script(&mut model, "<A-a>")), [change("a", SessionChange::Archived(true))]);
    assert_eq!(browser(&mut model).map(|browser| browser.rows.len()), Some(1));
    // The list of all that can be done does the same.
    assert_eq!(orders(script(&mut model, "<A-m>")), []);
    assert_eq!(orders(script(&mut model, "pin<ret>")), [change("b", SessionChange::Pinned(true))]);
}

#[test]
fn an_open_session_is_named_by_its_agent() {
    let mut model = ready();
    script(&mut model, "<C-r>");
    rows(&mut model, "", &["s"]);
    let named = Effect::Of("s".into(), AgentCommand::SetTitle("mine".into()));
    assert_eq!(orders(script(&mut model, "<C-t>mine<ret>")), [named]);
}

#[test]
fn a_fork_is_of_the_whole_session_or_up_to_what_was_found() {
    let mut model = ready();
    script(&mut model, "<C-r>");
    rows(&mut model, "", &["a"]);
    assert_eq!(opens(&script(&mut model, "<A-y>")), [&Opens::Fork("a".into())]);
    let mut model = ready();
    script(&mut model, "<C-r>");
    let hit = SessionRow { hit: Some(ItemId(7)), ..row("a") };
    update(&mut model, 0, Msg::Store(StoreReply::Sessions { query: String::new(), rows: vec![hit], of: None }));
    assert_eq!(opens(&script(&mut model, "<A-y>y<ret>")), [&Opens::ForkAt("a".into(), ItemId(8))]);
}

#[test]
fn the_tree_shows_the_forks_and_switches() {
    let mut model = ready();
    opened(&mut model, "s", &["go"]);
    let effects = script(&mut model, "/tree<ret>");
    assert!(effects.contains(&Effect::Store(StoreJob::Tree("s".into()))), "{effects:?}");
    let branch = |id: &str, depth, turn| crate::store::Branch { row: row(id), depth, turn };
    let branches = vec![branch("root", 0, 0), branch("s", 1, 2), branch("t", 2, 0)];
    update(&mut model, 0, Msg::Store(StoreReply::Tree { session: "s".into(), branches }));
    let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
    let labels: Vec<&str> = picker.items.iter().map(|item| item.label.as_str()).collect();
    assert_eq!(labels, ["prompt of root", "└ prompt of s", "  └ prompt of t"]);
    assert_eq!((picker.title.as_str(), picker.selected), ("Tree of 2 forks", 1));
    assert!(picker.items[1].detail.starts_with("after turn 2"), "{:?}", picker.items[1]);
    assert_eq!(opens(&script(&mut model, "<up><ret>")), [&Opens::Resume("root".into())]);
}

#[test]
fn quitting_says_what_runs() {
    let mut model = ready();
    let effects = script(&mut model, "<C-d>");
    assert_eq!(effects, [Effect::Quit(0)]);
    let mut model = ready();
    script(&mut model, "go<ret>");
    assert!(!script(&mut model, "<C-d>").contains(&Effect::Quit(0)));
    assert!(matches!(model.tab.modals.last(), Some(Modal::Confirm(confirm)) if confirm.text.contains("turn")));
    let effects = script(&mut model, "y<ret>");
    assert!(effects.ends_with(&[Effect::Quit(0)]), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Agent(AgentCommand::Stop { .. }))), "{effects:?}");
}

#[test]
fn leaving_stores_the_draft() {
    let mut model = ready();
    script(&mut model, "go<ret>draft");
    let effects = update(&mut model, 0, Msg::Terminated);
    let saved = effects.iter().find_map(|effect| match effect {
        Effect::Store(StoreJob::SaveDraft { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(saved, Some("draft"));
    assert_eq!(effects.last(), Some(&Effect::Quit(0)));
}

#[test]
fn the_title_is_set_or_asked_for() {
    let mut model = ready();
    let set = |title: &str| Effect::Agent(AgentCommand::SetTitle(title.into()));
    assert!(script(&mut model, "/title a name<ret>").contains(&set("a name")));
    assert_eq!(script(&mut model, "/title <ret>other<ret>").last(), Some(&set("other")));
}

#[test]
fn a_resumed_session_shows_its_own_draft() {
    let mut model = crate::app::tests::model();
    update(&mut model, 0, Msg::Store(StoreReply::Draft { session: None, text: "of the folder".into() }));
    let effects = opened(&mut model, "s", &["prompt"]);
    assert!(effects.contains(&drafts::load(&model)));
    assert_eq!(composer::text(&model.tab.composer), "", "the draft of the folder stays in the store");
}

#[test]
fn arrows_choose_in_a_question() {
    for keys in ["<down>", "<up>", "j", "k", "<tab>"] {
        let mut model = ready();
        script(&mut model, "go<ret>");
        script(&mut model, "/clear<ret>");
        assert_eq!(script(&mut model, "<ret>"), [], "no is chosen at first");
        script(&mut model, "/clear<ret>");
        script(&mut model, keys);
        assert_eq!(opens(&script(&mut model, "<ret>")), [&Opens::Cleared], "{keys}");
    }
}

fn opens(effects: &[Effect]) -> Vec<&Opens> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Open { opens, .. } = effect { Some(opens) } else { None })
        .collect()
}

#[test]
fn the_letters_of_a_question_mark_and_enter_takes() {
    let all =
        [("y<ret>", true), ("Y<ret>", true), ("yn<ret>", false), ("n<ret>", false), ("<esc>", false), ("<ret>", false)];
    for (keys, begins) in all {
        let mut model = ready();
        script(&mut model, "go<ret>/clear<ret>");
        assert_eq!(model.tab.modals.len(), 1);
        let effects = script(&mut model, keys);
        assert_eq!(!opens(&effects).is_empty(), begins, "{keys}");
        assert!(model.tab.modals.is_empty(), "{keys}");
    }
    let mut model = ready();
    script(&mut model, "go<ret>/clear<ret>y");
    assert_eq!(model.tab.modals.len(), 1, "a letter alone begins nothing");
    let mut model = ready();
    script(&mut model, "go<ret>/clear<ret><A-y><C-n>");
    assert_eq!(model.tab.modals.len(), 1, "other keys with the same letters are none of its own");
}

#[test]
fn the_window_title_names_the_profile() {
    let mut model = crate::app::tests::model();
    let mut title = |profile: Option<&str>| {
        model.profile = profile.map(str::to_owned);
        let mut out = Vec::new();
        super::window_title(&mut model, &mut out);
        out
    };
    assert!(matches!(title(None).as_slice(), [Effect::Title(title)] if title.ends_with("— Hermes")));
    let named = title(Some("work"));
    assert!(matches!(named.as_slice(), [Effect::Title(title)] if title.ends_with("— Hermes (work)")), "{named:?}");
}

#[test]
fn the_third_scope_takes_over_sessions_of_other_agents() {
    use crate::app::msg::LoadReply;
    use crate::app::session::elsewhere::TakenOver;
    let mut model = ready();
    let ask = |query: &str| Effect::Load(LoadRequest::Elsewhere { query: query.into() });
    script(&mut model, "<C-r>");
    rows(&mut model, "", &["a"]);
    assert_eq!(script(&mut model, "<tab><tab>"), [list("", Some("/src/app")), ask("")]);
    assert_eq!(rows(&mut model, "", &["a"]), [], "an answer of the scope before is dropped");
    assert_eq!(script(&mut model, "<ret>"), [], "nothing is there to take yet");
    let came = |more: bool| {
        let rows = vec![row("@codex:1"), row("@pi:2")];
        Msg::Loaded(LoadReply::Elsewhere { query: String::new(), rows, more, problems: vec!["no".into()] })
    };
    let preview = |key: &str| Effect::Load(LoadRequest::ElsewherePreview { key: key.into() });
    assert_eq!(update(&mut model, 0, came(true)), [preview("@codex:1"), ask("")], "it looks on");
    assert_eq!(script(&mut model, "<down>"), [preview("@pi:2")]);
    let items = Ok(vec![user(1, "hello")]);
    update(&mut model, 0, Msg::Loaded(LoadReply::ElsewherePreview { key: "@pi:2".into(), items }));
    let effects = update(&mut model, 0, came(false));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Load(_))), "the same list again asks for nothing");
    assert!(model.notices.shown.iter().any(|notice| notice.text == "no"));
    script(&mut model, "<del>");
    assert_eq!(model.tab.modals.len(), 1, "theirs are not deleted");
    let take = |wish: &str| Effect::Load(LoadRequest::TakeOver { wish: wish.into(), here: "/src/app".into() });
    assert_eq!(script(&mut model, "<ret>"), [take("@pi:2")]);
    let taken = TakenOver::Session("pi-2".into(), "Taken over".into());
    let effects = update(&mut model, 0, Msg::Loaded(LoadReply::TakenOver(Ok(taken))));
    assert_eq!(opens(&effects), [&Opens::Resume("pi-2".into())]);
    // By its name; where the folder has none, the others are listed.
    let mut model = ready();
    assert!(script(&mut model, "/resume @codex<ret>").contains(&take("@codex")));
    let effects = update(&mut model, 0, Msg::Loaded(LoadReply::TakenOver(Ok(TakenOver::Choose("@codex".into())))));
    assert_eq!(effects, [ask("@codex")]);
}
