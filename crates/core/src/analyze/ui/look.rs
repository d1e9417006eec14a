//! Labels as people see them: other spellings that look like the intended one.
//!
//! A person reads `Dеlеtе` with Cyrillic vowels, `D e l e t e`, `D3lete` and `Dele te` as one word.
//! Each of these is mapped back to the word that it looks like, and both the written and the
//! visible word are read.

use super::fold::fold;
use super::lexicon::look_up;
use super::name::fold_name;

/// The length past which a label is prose, which nobody disguises.
const MOST: usize = 200;

/// The length of the longest word that is assembled from spaced letters.
const MOST_SPACED: usize = 40;

/// Letters of other alphabets with the Latin letters that most typefaces draw like them.
const LIKE_LATIN: &str = "аaсcԁdеeёeһhіiїiјjӏlоoрpԛqѕsԝwхxуyѵvьbгrпnтtкkмmнhвbиu\
АaВbСcЕeЁeНhІiЈjКkМmОoРpЅsТtХxУyԀdԌgԚqԜwҮyӀl\
αaβbγyεeηnιiκkνvοoρpσoτtυuχxωwόoίiέeάa\
ΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧxΣeΞeΛa\
օoոnսuհhցgքpյjլlտsᎠdᎡrᎢtᎪaᎫjᎬeᎳwᎷmᎻhᏀgᏃzᏒrᏚsᏙvᏞlᏟcᏢpᏴbᏦk\
ꓐbꓒpꓓdꓔtꓖgꓗkꓙjꓚcꓜzꓝfꓟmꓠnꓡlꓢsꓣrꓦvꓧhꓪwꓫxꓬyꓮaꓰeꓲiꓳoꓴuÐdðdƉdɖdĐdⅼlⅽcⅾdⅿmⅰiⅴvⅹx\
ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzɑaɡgıiɩiɛeǝeɗdłlđdøoŧtħhƅbɐaɹrʇtʍw";

/// Latin letters with the Cyrillic ones that look like them.
const LIKE_CYRILLIC: &str = "aаcсeеoоpрxхyуkкmмtтbьhнiіnпrгuи";

/// Latin letters with the Greek ones that look like them.
const LIKE_GREEK: &str = "aαbβeεiιkκnηoοpρtτuυvνxχyγwω";

/// Digits and signs with the letters they replace. A one is an L or an I.
const LIKE_LETTERS: &str = "0o1l3e4a5s7t8b9g@a$s€e!i|l+t";

/// Returns the folded texts that this label looks like, where they differ from it.
#[must_use]
pub(super) fn seen(label: &str) -> Vec<String> {
    if label.len() > MOST {
        return Vec::new();
    }
    let turned = label.contains('\u{202E}').then(|| label.chars().rev().collect::<String>());
    let label = turned.as_deref().unwrap_or(label);
    let plain = fold(label, MOST);
    let whole = label.chars().all(looks_latin);
    let latin = words(label, |word| digits_as_letters(&as_latin(word, whole)));
    let mut seen = vec![
        fold(&latin, MOST),
        together(&latin),
        fold(&words(label, |word| as_script(word, LIKE_CYRILLIC)), MOST),
        fold(&words(label, |word| as_script(word, LIKE_GREEK)), MOST),
        mended(&plain),
        apart(&fold_name(label, MOST)),
    ];
    seen.sort_unstable();
    seen.dedup();
    seen.retain(|text| !text.is_empty() && (*text != plain || turned.is_some()));
    seen
}

/// Maps each word of the text.
fn words(text: &str, change: impl Fn(&str) -> String) -> String {
    text.split_whitespace().map(change).collect::<Vec<_>>().join(" ")
}

fn paired(pairs: &str, wanted: char) -> Option<char> {
    let mut chars = pairs.chars();
    while let (Some(from), Some(to)) = (chars.next(), chars.next()) {
        if from == wanted {
            return Some(to);
        }
    }
    None
}

