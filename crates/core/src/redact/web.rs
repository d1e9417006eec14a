//! Addresses that contain a secret or name a resource: passwords in URLs, webhooks, buckets, shops,
//! cloud accounts.

use super::{
    Hits,
    fake::{is_blank, is_chosen, is_flat, is_masked, is_placeholder, is_random},
    text::{Class, Text, ends, is_any, starts},
};

/// Finds all of them.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    for (at, byte) in text.0.bytes().enumerate() {
        match byte {
            b':' if text.has(at, "://") => {
                user_info(text, at, hits);
                webhook(text, at + 3, hits);
            }
            b':' if text.has(at, ":thin:") => oracle(text, at + 6, hits),
            b'a' if text.has(at, "arn:aws") => resource_name(text, at, hits),
            b'/' if text.has(at, "/api/v1/") => device_token(text, at + 8, hits),
            b's' if text.is_edge(at) && text.has(at, "storage.googleapis.com") => {
                bucket(text, at, at + 22, hits);
            }
            b'@' if text.at(at + 1).is_ascii_digit() => target(text, at, hits),
            b'.' => host(text, at, hits),
            _ => {}
        }
    }
}

/// Masks the name before the domain of a storage service or a shop.
fn host(text: Text<'_>, dot: usize, hits: &mut Hits) {
    if let Some(suffix) = BUCKET_HOSTS.iter().find(|suffix| text.has(dot, suffix)) {
        bucket(text, dot, dot + suffix.len(), hits);
    } else if text.has(dot, ".dkr.ecr") {
        registry(text, dot, hits);
    } else if text.has(dot, ".myshopify.com") {
        shop(text, dot, hits);
    }
}

/// Masks the password of `scheme://user:password@host`.
fn user_info(text: Text<'_>, colon: usize, hits: &mut Hits) {
    let start = colon + 3;
    let stop = text
        .find(start, 512, b"/ \t\r\n\"'`<>\\,()")
        .unwrap_or_else(|| text.len().min(start + 512));
    let authority = text.cut(start, stop);
    let Some((info, host)) = authority.rsplit_once('@') else { return };
    let query = info.split(':').next().is_some_and(|user| user.contains(['?', '#', '=']));
    if host.is_empty() || query || !text.before(colon).is_ascii_alphanumeric() {
        return;
    }
    match info.split_once(':') {
        Some((user, password)) => {
            // `user:secret` is weak, but people use it; these mean "fill in".
            let documented = is_any(
                password,
                &["password", "pass", "passwd", "pwd", "pw", "bar", "foo", "test"],
            ) && is_any(
                user,
                &["user", "username", "login", "name", "foo", "bar", "test", password],
            );
            let port = password
                .trim_start_matches(|letter: char| letter.is_ascii_digit())
                .starts_with(['?', '#']);
            let sample = port || (starts(host, "example.") && !is_chosen(password));
            if password.len() >= 3 && !documented && !sample && !is_blank(password) {
                let at = start + user.len() + 1;
                hits.named("url-password", at, at + password.len());
            } else if password.is_empty() && is_random(user, 16) {
                hits.named("url-token", start, start + user.len());
            }
        }
        None if is_random(info, 16) => hits.named("url-token", start, start + info.len()),
        None => {}
    }
}

/// Masks the password of `user:password@10.0.0.5`, as tools that sign in to machines take it.
fn target(text: Text<'_>, at: usize, hits: &mut Hits) {
    let address = text.cut(at + 1, text.run_within(at + 1, Class::DOTTED, 16));
    let bytes = address.split('.').filter(|part| part.parse::<u8>().is_ok()).count();
    let before = text.back(at, 80);
    let word = before.rsplit([' ', '\t', '\n', '"', '\'']).next().unwrap_or("");
    let Some((user, password)) =
        word.rsplit_once(':').filter(|_| bytes == 4 && address.split('.').count() == 4)
    else {
        return;
    };
    if !user.is_empty()
        && !user.contains("//")
        && password.len() >= 4
        && is_chosen(password)
        && !is_placeholder(password)
    {
        hits.named("password", at - password.len(), at);
    }
}

/// Masks the password of `jdbc:oracle:thin:user/password@host`.
fn oracle(text: Text<'_>, start: usize, hits: &mut Hits) {
    let stop =
        text.find(start, 200, b" \t\r\n\"'<>;,").unwrap_or_else(|| text.len().min(start + 200));
    let Some((info, _)) = text.cut(start, stop).split_once('@') else { return };
    let Some((user, password)) = info.split_once('/') else { return };
    if password.len() >= 3 && !is_blank(password) {
        let at = start + user.len() + 1;
        hits.named("url-password", at, at + password.len());
    }
}

