//! Input that a server asks a person for: a form becomes questions, one a field; or a visit to an address.

use super::messages;
use serde_json::{Map, Value};

/// Fields of a form that a person is asked for; more are no question but an interview.
const FIELDS: usize = 24;
/// Characters of what a server says in a question.
const SAID: usize = 1_200;
/// Choices that the question shows as such.
const CHOICES: usize = 5;
/// The answer that ends the whole form.
pub const DECLINE: &str = "Decline";
/// The answer to a form without fields.
pub const ACCEPT: &str = "Accept";
/// The answer to a visit.
pub const VISITED: &str = "I went there";
/// The answer that leaves a field empty.
pub const SKIP: &str = "Leave it empty";

/// The answer that takes the defaults of this field and all after it, where none of them is needed.
pub const REST: &str = "Send the rest as it is";

/// What a server asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Form { message: String, fields: Vec<Field> },
    Visit { message: String, url: String },
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub key: String,
    label: String,
    kind: Kind,
    default: Option<Value>,
    required: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text {
        least: usize,
        most: usize,
        format: String,
    },
    Number {
        whole: bool,
        least: f64,
        most: f64,
    },
    Bool,
    /// Values with what a person reads.
    One(Vec<(String, String)>),
    Many(Vec<(String, String)>),
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub text: String,
    pub choices: Vec<String>,
    pub freely: bool,
}

impl Request {
    /// Reads the parameters of `elicitation/create`.
    ///
    /// # Errors
    /// Why it cannot be put to a person.
    pub fn read(params: &Value) -> Result<Self, String> {
        let message = messages::text(params.get("message").and_then(Value::as_str).unwrap_or_default(), SAID);
        if let Some(url) = params.get("url").and_then(Value::as_str) {
            let fits = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            let url = messages::line(url, 2_000);
            return if fits { Ok(Self::Visit { message, url }) } else { Err(format!("{url} is not a web address")) };
        }
        let schema = params.get("requestedSchema").cloned().unwrap_or_default();
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        if properties.len() > FIELDS {
            return Err(format!("a form of {} fields is too long", properties.len()));
        }
        let fields = properties.iter().map(|(key, value)| Field::read(key, value, required.contains(&key.as_str())));
        Ok(Self::Form { message, fields: fields.collect() })
    }

    /// The answer that its defaults make; `None` when a needed field has none.
    pub fn defaults(&self) -> Option<Value> {
        let Self::Form { fields, .. } = self else { return None };
        let mut answer = Map::new();
        for field in fields {
            match &field.default {
                Some(value) => {
                    answer.insert(field.key.clone(), value.clone());
                }
                None if field.required => return None,
                None => {}
            }
        }
        Some(Value::Object(answer))
    }
}

impl Field {
    fn read(key: &str, schema: &Value, required: bool) -> Self {
        let word = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str, or: f64| schema.get(key).and_then(Value::as_f64).unwrap_or(or);
        let kind = match (word("type"), choices(schema)) {
            ("array", _) => Kind::Many(schema.get("items").and_then(choices).unwrap_or_default()),
            (_, Some(choices)) => Kind::One(choices),
            ("boolean", None) => Kind::Bool,
            ("integer" | "number", None) => Kind::Number {
                whole: word("type") == "integer",
                least: number("minimum", f64::NEG_INFINITY),
                most: number("maximum", f64::INFINITY),
            },
            _ => Kind::Text {
                least: number("minLength", 0.0) as usize,
                most: number("maxLength", 100_000.0) as usize,
                format: messages::line(word("format"), 20),
            },
        };
        let title = messages::line(if word("title").is_empty() { key } else { word("title") }, 80);
        let about = messages::line(word("description"), 300);
        let label = if about.is_empty() { title } else { format!("{title}: {about}") };
        Self {
            key: key.to_owned(),
            label,
            kind,
            default: schema.get("default").filter(|v| !v.is_null()).cloned(),
            required,
        }
    }

    /// The question for this field, `at` its number among how many. `problem` says what was wrong with the answer before.
    pub fn question(&self, server: &str, message: &str, at: (usize, usize), problem: Option<&str>) -> Asked {
        let place = if at.1 > 1 { format!("{} of {} · ", at.0, at.1) } else { String::new() };
        let mut text = format!("The server {server} asks: {message}\n\n{place}{}", self.label);
        let mut choices = vec![DECLINE.to_owned()];
        let mut freely = true;
        match &self.kind {
            Kind::Bool => {
                choices.extend(["yes".to_owned(), "no".to_owned()]);
                freely = false;
            }
            Kind::One(all) if all.len() < CHOICES => {
                choices.extend(all.iter().map(|(_, shown)| shown.clone()));
                freely = false;
            }
            Kind::One(all) => text.push_str(&format!("\none of: {}", listed(all))),
            Kind::Many(all) => text.push_str(&format!("\nany of these, comma-separated: {}", listed(all))),
            Kind::Number { whole, least, most } => {
                let bound = |value: &f64, word: &str| {
                    if value.is_finite() { format!(", {word} {value}") } else { String::new() }
                };
                let kind = if *whole { "a whole number" } else { "a number" };
                text.push_str(&format!("\n{kind}{}{}", bound(least, "at least"), bound(most, "at most")));
            }
            Kind::Text { format, .. } if !format.is_empty() => text.push_str(&format!("\nas {format}")),
            Kind::Text { .. } => {}
        }
        if let Some(default) = self.shown_default() {
            choices.push(default);
        } else if !self.required {
            choices.push(SKIP.to_owned());
        }
        if let Some(problem) = problem {
            text.push_str(&format!("\n\n{problem}"));
        }
        let mut seen = Vec::new();
        choices.retain(|choice| {
            !seen.contains(choice) && {
                seen.push(choice.clone());
                true
            }
        });
        Asked { text, choices, freely }
    }

