//! JSON-RPC messages as MCP uses them, in both of its eras.
//!
//! Up to 2025-11-25 two sides agree once, by `initialize`, and then both may send requests. From
//! 2026-07-28 on every request names its sender's version and capabilities, and only clients send
//! requests.

use super::json::{Json, JsonError, Object, read};

/// The field in which a modern request names its protocol version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The field in which a modern request names its sender's capabilities.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// JSON-RPC error codes.
pub(crate) mod code {
    /// The text is not JSON.
    pub(crate) const UNREADABLE: i64 = -32700;
    /// The JSON is not a message.
    pub(crate) const NO_MESSAGE: i64 = -32600;
    /// The method is not known.
    pub(crate) const NO_METHOD: i64 = -32601;
    /// The parameters are wrong.
    pub(crate) const WRONG_PARAMS: i64 = -32602;
    /// This protocol version is not supported.
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;
    /// A header contradicts the message.
    pub(crate) const HEADER_MISMATCH: i64 = -32_020;
    /// It was refused by us. Outside of the ranges that JSON-RPC and MCP reserve.
    pub(crate) const REFUSED: i64 = -31_001;
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message(Object);

/// The id of a request: a text or a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(Json);

/// The kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// Expects an answer.
    Request(Id, &'a str),
    /// Expects none.
    Notification(&'a str),
    /// Is an answer. A parse error lacks an id.
    Response(Option<Id>),
}

/// The protocol era of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Sessions, begun by `initialize`.
    Legacy,
    /// No sessions.
    Modern,
}

/// The reason why a text is not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageError {
    /// It is not JSON, or is ambiguous.
    Unreadable(JsonError),
    /// It is JSON, but not of this shape. The id of the request, if it has one.
    Shape(Option<Id>, &'static str),
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "this JSON cannot be trusted: {error}"),
            Self::Shape(_, why) => f.write_str(why),
        }
    }
}

impl std::error::Error for MessageError {}

impl MessageError {
    /// Returns the error response for the sender.
    pub(crate) fn answer(&self) -> Message {
        let (id, code) = match self {
            Self::Unreadable(_) => (None, code::UNREADABLE),
            Self::Shape(id, _) => (id.as_ref(), code::NO_MESSAGE),
        };
        Message::failure(id, code, &format!("Countersign: {self}"))
    }
}

impl Message {
    /// Parses one message.
    ///
    /// # Errors
    /// It is not a message; a batch of several is not one either.
    pub(crate) fn read(text: &str) -> Result<Self, MessageError> {
        match read(text).map_err(MessageError::Unreadable)? {
            Json::Object(fields) => Self::of(fields),
            Json::Array(_) => Err(MessageError::Shape(
                None,
                "batches of messages are not accepted: send each by itself",
            )),
            _ => Err(MessageError::Shape(None, "a message is an object")),
        }
    }

