//! Models of this computer: those that are here, those that can be had, and the one on its way.

use super::{first_run, models, pickers};
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::hint;
use crate::app::model::Model;
use crate::app::model::local::{
    Download, DownloadState, DownloadStep, GotNot, LocalFact, LocalOrder, Offer, OfferState, Offers, ServedState,
};
use crate::app::model::modal::{Confirm, ConfirmThen, Modal, PickItem, PickerKind};
use crate::app::session::queue;
use crate::protocol::{AgentEvent, Level};
use crate::text::format;

/// The id of the provider in the config.
pub const PROVIDER: &str = "local";

/// Asks what there is. The demo, which asks nobody for anything, lists nothing.
pub fn ask(model: &Model, out: &mut Vec<Effect>) {
    if !model.demo {
        out.push(Effect::Load(LoadRequest::LocalModels));
    }
}

/// The list came.
pub fn listed(model: &mut Model, offers: Offers) {
    if let Some(problem) = &offers.problem {
        model.notices.add(model.now, Level::Warning, problem.clone());
    }
    first_run::change(model, |model| model.local.offers = Some(offers));
    refill(model);
}

/// The picker shows what is known now.
fn refill(model: &mut Model) {
    let rows = rows(model);
    if let Some(picker) = pickers::top(model, PickerKind::LocalModels) {
        pickers::fill(picker, rows);
    }
    note(model);
}

/// Opens the picker of models for this computer.
pub fn pick(model: &mut Model, out: &mut Vec<Effect>) {
    if model.demo {
        return model.notices.add(model.now, Level::Info, "the demo plays a script: leave it to get a model");
    }
    let coming = model.local.download.as_ref().map(|download| download.name.clone());
    let first = coming.or_else(|| model.local.offers.as_ref().and_then(|offers| offers.best.clone()));
    show(model, &first.unwrap_or_default());
    ask(model, out);
}

/// Opens the picker with what is known, at this model.
pub fn show(model: &mut Model, name: &str) {
    let items = rows(model);
    let loading = model.local.offers.is_none();
    pickers::open(model, PickerKind::LocalModels, "Models for this computer", items);
    if let Some(picker) = pickers::top(model, PickerKind::LocalModels) {
        picker.loading = loading;
        picker.selected = picker.items.iter().position(|item| item.value == name).unwrap_or_default();
    }
    note(model);
}

fn rows(model: &Model) -> Vec<PickItem> {
    let offers = model.local.offers.iter().flat_map(|offers| &offers.rows);
    let download = model.local.download.as_ref();
    let row = |offer: &Offer| PickItem {
        label: offer.title.clone(),
        detail: detail(offer).join(" · "),
        hint: match download.filter(|download| download.name == offer.name) {
            Some(download) => short(download),
            None => state(offer, model.local.offers.as_ref()),
        },
        value: offer.name.clone(),
        group: if offer.state.is_here() { "On this computer" } else { "To get" }.into(),
        ..PickItem::default()
    };
    let (here, others): (Vec<&Offer>, Vec<&Offer>) = offers.partition(|offer| offer.state.is_here());
    here.into_iter().chain(others).map(row).collect()
}

/// `2.7 GB`, `Apache-2.0`, `~12 tok/s`, the note.
fn detail(offer: &Offer) -> Vec<String> {
    let mut parts = vec![format::bytes(offer.bytes)];
    parts.extend((!offer.licence.is_empty()).then(|| offer.licence.clone()));
    parts.extend(offer.speed.map(|speed| format!("~{} tok/s", rounded(speed))));
    parts.extend((!offer.note.is_empty()).then(|| offer.note.clone()));
    parts
}

/// Tokens a second: nobody reads faster than some hundred.
pub fn rounded(speed: f64) -> String {
    match speed {
        speed if speed > 300.0 => "300+".to_owned(),
        speed if speed >= 9.5 => format!("{speed:.0}"),
        speed => format!("{speed:.1}"),
    }
}

fn state(offer: &Offer, offers: Option<&Offers>) -> String {
    match offer.state {
        OfferState::Here => String::new(),
        OfferState::Running => "running".into(),
        OfferState::Part(percent) => format!("{percent} % here"),
        OfferState::Fits if offers.is_some_and(|offers| offers.best.as_ref() == Some(&offer.name)) => {
            "best here".into()
        }
        OfferState::Fits => String::new(),
        OfferState::Slow => "slow here".into(),
        OfferState::Memory(need) => format!("needs {} memory", format::bytes(need)),
        OfferState::Disk(need) => format!("needs {} disk", format::bytes(need)),
    }
}

