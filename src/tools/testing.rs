//! For tests of tools: a folder, a context around it, and tools that do as they are told.

use super::dispatch::{Dispatch, Planned};
use super::gate::{Asker, Review};
use super::registry::Registry;
use super::spec::*;
use crate::config::Config;
use crate::exec::Exec;
use crate::policy::redact::RedactKind;
use crate::policy::smart::Opinion;
use crate::policy::{Approval, ApprovalId, ApprovalOrigin, Decision, Grant, Intent, Matches, World};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The only place where tests make a process table.
pub fn exec() -> Exec {
    Exec::new(crate::exec::ExecOptions::default()).0
}

/// A scratch folder with everything that a call needs.
pub struct Bench {
    dir: tempfile::TempDir,
    pub agent: Arc<Person>,
    pub dispatch: Dispatch,
    pub config: Arc<Config>,
    pub backends: crate::backends::Backends,
    pub room: crate::tools::output::budget::OutputBudget,
    pub kin: Option<Arc<dyn super::children::Kin>>,
    files: Arc<Mutex<FileLedger>>,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(Registry::builtin())
    }

    /// Results have `SECRET` masked.
    pub fn with(registry: Registry) -> Self {
        fn mask(text: &str, _: RedactKind) -> Cow<'_, str> {
            if text.contains("SECRET") { Cow::Owned(text.replace("SECRET", "***")) } else { Cow::Borrowed(text) }
        }
        Self {
            dir: tempfile::tempdir().unwrap(),
            agent: Arc::default(),
            dispatch: Dispatch::new(Arc::new(registry), mask),
            config: Arc::default(),
            backends: Default::default(),
            room: Default::default(),
            files: Arc::default(),
            kin: None,
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.root()).unwrap();
        self.root().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// All files in the folder, sorted.
    pub fn files(&self) -> Vec<String> {
        let root = self.path("");
        let mut found = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    pub fn ctx(&self) -> ToolCtx {
        ToolCtx {
            config: Arc::clone(&self.config),
            call_id: "call_1".into(),
            task: "main".into(),
            cwd: Arc::new(Mutex::new(self.path(""))),
            workspace: self.path(""),
            unconfined: false,
            read_only: false,
            closed: Default::default(),
            exec: exec(),
            backends: self.backends.clone(),
            world: Arc::new(Here::new(self.dir.path().to_owned(), || {})),
            files: Arc::clone(&self.files),
            kin: self.kin.clone(),
            agent: Arc::clone(&self.agent) as Arc<dyn AgentPort>,
            progress: mpsc::channel(1).0,
            cancel: CancellationToken::new(),
            history: None,
            sessions: None,
            spill: self.dir.path().join("spill"),
            calls: None,
            within: None,
            room: self.room,
        }
    }

    /// That of a call that a script makes.
    pub fn of_script(&self) -> ToolCtx {
        let within = Within { call: "call_0".into(), strangers: Arc::default(), seen: Arc::default() };
        ToolCtx { within: Some(within), ..self.ctx() }
    }

    pub async fn plan(&self, name: &str, args: Value) -> Planned {
        self.plan_text(name, &args.to_string()).await
    }

    pub async fn plan_text(&self, name: &str, args: &str) -> Planned {
        self.dispatch.plan(name, args, &self.ctx()).await
    }

    /// Plans and runs, as a gate that allows everything would.
    pub async fn call(&self, name: &str, args: Value) -> ToolOutput {
        self.call_in(name, args, self.ctx()).await
    }

    /// The same in this context.
    pub async fn call_in(&self, name: &str, args: Value, ctx: ToolCtx) -> ToolOutput {
        let planned = self.dispatch.plan(name, &args.to_string(), &ctx).await;
        match planned.call {
            Ok(call) => self.dispatch.run(call, ctx).await,
            Err(output) => *output,
        }
    }
}

/// The machine as it is, with another home.
pub struct Here {
    home: PathBuf,
    /// Called at each look at the disk.
    look: Box<dyn Fn() + Send + Sync>,
}

impl Here {
    pub fn new(home: PathBuf, look: impl Fn() + Send + Sync + 'static) -> Self {
        Self { home, look: Box::new(look) }
    }
}

impl World for Here {
    fn home(&self) -> PathBuf {
        self.home.clone()
    }
    fn hermes_home(&self) -> PathBuf {
        self.home.join(".hermes")
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn glob(&self, _: &str, _: &Path, _: usize) -> Matches {
        (self.look)();
        Matches::all(Vec::new())
    }
    fn resolve(&self, path: &Path) -> PathBuf {
        (self.look)();
        let path = super::input::paths::lexical(path);
        match (path.canonicalize(), path.parent(), path.file_name()) {
            (Ok(real), _, _) => real,
            (Err(_), Some(parent), Some(name)) => self.resolve(parent).join(name),
            _ => path,
        }
    }
}

/// A person who answers at once, or is not there.
#[derive(Default)]
pub struct Person {
    pub plan: Mutex<Vec<Todo>>,
    pub answer: Mutex<Option<String>>,
    pub asked: Mutex<Vec<Question>>,
    /// There is no agent at all.
    pub nobody: bool,
    /// What answers servers that ask for a model.
    pub model: Mutex<Option<Arc<dyn crate::llm::Provider>>>,
}

impl AgentPort for Person {
    fn model(&self, _: Option<&str>) -> Result<Arc<dyn crate::llm::Provider>, String> {
        self.model.lock().unwrap().clone().ok_or("no model available".into())
    }
    fn is_agent(&self) -> bool {
        !self.nobody
    }
    fn plan(&self) -> Vec<Todo> {
        self.plan.lock().unwrap().clone()
    }
    fn set_plan(&self, plan: Vec<Todo>) {
        *self.plan.lock().unwrap() = plan;
    }
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<String, String>> {
        self.asked.lock().unwrap().push(question);
        let answer = self.answer.lock().unwrap().clone().ok_or("nobody is here".to_owned());
        Box::pin(async { answer })
    }
}

/// Waits for a condition of the world outside, looking again every few milliseconds.
pub async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), wait).await.expect("it never comes to be");
}

