//! The part of the API of Kubernetes that a client needs for pods, on loopback. It runs nothing: who wants to enter a pod is
//! told so, and what was asked for is remembered as the client said it.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The server; gone with the value.
pub struct Cluster {
    port: u16,
    desk: Arc<Mutex<Desk>>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Desk {
    /// Pods by name, as they were asked for.
    pods: Vec<Value>,
    /// `METHOD path?query`, without what clients ask to know the server.
    log: Vec<String>,
}

impl Cluster {
    /// With these pods; the reason when this machine has no client.
    pub fn start(pods: &[&str]) -> Result<Self, String> {
        let client = std::process::Command::new("kubectl").args(["version", "--client"]).output();
        if !client.is_ok_and(|done| done.status.success()) {
            return Err("no kubectl here (Debian kubernetes-client)".into());
        }
        let pods = pods.iter().map(|name| json!({"metadata": {"name": name}})).collect();
        let desk = Arc::new(Mutex::new(Desk { pods, log: Vec::new() }));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let app = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move { axum::serve(listener, app).await });
        Ok(Self { port, desk, _runtime: runtime })
    }

    /// A configuration of the client that names it.
    pub fn config(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters:\n- name: one\n  cluster:\n    server: http://127.0.0.1:{}\n\
             contexts:\n- name: here\n  context:\n    cluster: one\n    user: me\nusers:\n- name: me\n  user: {{}}\n",
            self.port
        )
    }

    /// What was asked for.
    pub fn log(&self) -> Vec<String> {
        self.desk.lock().unwrap().log.clone()
    }

    /// Names of its pods.
    pub fn pods(&self) -> Vec<String> {
        let desk = self.desk.lock().unwrap();
        desk.pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn refused(status: u16, reason: &str, message: &str) -> Response {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
        "code": status});
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

/// A pod of this namespace as it is once it runs.
fn running(pod: &Value, namespace: &str) -> Value {
    let mut whole = pod.clone();
    whole["metadata"]["namespace"] = json!(namespace);
    (whole["kind"], whole["apiVersion"]) = (json!("Pod"), json!("v1"));
    (whole["metadata"]["uid"], whole["metadata"]["resourceVersion"]) = (json!("1"), json!("1"));
    if whole["spec"].is_null() {
        whole["spec"] = json!({"containers": [{"name": "app", "image": "x"}, {"name": "beside", "image": "x"}]});
    }
    whole["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    whole
}

async fn answer(State(desk): State<Arc<Mutex<Desk>>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let mut desk = desk.lock().unwrap();
    let path = uri.path().trim_end_matches('/').to_owned();
    let known = match path.as_str() {
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/apis" => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
        "/api/v1" => json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
            {"name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
             "verbs": ["get", "list", "create", "delete", "watch"]},
            {"name": "events", "singularName": "event", "namespaced": true, "kind": "Event", "verbs": ["get", "list"]}]}),
        _ => Value::Null,
    };
    if !known.is_null() {
        return axum::Json(known).into_response();
    }
    let query = uri.query().unwrap_or_default().to_owned();
    let Some(rest) = path.strip_prefix("/api/v1/namespaces/") else {
        return refused(404, "NotFound", "the server could not find the requested resource");
    };
    desk.log.push(format!("{method} {rest}?{query}"));
    let words: Vec<&str> = rest.split('/').collect();
    let found = |desk: &Desk, name: &str| desk.pods.iter().position(|pod| pod["metadata"]["name"] == name);
    let missing = |name: &str| refused(404, "NotFound", &format!("pods \"{name}\" not found"));
    match (method.as_str(), &words[1..]) {
        ("GET", ["pods"]) => {
            // By its labels nothing is found: those that are there are somebody else's.
            let all = desk
                .pods
                .iter()
                .filter(|_| !query.contains("labelSelector"))
                .map(|pod| running(pod, words[0]))
                .collect::<Vec<_>>();
            let list =
                json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": all});
            axum::Json(list).into_response()
        }
        ("POST", ["pods"]) => {
            let pod: Value = serde_json::from_slice(&body).unwrap_or_default();
            desk.pods.push(pod.clone());
            (StatusCode::CREATED, axum::Json(running(&pod, words[0]))).into_response()
        }
        ("GET", ["pods", name]) => match found(&desk, name) {
            Some(at) => axum::Json(running(&desk.pods[at], words[0])).into_response(),
            None => missing(name),
        },
        ("DELETE", ["pods", name]) => match found(&desk, name) {
            Some(at) => axum::Json(running(&desk.pods.remove(at), words[0])).into_response(),
            None => missing(name),
        },
        (_, ["pods", _, "exec"]) => refused(400, "BadRequest", "nothing runs in this cluster"),
        (_, words) => refused(404, "NotFound", &format!("{method} {words:?} is not known in this cluster")),
    }
}