/// Returns the word in Latin letters, where all of it looks like them: alphabets are mixed in it,
/// or the whole label looks like Latin and the word is not known as it is.
fn as_latin(word: &str, whole: bool) -> String {
    let foreign = word.contains(|char: char| char.is_alphabetic() && !char.is_ascii());
    let mixed = word.contains(|char: char| char.is_ascii_alphabetic()) && !is_latin(word);
    let disguised = mixed || (whole && look_up(&fold(word, MOST)).is_none());
    if !foreign || !disguised || !word.chars().all(looks_latin) {
        return word.to_owned();
    }
    word.chars().map(|char| paired(LIKE_LATIN, char).unwrap_or(char)).collect()
}

/// Reports whether this is not a letter, a Latin one, or one that is drawn like it.
fn looks_latin(char: char) -> bool {
    char.is_ascii() || !char.is_alphabetic() || paired(LIKE_LATIN, char).is_some()
}

/// Reports whether the word is Latin, with or without marks on its letters.
fn is_latin(word: &str) -> bool {
    word.chars().all(|char| u32::from(char) < 0x370 || !char.is_alphabetic())
}

/// Returns the word in the alphabet that most of it is written in, where Latin letters are mixed
/// in.
fn as_script(word: &str, pairs: &str) -> String {
    let own = |char: char| pairs.chars().any(|known| known == char) && !char.is_ascii();
    let latin = word.contains(|char: char| char.is_ascii_alphabetic());
    let script = match pairs.chars().find(|char| !char.is_ascii()).map_or(0, u32::from) {
        0x400.. => 0x400..0x530,
        _ => 0x370..0x400,
    };
    let inside = |char: char| own(char) || script.contains(&u32::from(char));
    if !latin || !word.contains(inside) {
        return word.to_owned();
    }
    word.chars().map(|char| paired(pairs, char.to_ascii_lowercase()).unwrap_or(char)).collect()
}

/// Returns the word with letters for digits, where the lexicon knows that word.
fn digits_as_letters(word: &str) -> String {
    let core = word.trim_end_matches(['!', '?', '.', ',', ':', ';']);
    let letters = core.chars().filter(|char| char.is_alphabetic()).count();
    let stands = |char: char| paired(LIKE_LETTERS, char).is_some();
    if letters == 0 || core.chars().count() < 3 || !core.contains(stands) {
        return word.to_owned();
    }
    let read = |one: char| -> String {
        let letter = |char| if char == '1' { Some(one) } else { paired(LIKE_LETTERS, char) };
        core.chars().map(|char| letter(char).unwrap_or(char)).collect()
    };
    let known = ['l', 'i'].map(read).into_iter().find(|text| is_known(&fold(text, MOST)));
    known.unwrap_or_else(|| word.to_owned())
}

/// Joins spaced letters into the words they spell.
fn together(text: &str) -> String {
    // Where one blank separates letters, two separate words.
    let parts = text.split("  ").map(|part| fold(part, MOST));
    let mut out: Vec<String> = Vec::new();
    let mut run = String::new();
    for part in parts {
        for word in part.split(' ') {
            if word.chars().count() == 1 && run.len() < MOST_SPACED {
                run.push_str(word);
            } else {
                end_run(&mut run, &mut out);
                out.push(word.to_owned());
            }
        }
        end_run(&mut run, &mut out);
    }
    out.retain(|word| !word.is_empty());
    out.join(" ")
}

/// Adds the letters so far as one word, or as two where the lexicon knows them.
fn end_run(run: &mut String, out: &mut Vec<String>) {
    let word = std::mem::take(run);
    let letters = word.chars().count();
    if letters < 3 {
        out.extend(word.chars().map(String::from));
    } else {
        out.push(apart(&word));
    }
}

/// Joins words that were split by a blank: `dele te`. A word that is known alone is left alone.
fn mended(plain: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in plain.split(' ') {
        if let Some(before) = out.last_mut() {
            let whole = format!("{before}{word}");
            let parts_say = is_known(before) && is_known(word);
            if !parts_say && is_known(&whole) && whole.chars().count() > 3 {
                *before = whole;
                continue;
            }
        }
        out.push(word.to_owned());
    }
    out.join(" ")
}

