//! The log of the program, without secrets.

use super::Base;
use crate::policy::redact::{RedactKind, Secrets, redact};

/// Logs to `<home>/logs/hermes.log`; the screen and standard output stay clean. The guard flushes at the end.
pub fn logging(base: &Base) -> Option<tracing_appender::non_blocking::WorkerGuard> {
    let folder = base.paths.logs();
    crate::fs::ensure_dir(&folder).ok()?;
    let filter =
        tracing_subscriber::EnvFilter::try_from_env("HERMES_LOG").unwrap_or_else(|_| "hermes=info,warn".into());
    let file = tracing_appender::rolling::RollingFileAppender::builder()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("hermes")
        .filename_suffix("log")
        .max_log_files(5)
        .build(&folder)
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let secrets = base.loaded.config.security.redact_secrets.then(|| base.secrets.clone());
    let masked = move || Masked { writer: writer.clone(), secrets: secrets.clone() };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(masked).with_ansi(false).try_init().ok()?;
    Some(guard)
}

/// A log without secrets. Each event comes as one write.
struct Masked {
    writer: tracing_appender::non_blocking::NonBlocking,
    /// `None`: the configuration wants none masked.
    secrets: Option<Secrets>,
}

impl std::io::Write for Masked {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let (Some(secrets), Ok(text)) = (&self.secrets, std::str::from_utf8(event)) else {
            return self.writer.write(event);
        };
        let text = secrets.mask(text, RedactKind::Default);
        self.writer.write_all(redact(&text, RedactKind::Default).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}
