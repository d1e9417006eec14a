//! One spelling for each word: lower case, one space between words, no invisible characters.
//!
//! The lexicon is folded by the same code when it is compiled, so that both sides agree.

/// Folds a text into words with one space between them, and stops after about that many bytes.
#[must_use]
pub(super) fn fold(text: &str, most: usize) -> String {
    let mut folded = String::with_capacity(text.len().min(most).saturating_add(8));
    let mut gap = false;
    for char in text.chars() {
        if folded.len() >= most {
            break;
        }
        if is_invisible(char) {
            continue;
        }
        let char = narrow(char);
        if let Some(base) = folded.chars().next_back().filter(|_| !gap)
            && let Some(composed) = compose(base, char)
        {
            folded.pop();
            folded.push(composed);
            continue;
        }
        if is_mark(char) {
            continue;
        }
        if !is_word(char) {
            gap = true;
            continue;
        }
        if gap && !folded.is_empty() {
            folded.push(' ');
        }
        gap = false;
        folded.extend(char.to_lowercase().filter(|small| *small != '\u{307}').map(plain));
    }
    folded
}

/// Reports whether a character is a combining mark, which does not end a word.
const fn is_mark(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36F}' | '\u{20D0}'..='\u{20FF}')
}

fn is_word(char: char) -> bool {
    // The tone marks of Thai and the virama of Hindi occur inside words.
    char.is_alphanumeric() || matches!(char, 'ー' | '\u{E47}'..='\u{E4E}' | '\u{94D}')
}

/// Reports whether a character is invisible: soft hyphens, joiners and direction marks split a word
/// for a machine and not for a person, and so do the vowel points that Hebrew, Arabic and Hindi may
/// leave out.
pub(super) const fn is_invisible(char: char) -> bool {
    matches!(char, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
        | '\u{3164}' | '\u{FFA0}' | '\u{E0000}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}'..='\u{5C7}' | '\u{640}'
        | '\u{64B}'..='\u{652}' | '\u{670}' | '\u{93C}')
}

/// Maps letters that people type for one another to one of them.
const fn plain(char: char) -> char {
    match char {
        'ё' => 'е',
        // Romanian with a comma or a cedilla.
        'ș' => 'ş',
        'ț' => 'ţ',
        // Greek capitals are written without accents, and have one sigma.
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        // Arabic and Persian keyboards produce each other's letters.
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | 'ی' => 'ي',
        'ک' => 'ك',
        'ة' => 'ه',
        // Hindi dots and nasals.
        'ँ' => 'ं',
        '\u{958}' => 'क',
        '\u{959}' => 'ख',
        '\u{95A}' => 'ग',
        '\u{95B}' => 'ज',
        '\u{95C}' => 'ड',
        '\u{95D}' => 'ढ',
        '\u{95E}' => 'फ',
        _ => char,
    }
}

/// Maps letters and digits that differ only in their drawing to plain ones: full width, the
/// alphabets of mathematics, letters in circles and squares, superscripts.
fn narrow(char: char) -> char {
    let code = u32::from(char);
    let letter = |start: u32| alphabet(code.saturating_sub(start), b'a');
    match code {
        0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(char),
        // In each style the capitals precede the small letters.
        0x1D400..=0x1D6A3 => letter(0x1D400),
        0x1D7CE..=0x1D7FF => char::from_digit((code - 0x1D7CE) % 10, 10).unwrap_or(char),
        0x24B6..=0x24E9 => letter(0x24B6),
        0x249C..=0x24B5 => letter(0x249C),
        0x1F110..=0x1F129 => letter(0x1F110),
        0x1F130..=0x1F149 => letter(0x1F130),
        0x1F150..=0x1F169 => letter(0x1F150),
        0x1F170..=0x1F189 => letter(0x1F170),
        _ => drawn(char),
    }
}

/// Returns the letter at this position in a sequence of alphabets.
fn alphabet(at: u32, first: u8) -> char {
    char::from(first.saturating_add(u8::try_from(at % 26).unwrap_or_default()))
}