/// Splits two words that were written without a blank: `deleteaccount`.
fn apart(text: &str) -> String {
    let split = |word: &str| {
        if is_known(word) || word.len() < 7 || word.len() > MOST_SPACED {
            return word.to_owned();
        }
        let halves = word.char_indices().rev().filter_map(|(at, _)| word.split_at_checked(at));
        let known = |(first, second): &(&str, &str)| {
            first.len() > 2 && second.len() > 2 && is_known(first) && is_known(second)
        };
        halves
            .into_iter()
            .find(known)
            .map_or_else(|| word.to_owned(), |(first, second)| format!("{first} {second}"))
    };
    text.split(' ').map(split).collect::<Vec<_>>().join(" ")
}

/// Reports whether the lexicon knows all of this as one entry.
fn is_known(folded: &str) -> bool {
    look_up(folded).is_some_and(|meaning| meaning.length == folded.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sees(label: &str, wanted: &str) {
        let plain = fold(label, MOST);
        let seen = seen(label);
        assert!(plain == wanted || seen.iter().any(|text| text == wanted), "{label}: {seen:?}");
    }

    type Disguise = (&'static str, fn(&str) -> String);

    /// Every disguise of every word is recognised.
    #[test]
    fn a_word_is_seen_however_it_is_drawn() {
        let disguises: [Disguise; 9] = [
            ("spaced", |word| followed(word, ' ')),
            ("dotted", |word| followed(word, '.')),
            ("joined", |word| followed(word, '\u{200D}')),
            ("struck", |word| followed(word, '\u{336}')),
            ("bold", |word| word.chars().map(|char| shifted(char, 0x1D41A)).collect()),
            ("sans", |word| word.chars().map(|char| shifted(char, 0x1D5BA)).collect()),
            ("circled", |word| word.chars().map(|char| shifted(char, 0x24D0)).collect()),
            ("wide", |word| word.chars().map(|char| shifted(char, 0xFF41)).collect()),
            ("foreign", |word| word.replace('e', "е").replace('o', "ο").replace('a', "а")),
        ];
        for word in ["delete", "remove", "purchase", "publish", "erase", "unsubscribe"] {
            for (name, disguise) in disguises {
                let label = disguise(word);
                let seen = seen(&label);
                let found = fold(&label, MOST) == word || seen.iter().any(|text| text == word);
                assert!(found, "{name} {word}: {label} {seen:?}");
            }
        }
    }

    /// Inserts a character after each letter.
    fn followed(word: &str, by: char) -> String {
        word.chars().flat_map(|char| [char, by]).collect()
    }

    fn shifted(char: char, start: u32) -> char {
        char::from_u32(start + (u32::from(char) - u32::from('a'))).unwrap_or(char)
    }

    #[test]
    fn the_tables_are_pairs() {
        for (pairs, to_latin) in
            [(LIKE_LATIN, true), (LIKE_CYRILLIC, false), (LIKE_GREEK, false), (LIKE_LETTERS, true)]
        {
            let chars: Vec<char> = pairs.chars().collect();
            for pair in chars.chunks(2) {
                let latin = if to_latin { pair[1] } else { pair[0] };
                assert!(latin.is_ascii_lowercase(), "{pair:?}");
            }
        }
    }

    #[test]
    fn digits_and_signs_stand_for_letters() {
        for label in ["D3lete", "De1ete", "d3l3t3", "D€lete", "DELE7E"] {
            sees(label, "delete");
        }
        sees("Pay $20", "pay 20");
        sees("Er@se all", "erase all");
        assert!(seen("Section 3a").is_empty());
    }

    #[test]
    fn words_are_put_together_and_taken_apart() {
        sees("Dele te", "delete");
        sees("D e l e t e  a c c o u n t", "delete account");
        sees("D e l e t e a c c o u n t", "delete account");
        sees("DeleteAccount", "delete account");
        sees("deleteaccount", "delete account");
        sees("Удaлить", "удалить");
        sees("\u{202E}eteled", "delete");
    }

    #[test]
    fn what_is_no_disguise_is_left_alone() {
        for label in ["Delete", "Add to list", "Löschen", "Удалить", "设置", "Plan B", "A b c"]
        {
            let plain = fold(label, MOST);
            assert!(seen(label).iter().all(|text| *text == plain || !is_known(text)), "{label}");
        }
    }
}