/// Answers the questions of a gate as it is told, and keeps them.
pub struct Answers {
    answer: Box<dyn Fn(&Approval) -> Decision + Send + Sync>,
    opinion: Box<dyn Fn() -> Result<Opinion, String> + Send + Sync>,
    pub asked: Mutex<Vec<Approval>>,
}

impl Answers {
    /// By this; the auxiliary model has nothing to say.
    pub fn new(answer: impl Fn(&Approval) -> Decision + Send + Sync + 'static) -> Arc<Self> {
        Self::reviewed(answer, || Err("is not here".into()))
    }

    /// By this, with an auxiliary model.
    pub fn reviewed(
        answer: impl Fn(&Approval) -> Decision + Send + Sync + 'static,
        opinion: impl Fn() -> Result<Opinion, String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), opinion: Box::new(opinion), asked: Mutex::default() })
    }

    /// Always the same.
    pub fn always(decision: Decision) -> Arc<Self> {
        Self::new(move |_| decision.clone())
    }

    /// No, without a word.
    pub fn no() -> Arc<Self> {
        Self::always(Decision::Deny { feedback: String::new() })
    }

    /// How many questions there were.
    pub fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Asker for Answers {
    fn ask(&self, approval: Approval, _: CancellationToken) -> BoxFuture<'static, Decision> {
        let decision = (self.answer)(&approval);
        self.asked.lock().unwrap().push(approval);
        Box::pin(async { decision })
    }
    fn remember(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
    fn grants_changed(&self) {}
    fn close(&self, _: ApprovalId, _: Decision) {}
    fn origin(&self) -> ApprovalOrigin {
        ApprovalOrigin::default()
    }
    fn number(&self) -> u64 {
        1
    }
    fn now(&self) -> i64 {
        0
    }
    fn review(&self, _: String, _: CancellationToken) -> BoxFuture<'static, Review> {
        let review = Review { model: "m".into(), opinion: (self.opinion)() };
        Box::pin(async { review })
    }
}

/// What a fake tool does.
#[derive(Clone)]
pub enum Step {
    Ok,
    Text(String),
    Fail(ToolError),
    FailPlan(ToolError),
    PanicPlan(&'static str),
    PanicTarget(&'static str),
    PanicRun(&'static str),
    /// Forever, or until it is stopped.
    Wait {
        heeds_stop: bool,
    },
    Draw(Vec<crate::protocol::Image>),
}

/// A tool that does one thing.
pub struct Fake {
    spec: ToolSpec,
    step: Step,
}

impl Fake {
    pub fn new(name: &'static str, toolset: &'static str, step: Step) -> Self {
        let verbs = Verbs::new("faking", "faked");
        let schema = json!({"type": "object"});
        let spec = super::builtin::built_in(
            name,
            toolset,
            "⚡",
            "does one thing",
            schema,
            Access::Agent,
            verbs,
            Parallel::Never,
        );
        Self { spec, step }
    }

    /// A tool of a server.
    pub fn remote(name: &str, toolset: &str) -> Self {
        let spec = ToolSpec::dynamic(name, toolset, "does one thing far away", json!({"type": "object"}));
        Self { spec, step: Step::Ok }
    }

    pub fn checked(mut self, check: impl Into<Cow<'static, str>>) -> Self {
        self.spec.check = Some(CheckId(check.into()));
        self
    }
}

impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, _: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            if let Step::PanicPlan(words) = self.step {
                panic!("{words}");
            }
            if let Step::FailPlan(error) = &self.step {
                return Err(error.clone());
            }
            Ok(Box::new(FakeCall { step: self.step.clone(), targets: 0.into() }) as Box<dyn Call>)
        })
    }
}

struct FakeCall {
    step: Step,
    targets: std::sync::atomic::AtomicUsize,
}

impl Call for FakeCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        let earlier = self.targets.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        match self.step {
            Step::PanicTarget(words) if earlier > 0 => panic!("{words}"),
            _ => String::new(),
        }
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.step {
                Step::Text(content) => Ok(ToolOutput { content, ..ToolOutput::default() }),
                Step::Fail(error) | Step::FailPlan(error) => Err(error),
                Step::PanicRun(words) => panic!("{words}"),
                Step::Wait { heeds_stop: true } => {
                    ctx.cancel.cancelled().await;
                    Err(ToolError::Interrupted)
                }
                Step::Wait { heeds_stop: false } => std::future::pending().await,
                Step::Draw(images) => Ok(ToolOutput { images, ..ToolOutput::default() }),
                Step::Ok | Step::PanicPlan(_) | Step::PanicTarget(_) => Ok(ToolOutput::json(&json!({"ok": true}))),
            }
        })
    }
}