/// Addresses that allow anybody who knows them to post: host, then the path before the secret part.
const WEBHOOKS: &[(&str, &str)] = &[
    ("hooks.slack.com", "/services/"),
    ("hooks.slack.com", "/workflows/"),
    ("hooks.slack.com", "/triggers/"),
    ("hooks.slack-gov.com", "/services/"),
    ("discord.com", "/api/webhooks/"),
    ("discordapp.com", "/api/webhooks/"),
    ("canary.discord.com", "/api/webhooks/"),
    ("outlook.office.com", "/webhook/"),
    ("outlook.office365.com", "/webhook/"),
    ("webhook.office.com", "/webhookb2/"),
    ("hooks.zapier.com", "/hooks/catch/"),
    ("hook.integromat.com", "/"),
    ("maker.ifttt.com", "/trigger/"),
    ("chat.googleapis.com", "/v1/spaces/"),
    ("open.feishu.cn", "/open-apis/bot/"),
    ("open.larksuite.com", "/open-apis/bot/"),
    ("qyapi.weixin.qq.com", "/cgi-bin/webhook/send?key="),
    ("oapi.dingtalk.com", "/robot/send?access_token="),
    ("events.pagerduty.com", "/integration/"),
    ("hc-ping.com", "/"),
    ("webhooks.mongodb-stitch.com", "/api/client/"),
    ("hooks.airtable.com", "/workflows/"),
    ("api.telegram.org", "/bot"),
];

fn webhook(text: Text<'_>, host_at: usize, hits: &mut Hits) {
    let host_end = text.run_within(host_at, Class::DOTTED, 128);
    let host = text.cut(host_at, host_end);
    let found = WEBHOOKS.iter().find(|(domain, path)| {
        ends(host, domain) && text.has(host_end, path) && host.len() < domain.len() + 40
    });
    let Some((_, path)) = found else { return };
    let start = host_end + path.len();
    let end =
        text.find(start, 512, b" \t\r\n\"'`<>)\\,;").unwrap_or_else(|| text.len().min(start + 512));
    let end = start + text.cut(start, end).trim_end_matches('.').len();
    let given = text.cut(start, end);
    let drawn = given
        .split(['/', '@', '=', '&', '-', ':'])
        .any(|part| part.len() >= 8 && is_random(part, 8));
    if drawn && !is_masked(given) {
        hits.secret("webhook", start, end);
    }
}

/// Masks the account, or the bucket, in an Amazon resource name.
fn resource_name(text: Text<'_>, start: usize, hits: &mut Hits) {
    if !text.is_edge(start) {
        return;
    }
    let mut at = start;
    let mut fields = 0;
    while fields < 4 {
        let Some(colon) = text.find(at, 64, b": \n\"'").filter(|colon| text.at(*colon) == b':')
        else {
            return;
        };
        at = colon + 1;
        fields += 1;
    }
    let end = text.run_within(at, Class::DIGIT, 13);
    if end - at == 12 {
        hits.resource("cloud-account", at, end);
    } else if end == at && text.at(at) == b':' && text.cut(start, at).contains(":s3:") {
        let end = text.run_within(at + 1, Class::DOTTED, 63);
        if end - at > 3 {
            hits.resource("bucket", at + 1, end);
        }
    }
}

/// Masks the account that owns a container registry.
fn registry(text: Text<'_>, dot: usize, hits: &mut Hits) {
    let start = text.run_back(dot, Class::DIGIT, 13);
    if dot - start == 12 {
        hits.resource("cloud-account", start, dot);
    }
}

/// The domains of storage services.
const BUCKET_HOSTS: &[&str] = &[
    ".amazonaws.com",
    ".blob.core.windows.net",
    ".file.core.windows.net",
    ".dfs.core.windows.net",
    ".digitaloceanspaces.com",
    ".r2.cloudflarestorage.com",
    ".aliyuncs.com",
];

