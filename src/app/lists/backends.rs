//! Where commands run: the list of backends, and going to another.

use super::pickers;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::config::schema::BACKENDS;
use crate::protocol::AgentCommand;

/// `/backend`: the list; with a name it goes there.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let argument = argument.trim();
    if !argument.is_empty() {
        return chosen(out, argument);
    }
    let place = model.tab.session.as_ref().map_or("local", |session| session.place.as_str());
    // A place is called by its kind first: `ssh dev@host`.
    let now = place.split(' ').next().unwrap_or_default().to_owned();
    let unavailable = model.tab.session.as_ref().map_or(&[][..], |session| &session.unavailable);
    let items = BACKENDS.iter().map(|kind| {
        let current = *kind == now;
        let reason = unavailable.iter().find(|backend| backend.kind == *kind).map(|backend| backend.reason.clone());
        let detail = match reason {
            _ if current && place != *kind => format!("now {place}"),
            Some(why) => why,
            None => about(kind).0.to_owned(),
        };
        PickItem {
            label: (*kind).to_owned(),
            detail,
            hint: if current { "here".to_owned() } else { String::new() },
            value: (*kind).to_owned(),
            current,
            ..PickItem::default()
        }
    });
    let items = items.collect();
    pickers::open(model, PickerKind::Backends, "Choose where commands run", items);
    note(model);
}

/// What the selected one lacks in full, or what sets it up, below the list.
pub fn note(model: &mut Model) {
    let unavailable = model.tab.session.as_ref().map(|session| session.unavailable.clone()).unwrap_or_default();
    let Some(picker) = pickers::top(model, PickerKind::Backends) else { return };
    let Some(kind) = pickers::chosen(picker).map(|item| item.value.clone()) else { return picker.footnote.clear() };
    picker.footnote = match (unavailable.into_iter().find(|backend| backend.kind == kind), about(&kind).1) {
        (Some(backend), _) => backend.reason,
        (None, "") => format!("for all sessions: hermes config set terminal.backend {kind}"),
        (None, key) => format!("its key: terminal.{key}; for all sessions: hermes config set terminal.backend {kind}"),
    };
}

/// Enter, or a name behind the command.
pub fn chosen(out: &mut Vec<Effect>, kind: &str) {
    out.push(Effect::Agent(AgentCommand::SetBackend(kind.to_owned())));
}

/// What it is, and the most important of its keys below `terminal`.
fn about(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "local" => ("this machine", ""),
        "ssh" => ("a machine over SSH", "ssh_host"),
        "docker" | "podman" => ("a container", "docker_image"),
        "singularity" | "apptainer" => ("an instance", "singularity_image"),
        "kubernetes" => ("a pod", "kubernetes_pod"),
        "slurm" => ("a cluster job", "slurm_args"),
        "modal" => ("a Modal sandbox", "modal_image"),
        "daytona" => ("a Daytona sandbox", "daytona_image"),
        _ => ("another backend", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::tests::{ready, script};
    use crate::protocol::UnavailableBackend;

    #[test]
    fn the_list_says_where_commands_run_and_enter_goes_elsewhere() {
        let mut model = ready();
        if let Some(session) = &mut model.tab.session {
            session.place = "ssh dev@box".into();
            session.unavailable =
                vec![UnavailableBackend { kind: "podman".into(), reason: "`podman` is not installed".into() }];
        }
        script(&mut model, "/backend<ret>");
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        let here: Vec<&str> = picker.items.iter().filter(|it| it.current).map(|it| it.detail.as_str()).collect();
        assert_eq!(here, ["now ssh dev@box"]);
        let row = |name: &str| {
            picker.items.iter().find(|it| it.label == name).map(|it| (it.detail.as_str(), it.hint.as_str()))
        };
        assert_eq!(row("docker"), Some(("a container", "")));
        assert_eq!(row("podman"), Some(("`podman` is not installed", "")), "what lacks something says what");
        let note = |model: &Model| match model.tab.modals.last() {
            Some(Modal::Picker(picker)) => picker.footnote.clone(),
            other => panic!("{other:?}"),
        };
        assert!(note(&model).starts_with("its key: terminal.ssh_host; for all sessions"), "{}", note(&model));
        script(&mut model, "<down><down>");
        assert_eq!(note(&model), "`podman` is not installed");
        let effects = script(&mut model, "<up><up><up><ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::SetBackend("local".into()))), "{effects:?}");
        assert!(model.tab.modals.is_empty());
    }

    #[test]
    fn a_name_goes_there_at_once() {
        let effects = script(&mut ready(), "/backend podman<ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::SetBackend("podman".into()))), "{effects:?}");
    }
}
