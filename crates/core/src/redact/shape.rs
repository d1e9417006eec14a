//! Secrets recognised by a mark in their middle or at their end rather than by a prefix.
//!
//! Each is looked for at its mark, a byte or a short literal that is rare in ordinary text, and
//! read from there in both directions.

use super::{
    Hits,
    fake::{is_flat, is_masked, is_mixed, is_rich},
    text::{Class, Text},
    words::words,
};

/// Finds all of them.
pub(super) fn find(text: Text<'_>, hits: &mut Hits) {
    for (index, byte) in text.0.bytes().enumerate() {
        match byte {
            b'~' => azure_client_secret(text, index, hits),
            b'|' => facebook_app_token(text, index, hits),
            b':' => telegram_or_sam(text, index, hits),
            b'!' => salesforce_session(text, index, hits),
            b'.' => dotted(text, index, hits),
            b'-' => dashed(text, index, hits),
            b'N' if text.has(index, "NRAL") => newrelic_license(text, index, hits),
            b'_' if text.has(index, "_mmk") => maxmind_key(text, index, hits),
            b'J' if text.has(index, "JQQJ99") => azure_key(text, index, hits),
            _ => {}
        }
    }
}

/// Finds standard formats that do not belong to one service: web tokens, password hashes.
pub(super) fn standard(text: Text<'_>, hits: &mut Hits) {
    json_web_tokens(text, hits);
    let mut walked = 0;
    for (index, _) in text.0.match_indices('$') {
        // Every `$` of a hash looks like the start of one.
        if index >= walked {
            walked = password_hash(text, index, hits);
        }
    }
}

/// Finds `header.payload.signature`, each in base64url, and the five parts of an encrypted one.
fn json_web_tokens(text: Text<'_>, hits: &mut Hits) {
    let mut index = 0;
    let mut known_run = 0;
    while let Some(found) = text.0.get(index..).and_then(|rest| rest.find("eyJ")) {
        let start = index + found;
        index = start + 3;
        // INVARIANT: a run is read once. If it is not a token, no start within it is one either.
        if start < known_run || !text.is_edge(start) {
            continue;
        }
        let mut end = text.run(start, Class::URL64);
        known_run = end;
        let mut parts = 1;
        while parts < 5 && text.at(end) == b'.' {
            let next = text.run(end + 1, Class::URL64);
            if next == end + 1 || (next - end < 8 && parts < 3) {
                break;
            }
            end = next;
            parts += 1;
        }
        let token = text.cut(start, end);
        if parts >= 3 && token.len() >= 40 && !is_masked(token) {
            hits.secret("jwt", start, end);
            index = end;
        }
    }
}

words! {
    /// Schemes that write a hash as `$scheme$…`.
    SCHEMES = "1 2 2a 2b 2x 2y 5 6 7 8 9 H NT P S apr1 bcrypt gy md5 y"
}

words! {
    /// Families of schemes, recognised by their prefix.
    SCHEME_FAMILIES = "DCC2 argon2 bcrypt- krb5 pbkdf2 scrypt sha"
}

/// Finds `$id$…$…` as `crypt(3)`, bcrypt, argon2 and Kerberos crackers write it. Returns the
/// position up to which it read.
fn password_hash(text: Text<'_>, start: usize, hits: &mut Hits) -> usize {
    let name_end = text.run_within(start + 1, Class::URL64, 20);
    let name = text.cut(start + 1, name_end);
    let known =
        SCHEMES.contains(&name) || SCHEME_FAMILIES.iter().any(|family| name.starts_with(family));
    if !known || text.at(name_end) != b'$' {
        return start + 1;
    }
    let also: &[u8] = if name.starts_with("krb5") { b"$=,*:@-_" } else { b"$=,-_" };
    let mut end = name_end;
    while Class::CRYPT.has(text.at(end)) || also.contains(&text.at(end)) {
        end += 1;
    }
    let hash = text.cut(name_end, end);
    let longest = hash.split('$').map(str::len).max().unwrap_or(0);
    if longest >= 20 && !is_masked(hash) && is_mixed(hash) {
        hits.secret("password-hash", start, end);
    }
    end
}

