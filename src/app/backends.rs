//! Where commands run: the list of backends, and going to another.

use super::effect::Effect;
use super::model::Model;
use super::model::modal::{PickItem, PickerKind};
use super::pickers;
use crate::agent::event::AgentCommand;
use crate::config::schema::BACKENDS;

/// `/backend`: the list; with a name it goes there.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let argument = argument.trim();
    if !argument.is_empty() {
        return chosen(out, argument);
    }
    let place = model.session.as_ref().map_or("local", |session| session.place.as_str());
    // A place is called by its kind first: `ssh dev@host`.
    let now = place.split(' ').next().unwrap_or_default().to_owned();
    let items = BACKENDS.iter().map(|kind| {
        let current = *kind == now;
        let detail =
            if current && place != *kind { format!("{} · now {place}", about(kind)) } else { about(kind).to_owned() };
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
    pickers::open(model, PickerKind::Backends, "Where commands run and files are", items);
    if let Some(picker) = pickers::top(model, PickerKind::Backends) {
        picker.footnote =
            "Enter works there from now on, in this run; hermes config set terminal.backend NAME keeps it".into();
    }
}

/// Enter, or a name behind the command.
pub fn chosen(out: &mut Vec<Effect>, kind: &str) {
    out.push(Effect::Agent(AgentCommand::SetBackend(kind.to_owned())));
}

fn about(kind: &str) -> &'static str {
    match kind {
        "local" => "this machine",
        "ssh" => "a machine that OpenSSH reaches: terminal.ssh_host",
        "docker" | "podman" => "a container: terminal.docker_image",
        "singularity" | "apptainer" => "an instance: terminal.singularity_image",
        "kubernetes" => "a pod: terminal.kubernetes_pod",
        "slurm" => "a job in a cluster: terminal.slurm_args",
        _ => "a place of its own",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::tests::{ready, script};

    #[test]
    fn the_list_says_where_commands_run_and_enter_goes_elsewhere() {
        let mut model = ready();
        if let Some(session) = &mut model.session {
            session.place = "ssh dev@box".into();
        }
        script(&mut model, "/backend<ret>");
        let Some(Modal::Picker(picker)) = model.modals.last() else { panic!("{:?}", model.modals) };
        let here: Vec<&str> = picker.items.iter().filter(|it| it.current).map(|it| it.detail.as_str()).collect();
        assert_eq!(here, ["a machine that OpenSSH reaches: terminal.ssh_host · now ssh dev@box"]);
        let effects = script(&mut model, "<up><ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::SetBackend("local".into()))), "{effects:?}");
        assert!(model.modals.is_empty());
    }

    #[test]
    fn a_name_goes_there_at_once() {
        let effects = script(&mut ready(), "/backend podman<ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::SetBackend("podman".into()))), "{effects:?}");
    }
}