    fn of(fields: Object) -> Result<Self, MessageError> {
        let id = match fields.get("id") {
            None => None,
            Some(Json::Null) => Some(None),
            Some(id @ (Json::String(_) | Json::Number(_))) => Some(Some(Id(id.clone()))),
            Some(_) => return Err(MessageError::Shape(None, "an id is a text or a number")),
        };
        let named = id.clone().flatten();
        let wrong = |why| Err(MessageError::Shape(named, why));
        if fields.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return wrong("this is not JSON-RPC 2.0");
        }
        if !matches!(fields.get("params"), None | Some(Json::Object(_))) {
            return wrong("`params` is an object");
        }
        let answers = fields.get("result").is_some() || fields.get("error").is_some();
        match fields.get("method") {
            Some(Json::String(_)) if answers => wrong("a message asks or answers, not both"),
            Some(Json::String(_)) if id == Some(None) => wrong("a request must have an id"),
            Some(Json::String(_)) => Ok(Self(fields)),
            Some(_) => wrong("`method` is a text"),
            None if id.is_some() && answers => Ok(Self(fields)),
            None => wrong("neither a request, a notification nor an answer"),
        }
    }

    /// Returns the kind of the message.
    pub(crate) fn kind(&self) -> Kind<'_> {
        match (self.method(), self.id()) {
            (Some(method), Some(id)) => Kind::Request(id, method),
            (Some(method), None) => Kind::Notification(method),
            (None, id) => Kind::Response(id),
        }
    }

    /// Returns the method.
    pub(crate) fn method(&self) -> Option<&str> {
        self.0.get("method")?.as_str()
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> Option<Id> {
        self.0.get("id").and_then(Id::of)
    }

    /// Returns a parameter.
    pub(crate) fn param(&self, name: &str) -> Option<&Json> {
        self.0.get("params")?.get(name)
    }

    /// Returns all parameters.
    pub(crate) fn params(&self) -> Option<&Object> {
        self.0.get("params")?.as_object()
    }

    /// Returns all parameters, to be changed.
    pub(crate) fn params_mut(&mut self) -> Option<&mut Object> {
        self.0.get_mut("params")?.as_object_mut()
    }

    /// Returns the result of an answer.
    pub(crate) fn result(&self) -> Option<&Object> {
        self.0.get("result")?.as_object()
    }

    /// Returns the result of an answer, to be changed.
    pub(crate) fn result_mut(&mut self) -> Option<&mut Object> {
        self.0.get_mut("result")?.as_object_mut()
    }

    /// Returns the code of an error response.
    pub(crate) fn error_code(&self) -> Option<i64> {
        match self.0.get("error")?.get("code")? {
            Json::Number(spelled) => spelled.parse().ok(),
            _ => None,
        }
    }

    fn meta(&self, name: &str) -> Option<&Json> {
        self.param("_meta")?.get(name)
    }

    /// Returns the protocol era of a request.
    pub(crate) fn era(&self) -> Era {
        if self.meta(VERSION).is_some() { Era::Modern } else { Era::Legacy }
    }

    /// Returns the protocol version of a modern request.
    pub(crate) fn version(&self) -> Option<&str> {
        self.meta(VERSION)?.as_str()
    }

    /// Returns the capabilities of a modern request's sender.
    pub(crate) fn capabilities(&self) -> Option<&Json> {
        self.meta(CAPABILITIES)
    }

    /// Returns the progress token, if the sender wants to follow the progress.
    pub(crate) fn progress_token(&self) -> Option<&Json> {
        self.meta("progressToken")
            .filter(|token| matches!(token, Json::String(_) | Json::Number(_)))
    }

    /// Returns the host's id of the call, if it sends one: hooks get the same id.
    pub(crate) fn call_id(&self) -> Option<&str> {
        self.meta("claudecode/toolUseId")?.as_str()
    }

    /// Builds a request of our own, with the `_meta` of the modern request for which it is made.
    pub(crate) fn request(id: &Id, method: &str, params: Object, like: Option<&Self>) -> Self {
        let mut params = params;
        let meta = like.and_then(|like| like.param("_meta")).and_then(Json::as_object);
        if let Some(meta) = meta.filter(|meta| meta.get(VERSION).is_some()) {
            let mut ours = meta.clone();
            // The progress token belongs to the other request, which has its own answer.
            ours.remove("progressToken");
            params.set("_meta", ours);
        }
        let fields = Object::default().with("jsonrpc", "2.0").with("id", id.0.clone());
        Self(fields.with("method", method).with("params", params))
    }

    /// Builds a notification.
    pub(crate) fn notification(method: &str, params: Object) -> Self {
        Self(Object::default().with("jsonrpc", "2.0").with("method", method).with("params", params))
    }

    /// Builds an answer.
    pub(crate) fn success(id: &Id, result: Object) -> Self {
        let fields = Object::default().with("jsonrpc", "2.0").with("id", id.0.clone());
        Self(fields.with("result", result))
    }

    /// Builds an error response.
    pub(crate) fn failure(id: Option<&Id>, code: i64, why: &str) -> Self {
        let id = id.map_or(Json::Null, |id| id.0.clone());
        let error = Object::default().with("code", code).with("message", why);
        Self(Object::default().with("jsonrpc", "2.0").with("id", id).with("error", error))
    }

    /// Builds an error response with data for programs.
    pub(crate) fn failure_with(id: &Id, code: i64, why: &str, data: Object) -> Self {
        let mut failure = Self::failure(Some(id), code, why);
        if let Some(error) = failure.0.get_mut("error").and_then(Json::as_object_mut) {
            error.set("data", data);
        }
        failure
    }

    /// Builds the result of a tool, as one text. A refusal is such a result too: the model must see
    /// it.
    pub(crate) fn said(id: &Id, era: Era, text: &str, is_error: bool) -> Self {
        let block = Object::default().with("type", "text").with("text", text);
        let mut result = era.result().with("content", vec![Json::from(block)]);
        if is_error {
            result.set("isError", true);
        }
        Self::success(id, result)
    }
}

impl Era {
    /// Returns an empty result.
    pub(crate) fn result(self) -> Object {
        match self {
            Self::Legacy => Object::default(),
            Self::Modern => Object::default().with("resultType", "complete"),
        }
    }
}

impl Id {
    /// Returns an id of our own.
    pub(crate) fn new(name: String) -> Self {
        Self(Json::String(name))
    }

    /// Returns the id, if the value can be one.
    pub(crate) fn of(value: &Json) -> Option<Self> {
        matches!(value, Json::String(_) | Json::Number(_)).then(|| Self(value.clone()))
    }

    /// Returns the id as it is in messages.
    #[cfg(test)]
    pub(crate) const fn json(&self) -> &Json {
        &self.0
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let kind = |text: &str| format!("{:?}", Message::read(text).unwrap().kind());
        assert!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).starts_with("Request"));
        assert!(kind(r#"{"jsonrpc":"2.0","method":"x","params":{}}"#).starts_with("Notification"));
        assert!(kind(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#).starts_with("Response(Some"));
        assert!(kind(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#).starts_with("Response(None"));
    }

    #[test]
    fn what_is_no_message_is_answered_with_what_is_wrong() {
        let wrong = [
            ("{", "-32700"),
            ("[]", "-32600"),
            ("3", "-32600"),
            (r#"{"id":1,"method":"x"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#, "-32700"),
        ];
        for (text, code) in wrong {
            let answer = Message::read(text).unwrap_err().answer().to_string();
            assert!(answer.contains(code), "{text}: {answer}");
            assert!(Message::read(&answer).is_ok(), "{answer}");
        }
    }

    #[test]
    fn our_own_request_is_of_the_era_of_the_one_it_is_for() {
        let modern = Message::read(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{
               "io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":4,"x":1}}}"#,
        )
        .unwrap();
        assert_eq!((modern.era(), modern.version()), (Era::Modern, Some("2026-07-28")));
        let id = Id::new("ours".to_owned());
        let ours = Message::request(&id, "tools/list", Object::default(), Some(&modern));
        assert_eq!(ours.era(), Era::Modern);
        assert_eq!(ours.progress_token(), None);
        let legacy = Message::request(&id, "tools/list", Object::default(), None);
        assert_eq!(legacy.era(), Era::Legacy);
    }

    #[test]
    fn a_refusal_is_what_the_tool_said() {
        let id = Id::of(&Json::from(7)).unwrap();
        assert_eq!(
            Message::said(&id, Era::Modern, "no", true).to_string(),
            r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"no"}],"isError":true}}"#
        );
        assert!(!Message::said(&id, Era::Legacy, "no", true).to_string().contains("resultType"));
    }
}