/// Finds the client secrets of Entra ID: three characters, a digit, `Q~`, then thirty-odd.
fn azure_client_secret(text: Text<'_>, mark: usize, hits: &mut Hits) {
    let Some(start) = mark.checked_sub(5) else { return };
    if text.before(mark) != b'Q' || !text.at(mark - 2).is_ascii_digit() {
        return;
    }
    let mut end = mark + 1;
    while end - mark < 40 && (Class::DOTTED.has(text.at(end)) || text.at(end) == b'~') {
        end += 1;
    }
    let body = end - mark - 1;
    let head = text.cut(start, mark).bytes().all(|byte| Class::DOTTED.has(byte) || byte == b'~');
    if head && (30..=36).contains(&body) && !is_flat(text.cut(start, end)) {
        hits.secret("azure-client-secret", start, end);
    }
}

/// Finds an application id, a bar and a secret.
fn facebook_app_token(text: Text<'_>, bar: usize, hits: &mut Hits) {
    let start = text.run_back(bar, Class::DIGIT, 18);
    let end = text.run_within(bar + 1, Class::URL64, 64);
    let body = text.cut(bar + 1, end);
    if (13..=17).contains(&(bar - start))
        && (24..=40).contains(&body.len())
        && is_mixed(body)
        && !is_flat(body)
    {
        hits.secret("facebook-token", start, end);
    }
}

/// Finds `id:AA…` of a Telegram bot, and `…:lm:nt:::` of a dumped account database.
fn telegram_or_sam(text: Text<'_>, colon: usize, hits: &mut Hits) {
    if text.has(colon, ":::") {
        let middle = text.run_back(colon, Class::ANY_HEX, 33);
        let start = text.run_back(middle.saturating_sub(1), Class::ANY_HEX, 33);
        if colon - middle == 32 && text.before(middle) == b':' && middle - 1 - start == 32 {
            hits.secret("password-hash", start, colon);
        }
        return;
    }
    if !text.has(colon + 1, "AA") {
        return;
    }
    let start = text.run_back(colon, Class::DIGIT, 12);
    let end = text.run_within(colon + 1, Class::URL64, 64);
    let body = text.cut(colon + 1, end);
    let edge = text.is_edge(start) || text.back(start, 4).ends_with("/bot");
    if edge
        && (8..=11).contains(&(colon - start))
        && (33..=38).contains(&body.len())
        && !is_flat(body)
    {
        hits.secret("telegram-token", start, end);
    }
}

/// Finds `00D…!…`: organisation, then session.
fn salesforce_session(text: Text<'_>, mark: usize, hits: &mut Hits) {
    let start = text.run_back(mark, Class::ALNUM, 20);
    let end = text.run_within(mark + 1, Class::DOTTED, 200);
    if text.has(start, "00D") && (12..=18).contains(&(mark - start)) && end - mark > 60 {
        hits.secret("salesforce-token", start, end);
    }
}

/// Finds tokens whose parts are joined by dots.
fn dotted(text: Text<'_>, dot: usize, hits: &mut Hits) {
    if text.has(dot, ".atlasv1.") {
        let start = text.run_back(dot, Class::ALNUM, 16);
        let end = text.run_within(dot + 9, Class::URL64, 120);
        let body = text.cut(dot + 9, end);
        if dot - start >= 10 && body.len() >= 40 && !is_flat(body) && !is_masked(body) {
            hits.secret("terraform-token", start, end);
        }
    } else if text.has(dot, ".apps.googleusercontent.com") {
        let name = text.run_back(dot, Class::LOWER_NUM, 40);
        let start = text.run_back(name.saturating_sub(1), Class::DIGIT, 16);
        if dot - name >= 20 && text.before(name) == b'-' && start + 1 < name {
            hits.resource("google-client-id", start, dot);
        }
    } else {
        discord_or_vault(text, dot, hits);
    }
}

