//! Properties of redaction on secrets of invented services and on ordinary text, both generated.
//!
//! The tables of providers are left out, so that every service is an unknown one.

use super::{
    provider::PROVIDERS,
    scan_without_table,
    text::Class,
    token::{OPEN, Part},
};

/// A small random number generator with a seed, so that a failure can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn from(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }

    /// A made-up name, as services have.
    fn name(&mut self) -> String {
        let length = 1 + self.below(2);
        (0..length)
            .map(|_| self.of(&["ac", "bor", "fil", "nov", "ral", "ze", "kly", "tim"]))
            .collect()
    }

    /// A made-up identifier, as programs have.
    fn identifier(&mut self) -> String {
        let words: Vec<&str> = (0..2 + self.below(4)).map(|_| self.of(WORDS)).collect();
        match self.below(4) {
            0 => words.join("_"),
            1 => words.join("-"),
            2 => words.join("_").to_uppercase(),
            _ => words.iter().map(|word| hump(word)).collect(),
        }
    }
}

/// Capitalises the word.
fn hump(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

const WORDS: &[&str] = &[
    "user", "account", "session", "connect", "list", "update", "remote", "index", "async", "http2",
    "base64", "utf8", "buffer", "queue", "worker", "render", "template", "config", "schema",
    "version", "x86", "linux", "window", "event", "handler", "metric", "replica", "shard", "v2",
];

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &str = "0123456789abcdef";

/// Texts with a token beside a word for it.
const NAMED: &[&str] = &[
    "export NAME_TOKEN=#",
    "NAME_API_KEY='#'",
    "{\"apiKey\": \"#\", \"region\": \"eu\"}",
    "auth:\n  token: #\n  user: ann",
    "[NAME]\nsecret = \"#\"",
    "Authorization: Bearer #",
    "X-Api-Key: #",
    "curl https://api.NAME.example/v1/me?access_token=#&page=2",
    "<clientSecret>#</clientSecret>",
    "NAME login --token # --region eu",
    "the NAME api key is #",
    "use token # to log in",
    "Here is the NAME credential: #",
];

/// Texts with a token alone.
const ALONE: &[&str] = &[
    "#",
    "I got # from them, can you try it?",
    "client = NAME.Client(\"#\")",
    "NAME login #",
    "- NAME: #",
    "[\"#\", \"eu\"]",
    "set it to `#` and restart",
    "NAME(`#`);",
];

/// A token, and whether it can be recognised without a word beside it.
fn token(chance: &mut Chance) -> (String, bool) {
    let name = chance.name();
    let upper = name.to_uppercase();
    let prefix = match chance.below(9) {
        0 | 1 => format!("{name}_"),
        2 => format!("{name}-"),
        3 => format!("{name}_live_"),
        4 => format!("{name}_pat_"),
        5 => format!("sk-{name}-"),
        6 => format!("{upper}-"),
        7 => format!("{name}.v1."),
        _ => String::new(),
    };
    let length = 24 + chance.below(30);
    let (body, plain) = match chance.below(8) {
        0 => (chance.from(LOWER, length), true),
        1 => (chance.from(UPPER, length), true),
        2 | 3 => (chance.from(URL64, length), true),
        4 => (chance.from(BASE64, 40) + "=", prefix.is_empty()),
        5 => (chance.from(HEX, 40), prefix.ends_with('_') || prefix.starts_with("sk-")),
        _ => (chance.from(ALNUM, length), true),
    };
    (prefix + &body, plain)
}

/// The number of secrets in a thousand that are found whole, and some that are not.
pub(super) fn found(seed: u64, contexts: &[&str], alone: bool) -> (usize, Vec<String>) {
    let mut chance = Chance(seed);
    let (mut found, mut missed) = (0, Vec::new());
    while found + missed.len() < 1000 {
        let (token, plain) = token(&mut chance);
        let name = chance.name();
        let text = chance.of(contexts).replace("NAME", &name).replace('#', &token);
        if alone && !plain {
            continue;
        }
        let start = text.find(&token).unwrap();
        let whole = scan_without_table(&text).iter().any(|found| {
            found.span[0] <= start + token.len() / 3 && found.span[1] + 2 >= start + token.len()
        });
        if whole {
            found += 1;
        } else {
            missed.push(text);
        }
    }
    (found, missed)
}

#[test]
fn tokens_of_invented_services_are_found_beside_a_word_for_them() {
    let (found, missed) = found(1, NAMED, false);
    assert!(found >= 970, "{found} of 1000; missed {missed:#?}");
}

#[test]
fn tokens_of_invented_services_are_found_alone() {
    let (found, missed) = found(2, ALONE, true);
    assert!(found >= 920, "{found} of 1000; missed {missed:#?}");
}

/// A line of ordinary text.
fn ordinary(chance: &mut Chance) -> String {
    let hex = |chance: &mut Chance, length| chance.from(HEX, length);
    let word = chance.identifier();
    match chance.below(24) {
        0 => format!("commit {}", hex(chance, 40)),
        1 => format!("git checkout {} -- src", hex(chance, 40)),
        2 => format!("{} refs/heads/{word}", hex(chance, 40)),
        3 => format!("{}  {word}.tar.gz", hex(chance, 64)),
        4 => format!("<script integrity=\"sha512-{}==\" src=\"/a.js\">", chance.from(BASE64, 86)),
        5 => format!("image: registry.example/{word}@sha256:{}", hex(chance, 64)),
        6 => format!("request {}-4a1b-4c2d-8e3f-{} done", hex(chance, 8), hex(chance, 12)),
        7 => format!("dist/{word}.{}.js", hex(chance, 20)),
        8 => format!("<div class=\"css-{} {word}\">", chance.from(LOWER, 6)),
        9 => format!("url(data:image/png;base64,{}=)", chance.from(BASE64, 180)),
        10 => format!("ssh-rsa {}{} ann@host", "AAAAB3", chance.from(BASE64, 300)),
        11 => format!("/nix/store/{}-{word}-2.1", chance.from(LOWER, 32)),
        12 => format!("https://docs.example/d/{}/edit", chance.from(URL64, 44)),
        13 => format!("\"id\": \"{}\"", chance.from(ALNUM, 24)),
        14 => format!("github.com/x/y v1.2.{} h1:{}=", chance.below(99), chance.from(BASE64, 43)),
        15 => format!("pod/{word}-{}-{} Running", chance.from(LOWER, 10), chance.from(LOWER, 5)),
        16 => format!("let {word} = {}({});", chance.identifier(), chance.identifier()),
        17 => format!(
            "{word}@{}.{}.0-rc.1+build.{}",
            chance.below(30),
            chance.below(9),
            chance.below(900)
        ),
        18 => format!(
            "2026-11-{:02}T10:15:{:02}.123456Z {word} started",
            chance.below(28),
            chance.below(60)
        ),
        19 => format!("token: ${{{}}}", word.to_uppercase()),
        20 => format!("api_key = <your {word} key>"),
        21 => format!("{} {} {} {}", chance.of(WORDS), word, chance.identifier(), chance.of(WORDS)),
        22 => format!("password: process.env.{}", word.to_uppercase()),
        _ => format!("the {} of the {} was read from {word}", chance.of(WORDS), chance.of(WORDS)),
    }
}

#[test]
fn generated_ordinary_text_is_left() {
    let mut chance = Chance(3);
    let mut changed = Vec::new();
    for _ in 0..3000 {
        let text = ordinary(&mut chance);
        if !scan_without_table(&text).is_empty() {
            changed.push(text);
        }
    }
    assert!(changed.len() <= 30, "{} of 3000 changed: {changed:#?}", changed.len());
}

/// A token with the format of a row of the table.
fn of_row(chance: &mut Chance, prefix: &str, parts: &[Part]) -> String {
    let mut token = prefix.to_owned();
    for part in parts {
        match part {
            Part::Literal(literal) => token.push_str(literal),
            Part::Run(class, least, most) => {
                let most = if *most == OPEN { least + 20 } else { *most };
                let length = least + chance.below(most - least + 1);
                token.push_str(&chance.from(&alphabet(*class), length));
            }
            Part::Tail(tail) => {
                token.truncate(token.len() - tail.len());
                token.push_str(tail);
            }
        }
    }
    token
}

/// The letters, digits and marks of a class, without those that end a sentence or escape.
fn alphabet(class: Class) -> String {
    let plain = |byte: &u8| class.has(*byte) && !b".% \t\n\r=".contains(byte);
    (0..128).filter(plain).map(char::from).collect()
}

#[test]
fn tokens_of_the_table_are_found_without_the_table() {
    let mut chance = Chance(5);
    let (mut found, mut rounds) = (0, 0);
    let mut missed = Vec::new();
    for row in PROVIDERS {
        for _ in 0..10 {
            let token = of_row(&mut chance, row.prefix, row.parts);
            let name = chance.name();
            let contexts = if chance.below(2) == 0 { NAMED } else { ALONE };
            let text = chance.of(contexts).replace("NAME", &name).replace('#', &token);
            let hit = scan_without_table(&text).iter().any(|found| found.kind != "email");
            rounds += 1;
            found += usize::from(hit);
            if !hit {
                missed.push(text);
            }
        }
    }
    assert!(found * 10 >= rounds * 9, "{found} of {rounds}; missed {missed:#?}");
}
