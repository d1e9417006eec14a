//! Bounds on the scripts that are passed to the shell grammar.
//!
//! The grammar bounds its own depth, but not everywhere: some thousand nested `$((` or a few
//! hundred `time` in a row overflow the stack, and unclosed or doubly quoted `${` take time that is
//! quadratic or cubic in their number. One pass over the bytes finds everything that could grow
//! like that. It ignores quotes: text that only looks nested is refused as well, which costs a
//! question, never a wrong answer.

/// The number of brackets and braces open at once. Doubly quoted expansions are cubic in this.
const MOST_OPEN: usize = 48;

/// The number of brackets in a run without white space, open or not.
const MOST_IN_ONE_WORD: usize = 512;

/// The number of `$(` anywhere. In a here-document their cost is quadratic.
const MOST_SUBSTITUTIONS: usize = 2_000;

/// The length of `time time time …`, where each is a call on the grammar's stack.
const MOST_TIMES: usize = 16;

/// Reports whether the grammar can parse this script in bounded time and on a small stack.
#[must_use]
pub fn fits(script: &str) -> bool {
    // Most commands contain nothing that could nest; without an early exit this is one fast pass.
    let nests =
        script.bytes().fold(false, |nests, byte| nests | matches!(byte, b'(' | b'{' | b'['));
    if !nests && !script.contains("time") {
        return true;
    }
    let mut open = 0_usize;
    let mut times = 0_usize;
    if script.matches("$(").nth(MOST_SUBSTITUTIONS).is_some() {
        return false;
    }
    script.split_ascii_whitespace().all(|word| {
        let mut in_word = 0_usize;
        let mut indexes = 0_usize;
        let shallow = word.bytes().all(|byte| {
            match byte {
                b'(' | b'{' => open += 1,
                b')' | b'}' => open = open.saturating_sub(1),
                // Colour codes leave `[` open, so it counts only within one word.
                b'[' => indexes += 1,
                b']' => indexes = indexes.saturating_sub(1),
                _ => return true,
            }
            in_word += 1;
            open <= MOST_OPEN && indexes <= MOST_OPEN && in_word <= MOST_IN_ONE_WORD
        });
        times = match word {
            "time" => times + 1,
            option if option.starts_with('-') => times,
            _ => 0,
        };
        shallow && times <= MOST_TIMES
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_scripts_fit() {
        for script in [
            "",
            "ls",
            "time ls; time make",
            "echo '{\"a\": {\"b\": [1, 2, {\"c\": []}]}}'",
            "if [[ $x == (a|b) ]]; then f $(g $(h \"${i:-${j}}\")); fi",
        ] {
            assert!(fits(script), "{script}");
        }
        let colours = "printf '\\033[31m%s\\033[0m\\n' x\n".repeat(1_000);
        assert!(fits(&colours));
        let functions = "f() { g \"${1:-h}\"; }\n".repeat(10_000);
        assert!(fits(&functions));
    }

    #[test]
    fn what_overflows_or_stalls_the_grammar_does_not_fit() {
        for piece in [
            "$((",
            "((",
            "{a,",
            "{",
            "${x:-",
            "echo \"${x:-",
            "x[",
            "time ",
            "time -p ",
            "('a'),",
            "$(a) ",
        ] {
            assert!(!fits(&piece.repeat(4_000)), "{piece}");
        }
    }
}