/// Masks the bucket in `bucket.s3.amazonaws.com` or `s3.amazonaws.com/bucket`.
fn bucket(text: Text<'_>, suffix_at: usize, host_end: usize, hits: &mut Hits) {
    let start = text.run_back(suffix_at, Class::DOTTED, 128);
    let host = text.cut(start, suffix_at).trim_end_matches('.');
    // The bucket of a host that starts with a dot has already been masked.
    if text.before(start) == b']' {
        return;
    }
    let (name, service) = match text.at(suffix_at) {
        b's' => (host, ""),
        _ => service(host),
    };
    let amazon = text.has(suffix_at, ".amazonaws");
    if amazon && !(service.starts_with("s3") || name.is_empty() && service.starts_with("s3")) {
        return;
    }
    if name.len() > usize::from(amazon) * 2 {
        hits.resource("bucket", start, start + name.len());
        return;
    }
    if text.at(host_end) == b'/' {
        let end = text.run_within(host_end + 1, Class::DOTTED, 64);
        let path = text.cut(host_end + 1, end);
        if path.len() >= 3 && !is_masked(path) {
            hits.resource("bucket", host_end + 1, end);
        }
    }
}

/// Splits a host before the label that names the storage service.
fn service(host: &str) -> (&str, &str) {
    let labels = ["s3", "oss-", "s3-", "s3."];
    let found = host
        .match_indices("s3")
        .chain(host.match_indices("oss-"))
        .find(|(at, _)| *at == 0 || host.as_bytes().get(at - 1) == Some(&b'.'));
    match found {
        Some((at, _)) => {
            let (name, service) = host.split_at_checked(at).unwrap_or((host, ""));
            let known = labels.iter().any(|label| service.starts_with(label));
            if known { (name.trim_end_matches('.'), service) } else { (host, "") }
        }
        None => (host, ""),
    }
}

fn shop(text: Text<'_>, dot: usize, hits: &mut Hits) {
    let start = text.run_back(dot, Class::DOTTED, 80);
    let name = text.cut(start, dot);
    if name.len() >= 3
        && !is_placeholder(name)
        && !name.ends_with(['.', '-'])
        && !is_any(name, &["shop", "www", "your-shop"])
    {
        hits.resource("shop", start, dot);
    }
}

/// Masks the token of a device that reports to a dashboard, which is part of the path.
fn device_token(text: Text<'_>, start: usize, hits: &mut Hits) {
    let end = text.run_within(start, Class::ALNUM, 24);
    let reports =
        ["/telemetry", "/attributes", "/rpc", "/claim"].iter().any(|path| text.has(end, path));
    let given = text.cut(start, end);
    if reports && given.len() == 20 && !is_flat(given) {
        hits.secret("device-token", start, end);
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{draw, redact, scan};

    #[test]
    fn passwords_in_addresses_are_masked() {
        for (source, masked) in [
            ("postgres://ann:hunter22@db/x", "postgres://ann:[redacted:url-password]@db/x"),
            ("redis://:hunter22@h:6379", "redis://:[redacted:url-password]@h:6379"),
            ("https://ann:p@ss@h/x", "https://ann:[redacted:url-password]@h/x"),
        ] {
            assert_eq!(redact(source).text, masked);
        }
        for source in [
            "postgres://$USER:$PASS@db",
            "https://user:password@h",
            "git+ssh://git@h/x",
            "http://h/a:b@c",
        ] {
            assert!(scan(source).is_empty(), "{source}");
        }
    }

    #[test]
    fn webhooks_are_masked() {
        let path = format!("T{}/B{}/{}", draw("0", 8, 1), draw("0", 8, 2), draw("", 24, 3));
        let redacted = redact(&format!("post to https://hooks.slack.com/services/{path}.")).text;
        assert_eq!(redacted, "post to https://hooks.slack.com/services/[redacted:webhook].");
        assert!(scan("https://hooks.slack.com/services/XXX/YYY/ZZZ").is_empty());
    }

    #[test]
    fn buckets_and_accounts_are_resources() {
        for (source, masked) in [
            (
                "https://acme-logs.s3.eu-west-1.amazonaws.com/x",
                "https://[redacted:bucket].s3.eu-west-1.amazonaws.com/x",
            ),
            (
                "https://s3.amazonaws.com/acme-logs/x",
                "https://s3.amazonaws.com/[redacted:bucket]/x",
            ),
            ("arn:aws:iam::210987654321:role/x", "arn:aws:iam::[redacted:cloud-account]:role/x"),
        ] {
            assert_eq!(redact(source).text, masked);
        }
        assert!(scan("https://s3.amazonaws.com https://ec2.amazonaws.com/x").is_empty());
    }
}
