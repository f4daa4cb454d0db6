//! Tables: a text with its caret as `|`, keys, and what they make of it.

use super::machine::{Memory, Mode, State, Took};
use super::text::Text;
use super::{Caret, caret, sign};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::{composer, history};
use crate::app::model::{Model, Pane};
use crate::app::tests::{keys, model, ready, script};
use crate::config::keymap::Code;

fn text(marked: &str) -> Text {
    let at = marked.chars().position(|c| c == '|').expect("a caret");
    Text::new(&marked.replacen('|', "", 1), at)
}

fn shown(text: &Text) -> String {
    format!("{}|{}", text.slice(0, text.at), text.slice(text.at, usize::MAX))
}

/// Keys in normal mode; letters of insert mode go into the text as the field would put them.
fn run(start: &str, script: &str, single: bool) -> (String, Mode) {
    let mut state = State { mode: Mode::Normal, ..State::default() };
    let mut memory = Memory::default();
    let mut text = text(start);
    for key in keys(script) {
        let took = state.key(&mut memory, &mut text, key, single);
        if took == Took::No && state.mode == Mode::Insert {
            match key.code {
                Code::Char(c) => {
                    text.replace(text.at, text.at, &c.to_string());
                    text.at += 1;
                }
                Code::Backspace => {
                    text.at -= 1;
                    text.replace(text.at, text.at + 1, "");
                }
                other => panic!("{other:?} in insert mode"),
            }
        }
    }
    (shown(&text), state.mode)
}

fn table(rows: &[(&str, &str, &str)]) {
    for (start, script, end) in rows {
        assert_eq!(run(start, script, false).0, *end, "{start:?} {script}");
    }
}