/// Finds a Discord bot's `id.time.signature`, and the old `s.…`, `b.…` and `r.…` of Vault.
fn discord_or_vault(text: Text<'_>, dot: usize, hits: &mut Hits) {
    let start = text.run_back(dot, Class::URL64, 30);
    let end = text.run_within(dot + 1, Class::URL64, 300);
    let body = text.cut(dot + 1, end);
    if dot - start == 1 && matches!(text.at(start), b's' | b'b' | b'r') && text.is_edge(start) {
        let digits = body.bytes().filter(u8::is_ascii_digit).count();
        if body.len() >= 24
            && digits >= 2
            && is_rich(body)
            && !is_masked(body)
            && text.at(end) != b'('
        {
            hits.secret("vault-token", start, end);
        }
    } else if (23..=28).contains(&(dot - start)) && body.len() == 6 && text.at(end) == b'.' {
        let last = text.run_within(end + 1, Class::URL64, 60);
        let token = text.cut(start, last);
        if (27..=40).contains(&(last - end - 1))
            && is_rich(token)
            && matches!(text.at(start), b'M' | b'N' | b'O')
        {
            hits.secret("discord-token", start, last);
        }
    }
}

/// Finds hexadecimal digits, then the region of the account or two shorter groups.
fn dashed(text: Text<'_>, dash: usize, hits: &mut Hits) {
    let start = text.run_back(dash, Class::HEX, 33);
    if dash - start != 32 || !text.is_edge(start) || is_flat(text.cut(start, dash)) {
        return;
    }
    if text.has(dash, "-us") {
        let end = text.run_within(dash + 3, Class::DIGIT, 3);
        if end > dash + 3 && !Class::WORD.has(text.at(end)) {
            hits.secret("mailchimp-key", start, end);
        }
        return;
    }
    let second = text.run_within(dash + 1, Class::HEX, 9);
    let third = text.run_within(second + 1, Class::HEX, 9);
    if second - dash == 9
        && text.at(second) == b'-'
        && third - second == 9
        && !Class::WORD.has(text.at(third))
    {
        hits.secret("mailgun-key", start, third);
    }
}

fn newrelic_license(text: Text<'_>, mark: usize, hits: &mut Hits) {
    let start = text.run_back(mark, Class::ANY_HEX, 37);
    // The mark at its end is proof enough.
    if mark - start == 36
        && !Class::WORD.has(text.at(mark + 4))
        && !text.cut(start, mark).contains("00000000")
    {
        hits.secret("newrelic-key", start, mark + 4);
    }
}

/// Finds six characters, twenty-nine more, and the mark at the end.
fn maxmind_key(text: Text<'_>, mark: usize, hits: &mut Hits) {
    let middle = text.run_back(mark, Class::ALNUM, 30);
    let start = text.run_back(middle.saturating_sub(1), Class::ALNUM, 7);
    let ends = !Class::WORD.has(text.at(mark + 4));
    if ends && mark - middle == 29 && text.before(middle) == b'_' && middle - 1 - start == 6 {
        hits.secret("maxmind-key", start, mark + 4);
    }
}

/// Finds the newer keys of Azure services, which contain their issuer's mark.
fn azure_key(text: Text<'_>, mark: usize, hits: &mut Hits) {
    let start = text.run_back(mark, Class::ALNUM, 90);
    let end = text.run_within(mark, Class::ALNUM, 90);
    if end - start == 84 {
        hits.secret("azure-key", start, end);
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{draw, redact, scan};

    #[test]
    fn a_json_web_token_is_one_finding() {
        let token = format!("{}.{}.{}", draw("eyJ", 30, 1), draw("eyJ", 60, 2), draw("", 43, 3));
        assert_eq!(redact(&format!("jwt {token}.")).text, "jwt [redacted:jwt].");
        assert!(scan("eyJhbGciOi.short.x").is_empty());
    }

    #[test]
    fn password_hashes_are_found_and_shell_parameters_are_not() {
        assert_eq!(
            scan(&format!("root:$6${}${}:19000:", draw("", 8, 4), draw("", 86, 5))).len(),
            1
        );
        assert!(scan("echo $1$2$3 $6$7").is_empty());
    }
}
