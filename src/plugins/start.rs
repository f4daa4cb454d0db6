//! What a start of a plugin runs. A plugin of a project runs from a copy of exactly what a person looked at: what is
//! written into its folder afterwards, even while it starts, is not what runs.

use super::found::Found;
use super::manifest::{self, Start};
use super::peer::Launch;
use super::registered::PROTOCOL;
use super::setting::Setting;
use crate::config::trust;
use crate::exec::Scratch;
use serde_json::{Value, json};
use std::path::Path;

/// All that one start needs.
pub(super) struct Prepared {
    pub(super) launch: Launch,
    /// What `initialize` is told.
    pub(super) hello: Value,
    /// The copy; goes with this.
    _copy: Option<Scratch>,
}

/// Makes ready what runs.
///
/// # Errors
/// It is no longer what was trusted, or nothing can be started; in words.
pub(super) async fn prepare(found: &Found, setting: &Setting) -> Result<Prepared, String> {
    let (found, setting) = (found.clone(), setting.clone());
    let work = move || match &found.fingerprint {
        None => of(&found, &setting, None),
        Some(fingerprint) => {
            let copy = Scratch::new(&setting.copies, "plugin")
                .map_err(|error| format!("could not copy to {}: {error}", setting.copies.display()))?;
            let dir = copy.path().join(&found.name);
            let changed = |why: String| format!("{why}; review it with /trust, or hermes config trust DIR");
            trust::copy(&found.dir, fingerprint, &dir).map_err(changed)?;
            // The manifest is a part of what was looked at.
            let found = Found { manifest: manifest::read(&dir), dir, ..found.clone() };
            of(&found, &setting, Some(copy))
        }
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(format!("could not prepare it: {error}")))
}

fn of(found: &Found, setting: &Setting, copy: Option<Scratch>) -> Result<Prepared, String> {
    let manifest = found.manifest.as_ref().map_err(ToString::to_string)?;
    let hello = json!({
        "protocol": PROTOCOL,
        "hermes_version": env!("CARGO_PKG_VERSION"),
        "plugin": {
            "name": found.name,
            "version": manifest.version,
            "dir": found.dir,
            "data_dir": setting.data,
            "config": setting.config,
        },
    });
    let (program, args) = match manifest::start(&found.dir, manifest).map_err(|error| error.to_string())? {
        Start::Program(words) => {
            let (first, rest) = words.split_first().ok_or("its command is empty")?;
            match std::fs::metadata(first).map(|meta| std::os::unix::fs::PermissionsExt::mode(&meta.permissions())) {
                // A script that nobody made executable.
                Ok(mode) if mode & 0o111 == 0 => {
                    let args = std::iter::once(first.clone()).chain(rest.iter().cloned()).collect();
                    ("sh".to_owned(), args)
                }
                _ => (first.clone(), rest.to_vec()),
            }
        }
        Start::Python { python, target } => {
            let args = vec![setting.runner.to_string_lossy().into_owned(), target];
            (python.to_string_lossy().into_owned(), args)
        }
    };
    let mut env = setting.env.clone();
    let path = |path: &Path| path.to_string_lossy().into_owned();
    env.insert("HERMES_PLUGIN_DIR".into(), path(&found.dir));
    env.insert("HERMES_PLUGIN_DATA".into(), path(&setting.data));
    env.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
    let launch = Launch { program, args, dir: found.dir.clone(), env };
    Ok(Prepared { launch, hello, _copy: copy })
}
