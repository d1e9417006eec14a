//! Kubernetes secrets in YAML: every value under `data:` or `stringData:` is one.

use super::{
    Hits,
    fake::{is_blank, is_placeholder},
    text::Text,
};

/// Finds the values of secrets in manifests.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    if !text.0.contains("Secret") || !text.0.contains("ata:") {
        return;
    }
    let mut at = 0;
    let mut document = Document::default();
    for line in text.0.split_inclusive('\n') {
        document.line(line, at, hits);
        at += line.len();
    }
    document.close(hits);
}

/// The part of a YAML document that has been read.
#[derive(Debug, Default)]
struct Document {
    secret: bool,
    /// The indentation of the block of values, while one is open.
    block: Option<usize>,
    /// The positions of values; the kind may be named after them.
    values: Vec<(usize, usize)>,
}

impl Document {
    fn line(&mut self, line: &str, at: usize, hits: &mut Hits) {
        let content = line.trim();
        let depth = line.len() - line.trim_start().len();
        if content.starts_with("---") {
            self.close(hits);
            return;
        }
        if content.is_empty() || content.starts_with('#') {
            return;
        }
        if let Some(open) = self.block {
            if depth > open {
                self.value(line, at);
                return;
            }
            self.block = None;
        }
        match content {
            "data:" | "stringData:" => self.block = Some(depth),
            "kind: Secret" | "kind: 'Secret'" | "kind: \"Secret\"" => self.secret = true,
            _ => {}
        }
    }

    /// Notes the value of `name: value`.
    fn value(&mut self, line: &str, at: usize) {
        let Some((name, rest)) = line.split_once(':') else { return };
        let given = rest.trim().trim_matches(['"', '\'']);
        let Some(offset) = rest.find(given) else { return };
        let start = at + name.len() + 1 + offset;
        if given.len() >= 4 && !is_blank(given) && !is_placeholder(given) && !given.contains(' ') {
            self.values.push((start, start + given.len()));
        }
    }

    /// Masks the noted values, if the document turned out to be a secret, and starts the next.
    fn close(&mut self, hits: &mut Hits) {
        let ended = std::mem::take(self);
        for (start, end) in ended.values.iter().filter(|_| ended.secret) {
            hits.named("secret", *start, *end);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{redact, scan};

    #[test]
    fn values_of_a_secret_are_masked_wherever_its_kind_stands() {
        let source = "data:\n  user: YW5uYQ==\n  other: \"Ym9iYnk=\"\nkind: Secret\n";
        let masked =
            "data:\n  user: [redacted:secret]\n  other: \"[redacted:secret]\"\nkind: Secret\n";
        assert_eq!(redact(source).text, masked);
    }

    #[test]
    fn other_kinds_and_templates_are_left() {
        assert!(scan("kind: ConfigMap\ndata:\n  user: YW5uYQ==\n").is_empty());
        assert!(scan("kind: Secret\ndata:\n  user: {{ .Values.user }}\n").is_empty());
        assert!(scan("kind: Secret\n---\nkind: ConfigMap\ndata:\n  user: YW5uYQ==\n").is_empty());
    }
}
