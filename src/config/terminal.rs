//! `terminal:`: where commands run and what they start with.

use super::{OnHangup, OnInput};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An image that has the usual tools (as Python Hermes has it).
const IMAGE: &str = "nikolaik/python-nodejs:python3.11-nodejs20";

/// `terminal:`. Names and defaults are those of Python Hermes where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TerminalConfig {
    /// `local`, or one of `schema::BACKENDS`.
    pub backend: String,
    /// Empty, `.`, `auto` and `cwd`: where the program was started; on another machine its home, or that of the container.
    pub cwd: String,
    /// Seconds.
    pub timeout: u64,
    pub max_foreground_timeout: u64,
    /// Seconds that a container, a sandbox or a job may be idle before it is stopped.
    pub lifetime_seconds: u64,
    /// Names of variables that go with commands, here and on other machines.
    pub env_passthrough: Vec<String>,
    pub daemon_term_grace_seconds: f64,
    /// Tracked at once, ended ones included.
    pub max_processes: usize,
    pub on_input: OnInput,
    pub on_hangup: OnHangup,
    pub shell_init_files: Vec<String>,
    pub ssh_host: String,
    pub ssh_user: String,
    pub ssh_port: u16,
    /// A file with a key; empty: those of the person's ssh configuration.
    pub ssh_key: String,
    /// More words for `ssh`, before the host.
    pub ssh_extra_args: Vec<String>,
    pub docker_image: String,
    /// Names of variables of this machine.
    pub docker_forward_env: Vec<String>,
    pub docker_env: BTreeMap<String, String>,
    /// `/here:/there[:ro]`.
    pub docker_volumes: Vec<String>,
    pub docker_extra_args: Vec<String>,
    pub docker_mount_cwd_to_workspace: bool,
    pub docker_run_as_host_user: bool,
    pub docker_network: bool,
    pub docker_persist_across_processes: bool,
    pub docker_orphan_reaper: bool,
    /// The command line, `docker` or `podman`, or a path; empty: the backend's own name.
    pub docker_program: String,
    /// 0: no bound.
    pub container_cpu: f64,
    /// MB; 0: no bound.
    pub container_memory: u64,
    /// MB, where the engine can bound it; 0: no bound.
    pub container_disk: u64,
    /// Folders of this machine keep `/root` and `/workspace` between containers; a sandbox of a service keeps its disk.
    pub container_persistent: bool,
    pub singularity_image: String,
    /// An existing pod; empty: one of our own from `kubernetes_image`.
    pub kubernetes_pod: String,
    pub kubernetes_container: String,
    pub kubernetes_namespace: String,
    pub kubernetes_context: String,
    pub kubernetes_image: String,
    /// More words for `salloc`: `--partition=short`, `--mem=8G`.
    pub slurm_args: Vec<String>,
    /// Minutes that an allocation lasts at most; 0: as long as its partition says.
    pub slurm_minutes: u64,
    pub modal_image: String,
    /// `auto` and `direct` are the same: with the person's own token.
    pub modal_mode: String,
    /// Empty: what the service gives.
    pub daytona_image: String,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            backend: "local".into(),
            cwd: ".".into(),
            timeout: 180,
            max_foreground_timeout: 600,
            lifetime_seconds: 300,
            env_passthrough: Vec::new(),
            daemon_term_grace_seconds: 2.0,
            max_processes: 200,
            on_input: OnInput::Notify,
            on_hangup: OnHangup::Keep,
            shell_init_files: Vec::new(),
            ssh_host: String::new(),
            ssh_user: String::new(),
            ssh_port: 0,
            ssh_key: String::new(),
            ssh_extra_args: Vec::new(),
            docker_image: IMAGE.into(),
            docker_forward_env: Vec::new(),
            docker_env: BTreeMap::new(),
            docker_volumes: Vec::new(),
            docker_extra_args: Vec::new(),
            docker_mount_cwd_to_workspace: false,
            docker_run_as_host_user: false,
            docker_network: true,
            docker_persist_across_processes: true,
            docker_orphan_reaper: true,
            docker_program: String::new(),
            container_cpu: 1.0,
            container_memory: 5120,
            container_disk: 51200,
            container_persistent: true,
            singularity_image: format!("docker://{IMAGE}"),
            kubernetes_pod: String::new(),
            kubernetes_container: String::new(),
            kubernetes_namespace: String::new(),
            kubernetes_context: String::new(),
            kubernetes_image: IMAGE.into(),
            slurm_args: Vec::new(),
            slurm_minutes: 480,
            modal_image: IMAGE.into(),
            modal_mode: "auto".into(),
            daytona_image: IMAGE.into(),
        }
    }
}
