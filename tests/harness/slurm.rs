//! A real Slurm of one node on loopback, with keys, state and ports of its own: its controller, its node's daemon and the
//! munge that they trust.

use super::until;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The cluster; gone with the value, and with it all that ran in it.
pub struct Slurm {
    root: tempfile::TempDir,
    /// In the order in which they are ended.
    servers: Vec<Child>,
}

/// Where Debian puts servers: not in every person's `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    all.map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Slurm {
    /// Starts it; the reason when this machine has none.
    pub fn start() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can run a node of Slurm".into());
        }
        let find = |name: &str| program(name).ok_or_else(|| format!("no {name} here (Debian slurm-wlm, munge)"));
        let (munged, controller, node) = (find("munged")?, find("slurmctld")?, find("slurmd")?);
        for client in ["salloc", "srun", "squeue", "scancel", "sinfo"] {
            find(client)?;
        }
        let mut slurm = Self { root: tempfile::tempdir().unwrap(), servers: Vec::new() };
        slurm.write()?;
        let at = |name: &str| slurm.root.path().join(name).display().to_string();
        let options = ["socket", "key-file", "log-file", "pid-file", "seed-file"];
        let mut words = vec!["--force".to_owned(), "-F".to_owned()];
        words.extend(options.iter().map(|name| format!("--{name}={}", at(&format!("munge-{name}")))));
        slurm.serve(Command::new(munged).args(words), "munged.out")?;
        slurm.serve(Command::new(controller).arg("-D"), "controller.out")?;
        slurm.serve(Command::new(node).arg("-D"), "node.out")?;
        // Work is ended first, and those who are trusted last.
        slurm.servers.reverse();
        slurm.wait()?;
        Ok(slurm)
    }

    fn write(&self) -> Result<(), String> {
        let folder = self.root.path().display();
        let host =
            Command::new("hostname").arg("-s").output().map_err(|error| format!("no name of this machine: {error}"))?;
        let host = String::from_utf8_lossy(&host.stdout).trim().to_owned();
        let (one, two) = (free_port(), free_port());
        // Nothing of the kernel that a machine may lack: no groups of it, no accounting.
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nSlurmctldPort={one}\n\
             SlurmdPort={two}\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge-socket\nCredType=cred/munge\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/controller.pid\n\
             SlurmdPidFile={folder}/node.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSchedulerType=sched/builtin\nSwitchType=switch/none\n\
             MpiDefault=none\nReturnToService=2\nSlurmdParameters=config_overrides\nKillWait=1\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
             PartitionName=short Nodes={host} Default=YES MaxTime=60 State=UP\n"
        );
        std::fs::write(self.config(), text).unwrap();
        for name in ["state", "spool"] {
            std::fs::create_dir(self.root.path().join(name)).unwrap();
        }
        let key = self.root.path().join("munge-key-file");
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(1024).collect();
        std::fs::write(&key, bytes).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        Ok(())
    }

    fn serve(&mut self, command: &mut Command, log: &str) -> Result<(), String> {
        let log = std::fs::File::create(self.root.path().join(log)).unwrap();
        let command = command.env("SLURM_CONF", self.config()).current_dir(self.root.path());
        let (out, err) = (log.try_clone().unwrap(), log);
        let server = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(|error| error.to_string())?;
        self.servers.push(server);
        Ok(())
    }

    /// Until its node takes work.
    fn wait(&mut self) -> Result<(), String> {
        let stop = std::time::Instant::now() + super::PATIENCE;
        loop {
            if self.say("sinfo", &["-h", "-o", "%t"]).is_ok_and(|state| state == "idle") {
                return Ok(());
            }
            let over = self.servers.iter_mut().any(|server| server.try_wait().unwrap().is_some());
            if over || std::time::Instant::now() > stop {
                let last = ["munged.out", "controller.out", "node.out"].map(|log| {
                    let text = std::fs::read_to_string(self.root.path().join(log)).unwrap_or_default();
                    text.lines().last().unwrap_or_default().to_owned()
                });
                return Err(format!("Slurm does not run here: {}", last.join("; ")));
            }
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
    }

    /// Its configuration, for `SLURM_CONF`.
    pub fn config(&self) -> PathBuf {
        self.root.path().join("slurm.conf")
    }

    /// What one of its commands prints.
    pub fn say(&self, program: &str, args: &[&str]) -> Result<String, String> {
        let done = Command::new(program).args(args).env("SLURM_CONF", self.config()).stdin(Stdio::null()).output();
        let done = done.map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
    }

    /// Numbers of the jobs that are not over.
    pub fn jobs(&self) -> Vec<String> {
        let all = self.say("squeue", &["-h", "-o", "%i", "-t", "PENDING,RUNNING"]).unwrap();
        all.lines().map(str::to_owned).collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for job in self.jobs_left() {
            let _ = self.say("scancel", &["--signal=KILL", &job]);
        }
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        // Whoever watches over a step is no child of ours: it is known by the configuration that it was started with.
        for pid in descendants(&self.config()) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        if !std::thread::panicking() {
            until("nothing of Slurm is left", || descendants(&self.config()).is_empty());
        }
    }
}

impl Slurm {
    fn jobs_left(&self) -> Vec<String> {
        self.say("squeue", &["-h", "-o", "%i"]).map(|all| all.lines().map(str::to_owned).collect()).unwrap_or_default()
    }
}

/// Processes in whose environment this configuration stands.
fn descendants(config: &Path) -> Vec<i32> {
    let mark = format!("SLURM_CONF={}\0", config.display());
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ours = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    pids.filter(ours).collect()
}