#[test]
fn motions() {
    table(&[
        ("|one two", "l", "o|ne two"),
        ("|one two", "3l", "one| two"),
        ("|one", "9l", "on|e"),
        ("one\n|two", "h", "one\n|two"),
        ("|one two.x", "w", "one |two.x"),
        ("|one two.x", "2w", "one two|.x"),
        ("|one two.x y", "2W", "one two.x |y"),
        ("|one", "w", "on|e"),
        ("one\n\n|two", "b", "one\n|\ntwo"),
        ("one two|.x", "b", "one |two.x"),
        ("one two.|x", "B", "one |two.x"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("|one two.x", "2E", "one two.|x"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one\ntwo", "$", "on|e\ntwo"),
        ("|one\ntwo", "2$", "one\ntw|o"),
        ("a\nb|b\nc", "gg", "|a\nbb\nc"),
        ("|a\nbb\nc", "G", "a\nbb\n|c"),
        ("|a\nbb\nc", "2G", "a\n|bb\nc"),
        ("|a\nbb\nc", "2gg", "a\n|bb\nc"),
        ("ab|c\nd\nefg", "jj", "abc\nd\nef|g"),
        ("abc\nd\nef|g", "kk", "ab|c\nd\nefg"),
        ("|a.b.c", "f.", "a|.b.c"),
        ("|a.b.c", "2f.", "a.b|.c"),
        ("|a.b.c", "f.;", "a.b|.c"),
        ("|a.b.c", "t.", "|a.b.c"),
        ("|aa.b.c", "t.;", "aa.|b.c"),
        ("a.b.|c", "F.", "a.b|.c"),
        ("a.b.|c", "T.", "a.b.|c"),
        ("a.b.|c", "F.;,", "a.b|.c"),
        ("|abc", "fx", "|abc"),
        ("|日本 語", "w", "日本 |語"),
    ]);
}

#[test]
fn operators() {
    table(&[
        ("|one two three", "dw", "|two three"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two", "de", "| two"),
        ("one |two", "db", "|two"),
        ("one t|wo", "d0", "|wo"),
        ("one |two", "d$", "one| "),
        ("one |two", "D", "one| "),
        ("|a,b,c", "df,", "|b,c"),
        ("|a,b,c", "dt,", "|,b,c"),
        ("a,b,|c", "dF,", "a,b|c"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a", "dd", "|"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\nb\n|c", "dk", "|a"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|one two", "cwxy<esc>", "x|y two"),
        ("o|ne two", "cwX<esc>", "o|X two"),
        ("|one two", "ccx<esc>", "|x"),
        ("a\n|b\nc", "ccx<esc>", "a\n|x\nc"),
        ("one |two", "Cx<esc>", "one |x"),
        ("|one two", "yyp", "one two\n|one two"),
        ("|one\ntwo", "yyjp", "one\ntwo\n|one"),
        ("one\n|two", "yyP", "one\n|two\ntwo"),
        ("|one two", "ywP", "one| one two"),
        ("|one two", "yw$p", "one twoone| "),
        ("|abc", "xp", "b|ac"),
        ("|abc", "3x", "|"),
        ("ab|c", "X", "a|c"),
        ("|abc", "sx<esc>", "|xbc"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "3rx", "xx|x"),
        ("|abc", "4rx", "|abc"),
        ("|aBc", "3~", "Ab|C"),
        ("|a\n  b", "J", "a| b"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("one |two three", "diw", "one | three"),
        ("one |two three", "daw", "one |three"),
        ("one |two", "daw", "on|e"),
        ("f(a, |b)", "di(", "f(|)"),
        ("f(a, |b) c", "da(", "f| c"),
        ("f(|a(b))", "ci(x<esc>", "f(|x)"),
        ("say \"h|i\" x", "ci\"yo<esc>", "say \"y|o\" x"),
        ("|abc", "dz", "|abc"),
        ("|abc", "d<esc>x", "|bc"),
        ("|abc", "2<ret>x", "|bc"),
    ]);
}

#[test]
fn insert_mode_and_its_repetition() {
    table(&[
        ("a|b", "ix<esc>", "a|xb"),
        ("a|b", "ax<esc>", "ab|x"),
        ("  a|b", "Ix<esc>", "  |xab"),
        ("|ab", "Ax<esc>", "ab|x"),
        ("|a\nb", "ox<esc>", "a\n|x\nb"),
        ("a\n|b", "Ox<esc>", "a\n|x\nb"),
        ("|b", "3ix<esc>", "xx|xb"),
        ("|a", "2ox<esc>", "a\nx\n|x"),
        ("|one two three", "dw.", "|three"),
        ("|one two three", "cwx<esc>w.", "x |x three"),
        ("|a b c d", "dw2.", "|d"),
        ("|abcdef", "2x.", "|ef"),
        ("|abcdef", "x3.", "|ef"),
        ("|a\nb\nc", "Ax<esc>j.", "ax\nb|x\nc"),
        ("|a b", "ixy<backspace><esc>w.", "xa |xb"),
    ]);
}

#[test]
fn changes_are_undone_and_redone() {
    table(&[
        ("|one two", "dwu", "|one two"),
        ("|one two", "dwxu", "|two"),
        ("|one two", "dwxuu", "|one two"),
        ("|one two", "dwxuu<C-r>", "|two"),
        ("|one two", "dwxuu2<C-r>", "|wo"),
        ("|one two", "cwabc<esc>u", "|one two"),
        ("|one", "ixyz<esc>u", "|one"),
        ("|one", "u", "|one"),
        ("|one two three", "dw.uu", "|one two three"),
        ("|one two", "dwuxu<C-r><C-r>", "|ne two"),
    ]);
}

#[test]
fn visual_mode() {
    table(&[
        ("|one two", "vwd", "|wo"),
        ("|one two", "ved", "| two"),
        ("one tw|o", "vbd", "one| "),
        ("|one two", "veyP", "on|eone two"),
        ("|one two", "vlcx<esc>", "|xe two"),
        ("|one\ntwo\nthree", "Vjd", "|three"),
        ("|one two", "ve~", "|ONE two"),
        ("|one two", "verx", "|xxx two"),
        ("o|ne two", "vwohd", "|wo"),
        ("|one two", "vl<esc>x", "o|e two"),
        ("|a\nb\nc", "vjJ", "a| b\nc"),
        ("o|ne two", "viwd", "| two"),
    ]);
    let mut state = State { mode: Mode::Normal, ..State::default() };
    let mut text = text("|one two");
    for key in keys("ve") {
        state.key(&mut Memory::default(), &mut text, key, false);
    }
    assert_eq!(state.marked(&text), Some((0, 3)));
}

#[test]
fn one_line_stays_one_line() {
    for (start, script, end) in [
        ("|one", "ox<esc>", "one|x"),
        ("|one", "ddP", "on|e"),
        ("|one two", "J", "|one two"),
        ("|a b", "yyp", "aa |b b"),
    ] {
        let (shown, _) = run(start, script, true);
        assert!(!shown.contains('\n'), "{shown}");
        assert_eq!(shown, end, "{start:?} {script}");
    }
}

#[test]
fn modes_end_where_they_should() {
    for (script, mode) in [
        ("i", Mode::Insert),
        ("i<esc>", Mode::Normal),
        ("v", Mode::Visual),
        ("vv", Mode::Normal),
        ("V", Mode::VisualLine),
        ("Vv", Mode::Visual),
        ("v<esc>", Mode::Normal),
        ("vc", Mode::Insert),
        ("cc", Mode::Insert),
        ("d", Mode::Normal),
        ("dd", Mode::Normal),
        ("9999999999l", Mode::Normal),
    ] {
        assert_eq!(run("|one two", script, false).1, mode, "{script}");
    }
}

fn in_vi(mut model: Model) -> Model {
    model.vi = super::Vi::new(true);
    model
}

fn written(model: &Model) -> String {
    composer::text(&model.tab.composer)
}

#[test]
fn the_composer_takes_vi_keys() {
    for (script_, end) in [
        ("one two<esc>bdw", "one "),
        ("one two<esc>bcwthree<esc>", "one three"),
        ("one<A-ret>two<esc>ggdd", "two"),
        ("one<esc>yyp", "one\none"),
        ("one two<esc>dbu", "one two"),
        ("one two<esc>u", ""),
        ("one two<esc>u<C-r>", "one two"),
        ("<esc>ione", "one"),
        ("one<esc><C-e>A!", "one!"),
        ("one<esc>/", "one"),
    ] {
        let mut model = in_vi(model());
        script(&mut model, script_);
        assert_eq!(written(&model), end, "{script_}");
    }
}

#[test]
fn enter_sends_and_a_new_text_begins_in_insert_mode() {
    let mut model = in_vi(ready());
    let effects = script(&mut model, "hello<esc><ret>");
    let sent = effects.iter().any(
        |effect| matches!(effect, Effect::Agent(crate::protocol::AgentCommand::Submit { text, .. }) if text == "hello"),
    );
    assert!(sent, "{effects:?}");
    assert_eq!(sign(&model).map(|(word, _)| word), Some("INSERT"));
}

#[test]
fn escape_closes_leaves_insert_mode_then_stops() {
    use crate::protocol::AgentCommand;
    let stops =
        |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Agent(AgentCommand::Stop { .. })));
    let mut model = in_vi(ready());
    script(&mut model, "go<ret>/he");
    assert!(model.tab.composer.completion.is_some());
    assert!(!stops(&script(&mut model, "<esc>")), "the popup first");
    assert!(model.tab.composer.completion.is_none());
    assert!(!stops(&script(&mut model, "<esc>")), "then insert mode");
    assert_eq!(sign(&model).map(|(word, _)| word), Some("NORMAL"));
    assert!(!stops(&script(&mut model, "d<esc>")), "then a begun command");
    assert!(stops(&script(&mut model, "<esc>")), "then the turn");
}

#[test]
fn the_edges_walk_the_history_and_other_keys_stay_what_they_are() {
    let mut model = in_vi(ready());
    history::loaded(&mut model, vec!["earlier".into()]);
    script(&mut model, "draft<esc>k");
    assert_eq!(written(&model), "earlier");
    script(&mut model, "j");
    assert_eq!(written(&model), "draft");
    script(&mut model, "<C-p>");
    assert_eq!(model.tab.modals.len(), 1, "the palette");
    script(&mut model, "<esc>:");
    assert_eq!(model.tab.modals.len(), 1, "and by a colon");
}

#[test]
fn fields_of_modals_take_vi_keys_and_keep_their_list() {
    use crate::app::model::modal::Modal;
    let query = |model: &Model| match model.tab.modals.last() {
        Some(Modal::Picker(picker)) => Some((picker.query.clone(), picker.cursor, picker.selected)),
        _ => None,
    };
    let mut model = in_vi(ready());
    script(&mut model, "<C-p>open new<esc>bcwthe<esc>");
    assert_eq!(query(&model), Some(("open the".into(), 7, 0)));
    script(&mut model, "dd");
    assert_eq!(query(&model), Some((String::new(), 0, 0)));
    script(&mut model, "jj");
    assert_eq!(query(&model), Some((String::new(), 0, 2)), "j and k walk the list");
    script(&mut model, "<esc>");
    assert_eq!(query(&model), None, "the second Esc closes");
    script(&mut model, "<C-p><esc>");
    assert_eq!(query(&model), None, "an empty field has nothing to leave for");
    script(&mut model, "<C-f>abc<esc>0x");
    match model.tab.modals.last() {
        Some(Modal::Input(input)) => assert_eq!(input.text, "bc"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_switch_is_kept_and_the_caret_has_its_shape() {
    let mut model = ready();
    let effects = script(&mut model, "/vi<ret>");
    let kept = LoadRequest::SetConfig { key: "composer.mode".into(), value: "vi".into() };
    assert!(effects.contains(&Effect::Load(kept)), "{effects:?}");
    assert!(effects.contains(&Effect::Caret(Caret::Bar)), "{effects:?}");
    assert!(script(&mut model, "<esc>").contains(&Effect::Caret(Caret::Block)));
    model.tab.focus = Pane::Conversation;
    assert_eq!(caret(&model), Caret::Usual);
    model.tab.focus = Pane::Composer;
    let effects = script(&mut model, "i/vi off<ret>");
    let kept = LoadRequest::SetConfig { key: "composer.mode".into(), value: "emacs".into() };
    assert!(effects.contains(&Effect::Load(kept)), "{effects:?}");
    assert!(effects.contains(&Effect::Caret(Caret::Usual)), "{effects:?}");
    assert_eq!(sign(&model), None);
}
