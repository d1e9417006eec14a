//! Functions of awk that compute a text from others.

use super::text::Values;

/// Returns the result of a function of awk; `None` when awk has no such function.
pub(super) fn call(name: &str, args: &[Values]) -> Option<Values> {
    let first = args.first();
    Some(match name {
        "sprintf" => format(args),
        "tolower" => {
            first.map_or_else(Values::unknown, |text| text.map(|text| Some(text.to_lowercase())))
        }
        "toupper" => {
            first.map_or_else(Values::unknown, |text| text.map(|text| Some(text.to_uppercase())))
        }
        "substr" => substring(args),
        "length" | "index" | "split" | "patsplit" | "match" | "sub" | "gsub" | "gensub"
        | "close" | "fflush" | "int" | "rand" | "srand" | "sin" | "cos" | "atan2" | "exp"
        | "log" | "sqrt" | "systime" | "strftime" | "mktime" | "strtonum" | "asort" | "asorti"
        | "and" | "or" | "xor" | "compl" | "lshift" | "rshift" | "isarray" | "typeof"
        | "bindtextdomain" | "dcgettext" | "dcngettext" | "mkbool" | "revoutput"
        | "gettimeofday" | "sleep" => Values::unknown(),
        _ => return None,
    })
}

fn substring(args: &[Values]) -> Values {
    let number = |at: usize| {
        args.get(at).and_then(Values::only).and_then(|text| text.trim().parse::<f64>().ok())
    };
    let (Some(text), Some(start)) = (args.first(), number(1)) else { return Values::unknown() };
    let length = number(2);
    if args.len() > 2 && length.is_none() {
        return Values::unknown();
    }
    let end = length.map_or(f64::INFINITY, |length| start.round() + length.round());
    text.map(|text| {
        let inside = text
            .chars()
            .zip(1_u32..)
            .filter(|(_, at)| f64::from(*at) >= start.round() && f64::from(*at) < end);
        Some(inside.map(|(char, _)| char).collect())
    })
}

/// Evaluates `sprintf` and `printf`.
pub(super) fn format(args: &[Values]) -> Values {
    let Some((format, args)) = args.split_first() else { return Values::known("") };
    let Some(format) = format.only() else { return Values::unknown() };
    let mut args = args.iter();
    let mut out = Values::known("");
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            out = out.then(&Values::known(char));
            continue;
        }
        let mut width = String::new();
        let kind = loop {
            match chars.next() {
                Some(char) if char.is_ascii_digit() || "-+ #.*'".contains(char) => width.push(char),
                kind => break kind,
            }
        };
        let next = match kind {
            Some('%') => Values::known("%"),
            Some(kind) if width.is_empty() => converted(kind, args.next()),
            _ => {
                args.next();
                Values::unknown()
            }
        };
        out = out.then(&next);
    }
    out
}

fn converted(kind: char, value: Option<&Values>) -> Values {
    let Some(value) = value else { return Values::known("") };
    match kind {
        's' => value.clone(),
        'c' => value.map(|text| match text.parse::<u32>() {
            Ok(code) => char::from_u32(code).map(String::from),
            Err(_) => text.chars().next().map(String::from),
        }),
        'd' | 'i' | 'u' => {
            value.map(|text| text.trim().parse::<i64>().ok().map(|number| number.to_string()))
        }
        _ => Values::unknown(),
    }
}