    /// What this field and those after it are without an answer; `None` when one of them needs one, or none comes after.
    pub fn rest(fields: &[Self]) -> Option<Map<String, Value>> {
        if fields.len() < 2 || fields.iter().any(|field| field.required && field.default.is_none()) {
            return None;
        }
        let entry = |field: &Self| Some((field.key.clone(), field.default.clone()?));
        Some(fields.iter().filter_map(entry).collect())
    }

    fn shown_default(&self) -> Option<String> {
        let default = self.default.as_ref()?;
        let word = match (&self.kind, default) {
            (Kind::Bool, Value::Bool(value)) => if *value { "yes" } else { "no" }.to_owned(),
            (Kind::One(all), Value::String(value)) => all.iter().find(|(v, _)| v == value)?.1.clone(),
            (Kind::Many(_), Value::Array(values)) => {
                values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            (_, Value::String(text)) => text.clone(),
            (_, value) => value.to_string(),
        };
        let word = messages::line(&word, 200);
        (!word.is_empty()).then_some(word)
    }

    /// The value that an answer stands for; `Ok(None)` leaves the field out.
    ///
    /// # Errors
    /// What would fit.
    pub fn value(&self, answer: &str) -> Result<Option<Value>, String> {
        let answer = answer.trim();
        if self.shown_default().is_some_and(|shown| shown == answer) {
            return Ok(self.default.clone());
        }
        if answer.is_empty() || answer == SKIP {
            return if self.required && self.default.is_none() {
                Err("It cannot be empty.".into())
            } else {
                Ok(self.default.clone())
            };
        }
        let pick = |all: &[(String, String)], word: &str| {
            let found = all.iter().find(|(value, shown)| {
                value == word || shown.eq_ignore_ascii_case(word) || value.eq_ignore_ascii_case(word)
            });
            found
                .map(|(value, _)| Value::from(value.clone()))
                .ok_or_else(|| format!("`{word}` is not one of: {}", listed(all)))
        };
        let value = match &self.kind {
            Kind::Bool => match answer.to_lowercase().as_str() {
                "yes" | "y" | "true" => Value::Bool(true),
                "no" | "n" | "false" => Value::Bool(false),
                _ => return Err("Answer yes or no.".into()),
            },
            Kind::One(all) => pick(all, answer)?,
            Kind::Many(all) => {
                let words = answer.split(',').map(str::trim).filter(|word| !word.is_empty());
                Value::Array(words.map(|word| pick(all, word)).collect::<Result<_, _>>()?)
            }
            Kind::Number { whole, least, most } => {
                let number: f64 = answer.parse().map_err(|_| format!("`{answer}` is not a number."))?;
                if !number.is_finite() || number < *least || number > *most || (*whole && number.fract() != 0.0) {
                    return Err(format!("`{answer}` is out of range."));
                }
                if *whole { Value::from(number as i64) } else { Value::from(number) }
            }
            Kind::Text { least, most, format } => {
                let count = answer.chars().count();
                if count < *least || count > *most {
                    return Err(format!("It must have {least} to {most} characters."));
                }
                if !fits(format, answer) {
                    return Err(format!("`{answer}` is not a valid {format}."));
                }
                Value::from(answer)
            }
        };
        Ok(Some(value))
    }
}

fn fits(format: &str, text: &str) -> bool {
    match format {
        "email" => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')),
        "uri" => url::Url::parse(text).is_ok(),
        "date" => chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok(),
        "date-time" => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        _ => true,
    }
}

fn listed(all: &[(String, String)]) -> String {
    all.iter().map(|(_, shown)| shown.as_str()).collect::<Vec<_>>().join(", ")
}

/// `enum`, with or without `enumNames`, or `oneOf`/`anyOf` with `const` and `title`.
fn choices(schema: &Value) -> Option<Vec<(String, String)>> {
    let shown = |text: &str| messages::line(text, 100);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let pair = |(at, value): (usize, &Value)| {
            let value = value.as_str()?.to_owned();
            let name = names.and_then(|names| names.get(at)).and_then(Value::as_str).unwrap_or(&value);
            Some((value.clone(), shown(name)))
        };
        return Some(values.iter().take(200).enumerate().filter_map(pair).collect());
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array)?;
    let pair = |entry: &Value| {
        let value = entry.get("const")?.as_str()?.to_owned();
        Some((value.clone(), shown(entry.get("title").and_then(Value::as_str).unwrap_or(&value))))
    };
    Some(titled.iter().take(200).filter_map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(properties: Value, required: &[&str]) -> Vec<Field> {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        match Request::read(&json!({"message": "m", "requestedSchema": schema})).unwrap() {
            Request::Form { fields, .. } => fields,
            Request::Visit { .. } => panic!(),
        }
    }

    #[test]
    fn answers_become_values_or_say_what_fits() {
        let one = |schema: Value| form(json!({"f": schema}), &["f"]).remove(0);
        for (schema, answer, want) in [
            (json!({"type": "string"}), "hi", Ok(json!("hi"))),
            (json!({"type": "string"}), "  ", Err("empty")),
            (json!({"type": "string", "format": "email"}), "a", Err("not a valid email")),
            (json!({"type": "string", "format": "email"}), "a@b.c", Ok(json!("a@b.c"))),
            (json!({"type": "string", "format": "date"}), "2026-02-30", Err("is not a valid date")),
            (json!({"type": "string", "minLength": 3}), "ab", Err("3 to")),
            (json!({"type": "integer", "minimum": 1, "maximum": 5}), "3", Ok(json!(3))),
            (json!({"type": "integer", "minimum": 1, "maximum": 5}), "7", Err("out of range")),
            (json!({"type": "integer"}), "1.5", Err("out of range")),
            (json!({"type": "number"}), "1.5", Ok(json!(1.5))),
            (json!({"type": "number"}), "x", Err("is not a number")),
            (json!({"type": "boolean"}), "Yes", Ok(json!(true))),
            (json!({"type": "boolean"}), "maybe", Err("yes or no")),
            (json!({"type": "string", "enum": ["a", "b"], "enumNames": ["Ay", "Bee"]}), "bee", Ok(json!("b"))),
            (json!({"type": "string", "oneOf": [{"const": "x", "title": "Ex"}]}), "Ex", Ok(json!("x"))),
            (json!({"type": "string", "enum": ["a"]}), "c", Err("not one of: a")),
            (json!({"type": "array", "items": {"enum": ["a", "b"]}}), "b, a", Ok(json!(["b", "a"]))),
            (json!({"type": "string", "default": "d"}), "", Ok(json!("d"))),
        ] {
            match (one(schema.clone()).value(answer), want) {
                (Ok(Some(found)), Ok(want)) => assert_eq!(found, want, "{schema} {answer}"),
                (Err(found), Err(words)) => assert!(found.contains(words), "{schema} {answer}: {found}"),
                (found, want) => panic!("{schema} {answer}: {found:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn the_safe_choice_comes_first() {
        let fields = form(
            json!({"go": {"type": "boolean"}, "who": {"type": "string", "title": "Name", "description": "yours", "default": "Al"}}),
            &["go"],
        );
        let asked = fields[0].question("s", "please", (1, 2), None);
        assert_eq!((asked.choices, asked.freely), (vec![DECLINE.to_owned(), "yes".into(), "no".into()], false));
        let asked = fields[1].question("s", "please", (2, 2), Some("No."));
        assert_eq!(asked.text, "The server s asks: please\n\n2 of 2 · Name: yours\n\nNo.");
        assert_eq!((asked.choices, asked.freely), (vec![DECLINE.to_owned(), "Al".into()], true));
    }

    #[test]
    fn the_rest_of_a_form_can_be_left_where_nothing_is_needed() {
        let fields = form(
            json!({"a": {"type": "string"}, "b": {"type": "integer", "default": 3}, "c": {"type": "string"}}),
            &["a", "b"],
        );
        assert_eq!(Field::rest(&fields), None, "a is needed");
        assert_eq!(Field::rest(&fields[1..]).map(Value::Object), Some(json!({"b": 3})));
        assert_eq!(Field::rest(&fields[2..]), None, "nothing comes after");
    }

    #[test]
    fn defaults_answer_only_what_they_can() {
        let all = json!({"requestedSchema": {"properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "integer", "default": 3},
            "c": {"type": "boolean"}}, "required": ["a"]}});
        assert_eq!(Request::read(&all).unwrap().defaults(), Some(json!({"a": "x", "b": 3})));
        let needed = json!({"requestedSchema": {"properties": {"a": {"type": "string"}}, "required": ["a"]}});
        assert_eq!(Request::read(&needed).unwrap().defaults(), None);
        let visit = Request::read(&json!({"mode": "url", "message": "m", "url": "https://x/y"})).unwrap();
        assert_eq!(
            (visit.defaults(), visit),
            (None, Request::Visit { message: "m".into(), url: "https://x/y".into() })
        );
        assert!(Request::read(&json!({"url": "javascript:alert(1)"})).is_err());
        let long: Map<String, Value> = (0..25).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
        assert!(Request::read(&json!({"requestedSchema": {"properties": long}})).is_err());
    }
}
