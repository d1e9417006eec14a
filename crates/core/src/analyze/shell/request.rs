//! Commands in requests: a method, a verb or a statement that tells a server to destroy something.

use super::Walker;
use super::arguments::Arguments;
use super::network::DATA;
use crate::action::Language;
use crate::analyze::code;
use crate::fact::{Fact, FactKind};
use crate::location;
use crate::verdict::Span;

impl Walker<'_> {
    /// Records statements and verbs in the address or in the data of a request.
    pub(super) fn told_by_http(&mut self, args: &Arguments<'_>, span: Option<Span>) {
        let data = args.values(DATA);
        for word in args.operands() {
            let Some((_, query)) = word.text.split_once('?') else { continue };
            for value in query.split('&') {
                self.told_statement(value, word.span.or(span));
            }
        }
        for value in &data {
            self.told_statement(&value.text, value.span.or(span));
        }
        let method = args.value(&["-X", "--request", "--method"]);
        let posts = !data.is_empty() && !args.has_any(&["-G", "--get"]);
        if !posts && method.is_none_or(|method| matches!(method.text.as_str(), "GET" | "HEAD")) {
            return;
        }
        for word in args.operands() {
            let path = word.text.split(['?', '#']).next().unwrap_or_default();
            let path = path.split_once("://").map_or(path, |(_, rest)| rest);
            if let Some(verb) = path.split('/').skip(1).find(|part| super::verb::is_order(part)) {
                let subject = format!("{} ({verb})", location::shown(&word.text));
                self.note(Fact::new(FactKind::RemoteDelete, subject).at(word.span.or(span)));
            }
        }
    }

    /// Records an SQL statement that a server is given in a value: `query=DROP+TABLE+x`.
    fn told_statement(&mut self, value: &str, span: Option<Span>) {
        let text = value.split_once('=').filter(|(name, _)| !name.contains(' '));
        let text = plain_query(text.map_or(value, |(_, text)| text));
        if code::sql::is_statement(&text) {
            let scene = self.scene_now().deeper();
            let found = code::analyze(Language::Sql, &text, None, &scene);
            self.merge(found, span);
        }
    }

    /// Records `-X DELETE` and `--method=delete`, for any program.
    pub(super) fn tells_to_delete(&mut self, name: &str, args: &Arguments<'_>, span: Option<Span>) {
        let deletes = args
            .values(&["-X", "--request", "--method"])
            .iter()
            .any(|method| method.text.eq_ignore_ascii_case("delete"));
        if deletes && !super::floor::only_mentions(name) {
            let address = args.operands().last().map_or(String::new(), |arg| arg.text.clone());
            self.note(Fact::new(FactKind::RemoteDelete, location::shown(&address)).at(span));
        }
    }
}

/// Decodes a value as the server does: `+` and `%20` are spaces.
fn plain_query(value: &str) -> String {
    let value = value.replace('+', " ");
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let decoded = (byte == b'%').then(|| {
            let pair = rest.as_slice().get(..2)?;
            u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
        });
        match decoded.flatten() {
            Some(decoded) => {
                bytes.push(decoded);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_the_server_reads_it() {
        assert_eq!(plain_query("DROP+TABLE%20x%3B"), "DROP TABLE x;");
        assert_eq!(plain_query("100%"), "100%");
        assert_eq!(plain_query("%zz%e4"), "%zz\u{fffd}");
    }
}
