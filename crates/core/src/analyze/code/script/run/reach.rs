//! What arguments reach by themselves, whatever the function is: the credentials of a cloud machine,
//! and protected files.

use super::{Args, Runner};
use crate::analyze::code::script::value::{Shape, Value};
use crate::analyze::{UNKNOWN, url};
use crate::fact::{FactKind, Tag, Tags};
use crate::verdict::Span;

/// The length past which a text is neither an address nor a path.
const LONGEST: usize = 2048;

impl Runner<'_> {
    /// Records an address at which cloud machines hand out their credentials.
    pub(super) fn reaches_metadata(&mut self, args: &Args, span: Option<Span>) {
        for text in texts(args) {
            if url::leads_to_metadata(&text, &self.scene) {
                let subject = text.replace(UNKNOWN, "…");
                self.fact(FactKind::SecretSearch, &subject, Tags::NONE, span);
            }
        }
    }

    /// Records files of secrets that an unknown function is given by their full path; returns the
    /// origin of their content.
    pub(super) fn reads_protected(&mut self, args: &Args, span: Option<Span>) -> Value {
        let mut content = Value::unknown();
        for value in args.positional().cloned().collect::<Vec<_>>() {
            for choice in value.choices() {
                let Some(text) = choice.known_text() else { continue };
                let is_path = text.starts_with(['/', '~']) && is_one_word(text);
                if is_path && self.located(text).has(Tag::Secret) {
                    let read = self.read(choice, span);
                    content = content.with(&read.origin);
                }
            }
        }
        content
    }
}

/// Returns the known texts among arguments and in their maps.
fn texts(args: &Args) -> Vec<String> {
    let inner = |value: &Value| match &value.shape {
        Shape::Map(pairs) => pairs.iter().map(|(_, value)| value.clone()).collect(),
        _ => value.choices().to_vec(),
    };
    let values = args.list.iter().flat_map(|arg| inner(&arg.value));
    let texts = values.filter_map(|value| value.known_text().map(ToString::to_string));
    texts.filter(|text| is_one_word(text)).collect()
}

fn is_one_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use crate::Verdict;
    use crate::example::verdict_of;

    #[test]
    fn the_credentials_of_a_cloud_machine_are_not_fetched_unasked() {
        for source in [
            "python: import requests\nrequests.get('http://#/latest/meta-data/')",
            "python: import http.client\nhttp.client.HTTPConnection('#')",
            "python: import some\nsome.client().load('http://#/')",
            "javascript: fetch('http://#/').then(console.log)",
            "javascript: require('http').get({ host: '#', path: '/' }, r => r)",
            "perl: use LWP::Simple; print get('http://#/');",
            "ruby: require 'net/http'\nNet::HTTP.get(URI('http://#/'))",
            "ruby: require 'net/http'\nNet::HTTP.start('#', 80)",
        ] {
            for address in ["169.254.169.254", "2852039166", "metadata.google.internal"] {
                let danger = source.replace('#', address);
                assert!(verdict_of(&danger) >= Verdict::Confirm, "{danger}");
            }
            let ordinary = source.replace('#', "api.example.com");
            assert!(verdict_of(&ordinary) <= Verdict::Warn, "{ordinary}");
        }
    }

    #[test]
    fn a_file_of_secrets_given_to_an_unknown_function_is_read() {
        for (source, asks) in [
            (
                "python: import configparser\nconfigparser.ConfigParser().read('/home/user/.aws/credentials')",
                true,
            ),
            ("python: import some\nsome.load('/home/user/.ssh/id_rsa')", true),
            ("python: import some\nsome.load('settings.ini')", false),
            ("python: import some\nsome.log('/home/user/.ssh/id_rsa is missing')", false),
        ] {
            assert_eq!(verdict_of(source) >= Verdict::Confirm, asks, "{source}");
        }
    }

    #[test]
    fn an_archive_lands_where_it_is_unpacked() {
        for (source, asks) in [
            ("python: import tarfile\ntarfile.open('x.tar').extractall('/etc')", true),
            (
                "python: import zipfile\nwith zipfile.ZipFile('x') as z:\n    z.extractall(path='/')",
                true,
            ),
            ("python: import zipfile\nzipfile.ZipFile('x').extract('a', '/usr/bin')", true),
            ("javascript: new (require('adm-zip'))('x.zip').extractAllTo('/etc')", true),
            ("python: import tarfile\ntarfile.open('x.tar').extractall('data')", false),
            ("python: import tarfile\ntarfile.open('x.tar').extractall()", false),
        ] {
            assert_eq!(verdict_of(source) >= Verdict::Confirm, asks, "{source}");
        }
    }
}