/// What is said of the selected row: all that its yes is about.
fn footnote(model: &Model, name: &str) -> String {
    let Some(offers) = &model.local.offers else { return String::new() };
    let Some(offer) = offers.rows.iter().find(|row| row.name == name) else { return String::new() };
    let does = |action, does: &str| hint::picker(model, action).map(|key| format!("{key} {does}"));
    if let Some(download) = model.local.download.as_ref().filter(|download| download.name == name) {
        let goes = if download.state == DownloadState::Running { "pauses" } else { "resumes" };
        let keys = [does(Action::Accept, goes), does(Action::CancelDownload, "cancels")];
        let keys = keys.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let why = if let DownloadState::Failed(why) = &download.state { why.as_str() } else { "" };
        return [long(download).as_str(), why, keys.as_str()].join("\n").trim_end().replace("\n\n", "\n");
    }
    if offer.state.is_here() {
        return does(Action::Accept, "uses it").unwrap_or_default();
    }
    if let Some(why) = &offers.missing {
        return why.clone();
    }
    let takes = takes(model, offer).join(" · ");
    does(Action::Accept, "gets it").into_iter().chain([takes]).collect::<Vec<_>>().join(": ")
}

/// What getting a model takes: size, licence, speed, and from whom it comes, with the engine where none is here.
pub fn takes(model: &Model, offer: &Offer) -> Vec<String> {
    let mut parts = vec![format::bytes(offer.bytes), offer.licence.clone()];
    parts.extend(offer.speed.map(|speed| format!("about {} tokens/s here", rounded(speed))));
    parts.push(format!("from {}", offer.host));
    if let Some(engine) = model.local.offers.as_ref().and_then(|offers| offers.engine.as_ref()) {
        parts.push(format!("with llama.cpp's server: {}, {}", format::bytes(engine.bytes), engine.licence));
        parts.push(format!("from {}", engine.host));
    }
    parts
}

/// The row that is selected now is told about.
pub fn note(model: &mut Model) {
    let Some(picker) = pickers::top(model, PickerKind::LocalModels) else { return };
    let name = pickers::chosen(picker).map(|item| item.value.clone()).unwrap_or_default();
    let text = footnote(model, &name);
    if let Some(picker) = pickers::top(model, PickerKind::LocalModels) {
        picker.footnote = text;
    }
}

/// A row of the picker was chosen.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let Some(offer) = model.local.find(name).cloned() else { return };
    if model.local.download.as_ref().is_some_and(|download| download.name == name) {
        return toggle(model, out);
    }
    match offer.state {
        OfferState::Here | OfferState::Running => use_it(model, out, name),
        OfferState::Part(_) | OfferState::Fits => get(model, out, name),
        OfferState::Slow | OfferState::Memory(_) => doubt(model, &offer),
        OfferState::Disk(need) => {
            let text = format!(
                "{} needs {} on the disk: free some, or set models.dir to another disk",
                offer.title,
                format::bytes(need)
            );
            model.notices.add(model.now, Level::Warning, text);
        }
    }
}

/// It does not fit well: whether it is wanted all the same.
fn doubt(model: &mut Model, offer: &Offer) {
    let why = match offer.state {
        OfferState::Memory(need) => {
            format!(
                "It needs {} of memory, and less is free now: close other programs before it runs.",
                format::bytes(need)
            )
        }
        OfferState::Slow
        | OfferState::Here
        | OfferState::Running
        | OfferState::Part(_)
        | OfferState::Fits
        | OfferState::Disk(_) => "Answers will take long on this computer.".to_owned(),
    };
    let text = format!("{}\n{} · {} · from {}", why, format::bytes(offer.bytes), offer.licence, offer.host);
    let then = ConfirmThen::GetModel(offer.name.clone());
    model.tab.modals.push(Modal::Confirm(Confirm::new(format!("Get {}", offer.title), text, "Get it", then)));
}

/// A model that is here answers from now on.
pub fn use_it(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    models::set(model, out, &format!("{PROVIDER}:{name}"));
}

