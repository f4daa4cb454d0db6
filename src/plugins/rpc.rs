//! JSON-RPC 2.0, one message a line: what a line is, and how it is written. No I/O.

use crate::text::foreign;
use serde_json::{Value, json};

/// Bytes of a line; a plugin that writes more floods.
pub const LINE_MAX: usize = 8 * 1024 * 1024;

/// Characters of the message of an error.
const WORDS: usize = 20_000;

/// A line from a plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to our request of this id.
    Answer { id: u64, result: Result<Value, RpcError> },
    /// It tells something.
    Notice { method: String, params: Value },
    /// It asks something.
    Request { id: Value, method: String, params: Value },
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

/// No such method.
pub const NO_METHOD: i64 = -32601;

/// Reads a line.
///
/// # Errors
/// Why it is no message, in words.
pub fn read(line: &[u8]) -> Result<Incoming, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(mut fields) = value else { return Err("not an object".into()) };
    let id = fields.remove("id");
    if let Some(method) = fields.get("method").and_then(Value::as_str).map(str::to_owned) {
        let params = fields.remove("params").unwrap_or(Value::Null);
        return Ok(match id {
            Some(id) if !id.is_null() => Incoming::Request { id, method, params },
            _ => Incoming::Notice { method, params },
        });
    }
    let id = id.as_ref().and_then(|id| id.as_u64().or_else(|| id.as_str()?.parse().ok()));
    let Some(id) = id else { return Err("neither a method nor a known id".into()) };
    let result = match (fields.remove("error"), fields.remove("result")) {
        (Some(error), _) if !error.is_null() => Err(RpcError {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: foreign::text(error.get("message").and_then(Value::as_str).unwrap_or(&error.to_string()), WORDS),
            data: error.get("data").cloned().unwrap_or(Value::Null),
        }),
        (_, Some(result)) => Ok(result),
        (_, None) => Err(RpcError { code: 0, message: "neither result nor error".into(), data: Value::Null }),
    };
    Ok(Incoming::Answer { id, result })
}

/// A request as a line.
pub fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// A notification as a line.
pub fn notice(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// The answer to a request that nobody here can answer.
pub fn no_method(id: &Value, method: &str) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": NO_METHOD, "message": format!("no method {method}")}}))
}

fn line(value: &Value) -> String {
    // JSON has no raw line ends inside.
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let fail = |message: &str| RpcError { code: -1, message: message.into(), data: Value::Null };
        for (line, wanted) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, Incoming::Answer { id: 1, result: Ok(json!({"a": 1})) }),
            (r#"{"id":"7","result":null}"#, Incoming::Answer { id: 7, result: Ok(Value::Null) }),
            (r#"{"id":2,"error":{"code":-1,"message":"no"}}"#, Incoming::Answer { id: 2, result: Err(fail("no")) }),
            (r#"{"method":"log","params":[1]}"#, Incoming::Notice { method: "log".into(), params: json!([1]) }),
            (
                r#"{"id":"x","method":"ask"}"#,
                Incoming::Request { id: json!("x"), method: "ask".into(), params: Value::Null },
            ),
        ] {
            assert_eq!(read(line.as_bytes()), Ok(wanted), "{line}");
        }
        for line in ["", "hello", "[]", "{}", r#"{"id":null,"result":1}"#, "\u{0}"] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_written_is_one_line() {
        let text = request(3, "tool.call", &json!({"text": "a\nb"}));
        assert_eq!(text.matches('\n').count(), 1);
        let back = read(text.trim_end().as_bytes());
        assert_eq!(
            back,
            Ok(Incoming::Request { id: json!(3), method: "tool.call".into(), params: json!({"text": "a\nb"}) })
        );
    }
}