/// Maps letters that are encoded outside the sequences.
fn drawn(char: char) -> char {
    const PAIRS: &str = "ℎhℬbℰeℱfℋhℐiℒlℳmℛrℯeℊgℴoℭcℌhℑiℜrℨzℂcℍhℕnℙpℚqℝrℤzⅆdⅇeⅈiⅉj\
        ᵃaᵇbᶜcᵈdᵉeᶠfᵍgʰhⁱiʲjᵏkˡlᵐmⁿnᵒoᵖpʳrˢsᵗtᵘuᵛvʷwˣxʸyᶻz";
    let raised = matches!(char, '\u{2B0}'..='\u{2B8}' | '\u{2E1}'..='\u{2E3}'
        | '\u{1D43}'..='\u{1DBF}' | '\u{2071}' | '\u{207F}' | '\u{2102}'..='\u{2149}');
    if !raised {
        return char;
    }
    let mut chars = PAIRS.chars();
    while let (Some(from), Some(to)) = (chars.next(), chars.next()) {
        if from == char {
            return to;
        }
    }
    char
}

/// Combines a letter and the mark over it, which macOS writes separately.
fn compose(base: char, mark: char) -> Option<char> {
    let pairs = match mark {
        '\u{300}' => "aàeèiìoòuùâầăằêềôồơờưừyỳ",
        '\u{301}' => "aáeéiíoóuúyýcćnńsśzźlĺrŕâấăắêếôốơớưứααεεηηιιοουυωω",
        '\u{302}' => "aâeêiîoôuûạậẹệọộ",
        '\u{303}' => "aãnñoõeẽiĩuũyỹâẫăẵêễôỗơỡưữ",
        '\u{306}' => "ийaăạặ",
        '\u{307}' => "zżii",
        '\u{308}' => "aäeëiïoöuüе\u{435}ιιυυ",
        '\u{309}' => "aảeẻiỉoỏuủyỷâẩăẳêểôổơởưử",
        '\u{30A}' => "aåuů",
        '\u{30B}' => "oőuű",
        '\u{30C}' => "cčdďeěnňrřsštťzžlľ",
        '\u{31B}' => "oơuưóớúứòờùừỏởủửõỡũữọợụự",
        '\u{323}' => "aạeẹiịoọuụyỵâậăặêệôộơợưự",
        '\u{326}' | '\u{327}' => "cçsştţ",
        '\u{328}' => "aąeę",
        _ => return None,
    };
    let mut chars = pairs.chars();
    while let (Some(from), Some(to)) = (chars.next(), chars.next()) {
        if from == base {
            return Some(to);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_is_the_same_however_it_was_typed() {
        assert_eq!(fold("  Delete — ACCOUNT… ", 99), "delete account");
        assert_eq!(fold("Lo\u{308}schen", 99), "löschen");
        assert_eq!(fold("De\u{200B}lete", 99), "delete");
        assert_eq!(fold("ＰＩＮ　番号", 99), "pin 番号");
        assert_eq!(fold("Don’t", 99), "don t");
    }

    #[test]
    fn letters_that_people_type_for_one_another_are_one() {
        for (one, other) in [
            ("ΔΙΑΓΡΑΦΗΣ", "Διαγραφής"),
            ("ȘTERGE", "şterge"),
            ("İptal", "iptal"),
            ("حَذْف", "حذف"),
            ("إلغاء", "الغاء"),
            ("كد ملي", "کد ملی"),
            ("हटाएँ", "हटाएं"),
            ("फ़ाइल", "फाइल"),
            ("Hu\u{309}y \u{111}i\u{323}a", "Hủy địa"),
            ("mật", "ma\u{323}\u{302}t"),
        ] {
            assert_eq!(fold(one, 99), fold(other, 99), "{one}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        assert!(fold(&"x".repeat(1 << 20), 100).len() < 110);
        assert!(fold(&" ".repeat(1 << 20), 100).is_empty());
    }
}