/// Gets a model: the person said yes to what the row says.
pub fn get(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let Some(offer) = model.local.find(name).cloned() else { return };
    if let Some(why) = model.local.offers.as_ref().and_then(|offers| offers.missing.clone()) {
        return model.notices.add(model.now, Level::Warning, why);
    }
    if let Some(other) = model.local.download.as_ref().filter(|other| other.state == DownloadState::Running) {
        let text = format!("{} is on its way: pause or cancel it first", other.title);
        return model.notices.add(model.now, Level::Warning, text);
    }
    let percent = if let OfferState::Part(percent) = offer.state { percent } else { 0 };
    model.local.download = Some(Download { name: offer.name, title: offer.title, percent, ..Download::default() });
    go_on(model, out);
    first_run::select(model, &first_run::Row::Download);
}

/// Pauses the download, or goes on with it.
pub fn toggle(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(download) = &mut model.local.download else { return };
    match download.state {
        DownloadState::Running => {
            download.state = DownloadState::Paused;
            out.push(Effect::Local(LocalOrder::Pause));
        }
        DownloadState::Paused | DownloadState::Failed(_) => go_on(model, out),
    }
}

fn go_on(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(download) = &mut model.local.download else { return };
    model.local.runs += 1;
    download.run = model.local.runs;
    (download.state, download.step) = (DownloadState::Running, DownloadStep::Starting);
    out.push(Effect::Local(LocalOrder::Get { run: download.run, name: download.name.clone() }));
    refill(model);
}

/// Asks what becomes of a download that is not wanted now.
pub fn ask_cancel(model: &mut Model) {
    let Some(download) = &model.local.download else { return };
    let text = format!("{} % of {} is saved and can be resumed later.", download.percent, download.title);
    let mut confirm = Confirm::new(
        "Cancel the download",
        text,
        "Cancel, remove what came",
        ConfirmThen::CancelDownload { keep: false },
    );
    confirm.no = Some(("Cancel, keep it".into(), ConfirmThen::CancelDownload { keep: true }));
    model.tab.modals.push(Modal::Confirm(confirm));
}

/// The download is not wanted now.
pub fn cancel(model: &mut Model, out: &mut Vec<Effect>, keep: bool) {
    let Some(download) = model.local.download.take() else { return };
    if keep {
        if download.state == DownloadState::Running {
            out.push(Effect::Local(LocalOrder::Pause));
        }
        let rows = model.local.offers.iter_mut().flat_map(|offers| &mut offers.rows);
        if let Some(row) = rows.into_iter().find(|row| row.name == download.name && download.percent > 0) {
            row.state = OfferState::Part(download.percent);
        }
    } else {
        out.push(Effect::Local(LocalOrder::Drop { name: download.name }));
    }
    queue::take_back(model, out);
    refill(model);
}

/// Whether the first model is on its way: prompts wait for it.
pub fn is_awaited(model: &Model) -> bool {
    let comes = model.local.download.as_ref().map(|download| &download.state);
    let none = model.tab.session.as_ref().is_some_and(|session| session.model.is_empty());
    none && matches!(comes, Some(DownloadState::Running | DownloadState::Paused))
}

/// Something happened to a model of this computer.
pub fn heard(model: &mut Model, out: &mut Vec<Effect>, fact: LocalFact) {
    match fact {
        LocalFact::Step { run, step } => stepped(model, run, step),
        LocalFact::Got { run, result } => got(model, out, run, result),
        LocalFact::Dropped(result) => {
            if let Err(why) = result {
                model.notices.add(model.now, Level::Error, why);
            }
            ask(model, out);
        }
        LocalFact::Served(served) => model.local.served = served,
    }
}

fn current(model: &mut Model, run: u32) -> Option<&mut Download> {
    model.local.download.as_mut().filter(|download| download.run == run)
}

fn stepped(model: &mut Model, run: u32, step: DownloadStep) {
    let Some(download) = current(model, run) else { return };
    if let DownloadStep::Loading { engine: false, done, of, .. } = step {
        download.percent = done * 100 / of.max(1);
    }
    // A pause that is on its way must not look as if it went on.
    if download.state == DownloadState::Running {
        download.step = step;
        refill(model);
    }
}

fn got(model: &mut Model, out: &mut Vec<Effect>, run: u32, result: Result<(), GotNot>) {
    let Some(download) = current(model, run) else { return };
    match result {
        Ok(()) => {
            let (name, title) = (download.name.clone(), download.title.clone());
            model.local.download = None;
            here(model, out, &name, &title);
        }
        Err(GotNot::Paused) => download.state = DownloadState::Paused,
        Err(GotNot::Failed(why)) => {
            download.state = DownloadState::Failed(why.clone());
            // The card says it in full.
            if model.first_run.is_none() {
                model.notices.add(model.now, Level::Error, why);
            }
        }
    }
    ask(model, out);
    refill(model);
}

