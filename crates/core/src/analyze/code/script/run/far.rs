//! Methods of client libraries that destroy, pay or tell something on another machine, by the form
//! of their names: `delete_bucket`, `dropDatabase`, `Refund.create`.
//!
//! No list of libraries is complete, but their methods are called alike. A name counts only with
//! the thing it is about, so that methods of lists and texts do not.

use std::borrow::Cow;

use super::Runner;
use crate::action::Language;
use crate::analyze::code::script::value::{Shape, Value};
use crate::analyze::purpose;
use crate::fact::{FactKind, Tags};
use crate::verdict::Span;
use crate::words::{self, has};

/// Names that need no thing beside them.
const WHOLE: &[&str] = &["flushall", "flushdb", "dropdb", "deletemany", "destroyall"];

impl Runner<'_> {
    /// Records a method of an unknown object that has such an effect.
    pub(super) fn far_method(&mut self, object: &Value, name: &str, span: Option<Span>) {
        // In a function that nobody calls.
        if self.supposed || !may_act(name) {
            return;
        }
        let parts = lower(name);
        // `containers.prune()`: the thing is before the verb.
        let before = match &object.shape {
            Shape::Member(_, noun) => lower(noun),
            _ => Vec::new(),
        };
        if destroys(&parts, &before) {
            self.fact(FactKind::RemoteDelete, name, Tags::NONE, span);
        } else if self.language != Language::Javascript && is_final(&parts, &before) {
            self.fact(FactKind::Publishes, name, Tags::NONE, span);
        }
    }
}

/// Reports whether a name can begin with such a verb, before it is split.
fn may_act(name: &str) -> bool {
    let begins =
        |verb: &&str| name.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
    words::VERBS_FAR.iter().any(begins)
        || words::GRANTS_PAYS.iter().any(|verb| name.contains(verb))
        || ["post", "broadcast"].iter().any(|verb| name.contains(verb))
}

fn lower(name: &str) -> Vec<String> {
    purpose::split(name).into_iter().map(Cow::into_owned).collect()
}

fn destroys(parts: &[String], before: &[String]) -> bool {
    let Some((verb, rest)) = parts.split_first() else { return false };
    let thing = |part: &String| has(words::VERBS_FAR_THINGS, part);
    let is_whole = WHOLE.contains(&parts.concat().as_str());
    is_whole
        || (has(words::VERBS_FAR, verb)
            && (rest.iter().any(thing) || rest.is_empty() && before.iter().any(thing)))
}

/// Reports whether somebody is paid or told something.
fn is_final(parts: &[String], before: &[String]) -> bool {
    let things = || parts.iter().chain(before);
    let both = |verbs: &[&str], nouns: &[&str]| {
        parts.iter().any(|part| has(verbs, part)) && things().any(|part| has(nouns, part))
    };
    both(words::GRANTS_PAYS, words::GRANTS_PAYMENTS)
        || parts.iter().any(|part| matches!(part.as_str(), "send" | "post" | "broadcast"))
            && both(words::GRANTS_TELLS, words::GRANTS_MESSAGES)
}

#[cfg(test)]
mod tests {
    use crate::Verdict;
    use crate::example::verdict_of;

    #[test]
    fn a_method_that_destroys_something_elsewhere_asks() {
        for source in [
            "python: from azure.storage.blob import BlobServiceClient as B\nB(c).delete_container('x')",
            "python: import docker\ndocker.from_env().containers.prune()",
            "python: Base.metadata.drop_all(engine)",
            "python: import redis\nredis.Redis().flushall()",
            "python: import boto3\nboto3.resource('s3').Bucket('x').objects.all().delete()",
            "python: import stripe\nstripe.Refund.create(charge='x')",
            "javascript: await prisma.user.deleteMany()",
            "javascript: await mongoose.connection.dropDatabase()",
            "ruby: User.destroy_all",
        ] {
            assert!(verdict_of(source) >= Verdict::Confirm, "{source}");
        }
    }

    #[test]
    fn methods_of_lists_texts_and_frames_are_quiet() {
        for source in [
            "python: import pandas as pd\npd.read_csv('a.csv').drop_duplicates().dropna()",
            "python: items = [1]\nitems.remove(1)\nitems.clear()",
            "python: import boto3\nprint(boto3.client('s3').list_buckets())",
            "javascript: const m = new Map(); m.delete('a'); m.clear()",
            "javascript: element.removeEventListener('x', f); list.removeChild(a)",
            "javascript: worker.postMessage('x')",
            "ruby: h.delete(:a)",
        ] {
            assert!(verdict_of(source) < Verdict::Confirm, "{source}");
        }
    }
}
