//! Signing in without a key: the modal with the code or the address, and what follows when it is done.

use super::models;
use crate::app::action::Action;
use crate::app::effect::{AccountOrder, Effect};
use crate::app::model::Model;
use crate::app::model::modal::Modal;
use crate::app::model::sign_in::{AccountFact, SignInModal, SignInStage, Visit};
use crate::protocol::{AgentCommand, Level};

/// Begins it; the modal opens at once, the code comes to it.
pub fn begin(model: &mut Model, out: &mut Vec<Effect>, provider: &str) {
    let row = model.sign_ins.iter().find(|row| row.provider == provider);
    let title = row.map_or(provider, |row| &row.title).to_owned();
    model.tab.modals.retain(|modal| !matches!(modal, Modal::SignIn(_)));
    let provider = provider.to_owned();
    model.tab.modals.push(Modal::SignIn(Box::new(SignInModal {
        provider: provider.clone(),
        title,
        stage: SignInStage::Asking,
    })));
    out.push(Effect::Account(AccountOrder::SignIn { provider }));
}

fn modal<'a>(model: &'a mut Model, provider: &str) -> Option<&'a mut SignInModal> {
    model.tab.modals.iter_mut().find_map(|modal| {
        let Modal::SignIn(state) = modal else { return None };
        (state.provider == provider).then_some(&mut **state)
    })
}

/// The place to visit of the sign-in on top.
fn visit(model: &Model) -> Option<&Visit> {
    let Some(Modal::SignIn(state)) = model.tab.modals.last() else { return None };
    match &state.stage {
        SignInStage::Code(visit) | SignInStage::Browser(visit) => Some(visit),
        SignInStage::Asking | SignInStage::Failed(_) => None,
    }
}

/// An action while it is open.
pub fn act(model: &mut Model, out: &mut Vec<Effect>, action: Option<Action>) {
    match action {
        Some(Action::Close) => leave(model, out),
        Some(Action::CopyAddress) => {
            if let Some(visit) = visit(model) {
                out.push(Effect::Copy(visit.opens.clone()));
            }
        }
        Some(Action::Accept) => match visit(model) {
            Some(visit) => out.push(Effect::Account(AccountOrder::Browse { address: visit.opens.clone() })),
            None => again(model, out),
        },
        _ => {}
    }
}

/// After a failure the same once more.
fn again(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::SignIn(state)) = model.tab.modals.last() else { return };
    if matches!(state.stage, SignInStage::Failed(_)) {
        let provider = state.provider.clone();
        begin(model, out, &provider);
    }
}

/// Closes it; what waits for the person ends.
pub fn leave(model: &mut Model, out: &mut Vec<Effect>) {
    model.tab.modals.pop();
    out.push(Effect::Account(AccountOrder::Leave));
}

/// The address that the browser of another machine ended at.
pub fn pasted(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    let Some(Modal::SignIn(state)) = model.tab.modals.last() else { return };
    if !matches!(state.stage, SignInStage::Browser(_)) {
        return;
    }
    let address = text.trim().to_owned();
    if address.starts_with("http") {
        out.push(Effect::Account(AccountOrder::CameBack { address }));
    } else {
        model.notices.add(model.now, Level::Warning, "paste the whole address, including http");
    }
}

/// A fact of a sign-in; one that was left is not told.
pub fn heard(model: &mut Model, out: &mut Vec<Effect>, fact: AccountFact) {
    match fact {
        AccountFact::Step { provider, stage } => {
            if let Some(state) = modal(model, &provider) {
                state.stage = stage;
            }
        }
        AccountFact::SignedIn { provider, result: Ok(said) } => {
            let open = modal(model, &provider).is_some();
            model.tab.modals.retain(|modal| !matches!(modal, Modal::SignIn(_)));
            model.notices.add(model.now, Level::Info, said);
            out.push(Effect::Agent(AgentCommand::Reload));
            if open {
                models::pick_of(model, out, &provider);
            }
        }
        AccountFact::SignedIn { provider, result: Err(why) } => {
            if let Some(state) = modal(model, &provider) {
                state.stage = SignInStage::Failed(why);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::effect::LoadRequest;
    use crate::app::model::sign_in::SignInRow;
    use crate::app::msg::Msg;
    use crate::app::tests::{ready, script};
    use crate::app::update;

    fn offered() -> Model {
        let mut model = ready();
        let row = SignInRow { provider: "nous".into(), title: "Nous Portal".into(), ..SignInRow::default() };
        model.sign_ins = vec![row];
        model
    }

    fn fact(model: &mut Model, fact: AccountFact) -> Vec<Effect> {
        let now = model.now;
        update(model, now, Msg::Account(fact))
    }

    fn visit() -> Visit {
        Visit {
            code: "WXYZ-1234".into(),
            address: "https://p.example".into(),
            opens: "https://p.example/?c".into(),
            ..Visit::default()
        }
    }

    #[test]
    fn a_code_is_shown_opened_and_copied_and_the_models_follow() {
        let mut model = offered();
        let effects = script(&mut model, "/login nous<ret><ret>");
        assert!(effects.contains(&Effect::Account(AccountOrder::SignIn { provider: "nous".into() })), "{effects:?}");
        fact(&mut model, AccountFact::Step { provider: "nous".into(), stage: SignInStage::Code(visit()) });
        assert!(script(&mut model, "c").contains(&Effect::Copy("https://p.example/?c".into())));
        let browse = Effect::Account(AccountOrder::Browse { address: "https://p.example/?c".into() });
        assert!(script(&mut model, "<ret>").contains(&browse));
        let effects = fact(&mut model, AccountFact::SignedIn { provider: "nous".into(), result: Ok("done".into()) });
        assert!(effects.contains(&Effect::Agent(AgentCommand::Reload)));
        assert!(effects.contains(&Effect::Load(LoadRequest::Models { refresh: false })), "{effects:?}");
        assert!(!model.tab.modals.iter().any(|modal| matches!(modal, Modal::SignIn(_))));
    }

    #[test]
    fn it_can_be_left_can_fail_and_can_be_tried_again() {
        let mut model = offered();
        script(&mut model, "/login nous<ret><ret>");
        assert!(script(&mut model, "<esc>").contains(&Effect::Account(AccountOrder::Leave)));
        // Too late: nobody asked.
        fact(&mut model, AccountFact::Step { provider: "nous".into(), stage: SignInStage::Code(visit()) });
        assert!(model.tab.modals.is_empty());
        script(&mut model, "/login nous<ret><ret>");
        fact(&mut model, AccountFact::SignedIn { provider: "nous".into(), result: Err("access was denied".into()) });
        let again = script(&mut model, "<ret>");
        assert!(again.contains(&Effect::Account(AccountOrder::SignIn { provider: "nous".into() })), "{again:?}");
    }

    #[test]
    fn the_address_of_another_machine_is_pasted() {
        let mut model = offered();
        script(&mut model, "/login nous<ret><ret>");
        fact(&mut model, AccountFact::Step { provider: "nous".into(), stage: SignInStage::Browser(visit()) });
        let paste = |model: &mut Model, text: &str| {
            let now = model.now;
            update(model, now, Msg::Pasted(text.into()))
        };
        assert!(!paste(&mut model, "code").iter().any(|effect| matches!(effect, Effect::Account(_))));
        let back = Effect::Account(AccountOrder::CameBack { address: "http://localhost/?code=1".into() });
        assert!(paste(&mut model, "http://localhost/?code=1\n").contains(&back));
    }
}