/// A model came: it answers where none does yet, else it is said how to choose it.
fn here(model: &mut Model, out: &mut Vec<Effect>, name: &str, title: &str) {
    let waits = model.tab.session.as_ref().is_none_or(|session| session.model.is_empty());
    if waits {
        use_it(model, out, name);
        return model.notices.add(model.now, Level::Info, format!("{title} is ready: it is your default model now"));
    }
    let key = hint::key(model, Action::ModelPicker).map(|key| format!(": {key} chooses it"));
    let text = format!("{title} is here{}", key.unwrap_or_default());
    model.notices.add(model.now, Level::Info, text);
}

/// A download in a few words: `41 %`, `paused, 41 %`.
pub fn short(download: &Download) -> String {
    let percent = download.percent;
    match (&download.state, &download.step) {
        (DownloadState::Paused, _) => format!("paused, {percent} %"),
        (DownloadState::Failed(_), _) => format!("failed, {percent} %"),
        (DownloadState::Running, DownloadStep::Checking(_)) => "checking".into(),
        (DownloadState::Running, DownloadStep::Unpacking) => "unpacking".into(),
        (DownloadState::Running, DownloadStep::Starting | DownloadStep::Trying { .. }) => format!("{percent} %…"),
        (DownloadState::Running, DownloadStep::Loading { engine: true, done, of, .. }) => {
            format!("engine {} %", done * 100 / of.max(&1))
        }
        (DownloadState::Running, DownloadStep::Loading { engine: false, .. }) => format!("{percent} %"),
    }
}

/// The same in full: `41 % of 2.7 GB · 12 MB/s · 2m 10s left`.
pub fn long(download: &Download) -> String {
    match (&download.state, &download.step) {
        (DownloadState::Paused, _) => format!("paused at {} %", download.percent),
        (DownloadState::Failed(_), _) => format!("stopped at {} %", download.percent),
        (DownloadState::Running, DownloadStep::Starting) => "asking for it…".into(),
        (DownloadState::Running, DownloadStep::Checking(percent)) => format!("checking what is here, {percent} %"),
        (DownloadState::Running, DownloadStep::Unpacking) => "unpacking llama.cpp's server".into(),
        (DownloadState::Running, DownloadStep::Trying { host, why }) => format!("{host}: {why}; trying again"),
        (DownloadState::Running, DownloadStep::Loading { engine, done, of, speed }) => {
            let what = if *engine { "llama.cpp's server, " } else { "" };
            let (percent, of_all) = (done * 100 / of.max(&1), format::bytes(*of));
            if *speed < 1.0 {
                return format!("{what}{percent} % of {of_all}");
            }
            let left = format::clock((of.saturating_sub(*done) as f64 / speed * 1000.0) as u64);
            format!("{what}{percent} % of {of_all} · {}/s · {left} left", format::bytes(*speed as u64))
        }
    }
}

/// Cells of a hundred that a bar fills.
pub fn filled(download: &Download) -> u64 {
    match download.step {
        DownloadStep::Loading { engine: true, done, of, .. } => done * 100 / of.max(1),
        DownloadStep::Checking(percent) => percent,
        DownloadStep::Starting
        | DownloadStep::Unpacking
        | DownloadStep::Trying { .. }
        | DownloadStep::Loading { engine: false, .. } => download.percent,
    }
}

/// What the server of a model does, in a word; empty where none runs.
pub fn running(model: &Model, name: &str) -> &'static str {
    let served = model.local.served.iter().find(|served| served.name == name);
    match (served.map(|served| served.state), model.local.find(name).map(|offer| offer.state)) {
        (Some(ServedState::Loading), _) => "loading",
        (Some(ServedState::Asleep), _) => "asleep",
        // Another window may be its user.
        (Some(ServedState::On), _) | (None, Some(OfferState::Running)) => "running",
        (None, _) => "",
    }
}

/// What a turn does changes what its model's server does: it is looked at again.
pub fn follow(model: &Model, out: &mut Vec<Effect>, event: &AgentEvent) {
    let moves = matches!(event, AgentEvent::TurnStarted { .. } | AgentEvent::TurnFinished(_));
    if moves && !model.local.served.is_empty() {
        out.push(Effect::Load(LoadRequest::Served));
    }
}

#[cfg(test)]
mod tests;
