//! One JSON line in, one JSON line out, in the same order.
//!
//! Every line that is not blank gets exactly one answer, a bad line too. An answer is written
//! before the next line is waited for, so a program can talk to us line by line.

use std::io::{self, BufRead, Write};

use anyhow::Result;

use crate::exit::Exit;

/// Answers every line of the input.
///
/// `answer` gets a line; its result is written as JSON. `refusal` turns an error and the line's
/// number, counted from 1, into an answer, and the batch then ends as bad input after its last
/// line.
///
/// # Errors
/// The input cannot be read or the output not written.
pub(crate) fn each_line<Answer: serde::Serialize, Refusal: serde::Serialize>(
    mut input: io::BufReader<impl io::Read>,
    output: impl Write,
    answer: impl Fn(&str) -> Result<Answer>,
    refusal: impl Fn(String, usize) -> Refusal,
) -> Result<Exit> {
    let mut output = io::BufWriter::new(output);
    let mut exit = Exit::Done;
    let mut line = Vec::new();
    let mut number = 0;
    while input.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        if !line.trim_ascii().is_empty() {
            let text = str::from_utf8(&line).map_err(|_| anyhow::anyhow!("not UTF-8"));
            match text.and_then(&answer) {
                Ok(answer) => serde_json::to_writer(&mut output, &answer)?,
                Err(error) => {
                    exit = Exit::Bad;
                    serde_json::to_writer(&mut output, &refusal(format!("{error:#}"), number))?;
                }
            }
            output.write_all(b"\n")?;
        }
        line.clear();
        // The next read may wait for a program that waits for this answer.
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(input: &[u8]) -> (String, Exit) {
        let mut out = Vec::new();
        let answer = |line: &str| match line.trim() {
            "bad" => Err(anyhow::anyhow!("no")),
            line => Ok(line.to_owned()),
        };
        let exit = each_line(io::BufReader::new(input), &mut out, answer, |error, number| {
            format!("{error} at {number}")
        });
        (String::from_utf8(out).unwrap(), exit.unwrap())
    }

    #[test]
    fn every_line_but_a_blank_one_gets_one_answer_in_order() {
        let (out, exit) = batch(b"a\n\n  \r\nb\r\nc");
        assert_eq!((out.as_str(), exit), ("\"a\"\n\"b\"\n\"c\"\n", Exit::Done));
    }

    #[test]
    fn a_bad_line_is_answered_in_its_place_and_remembered() {
        let (out, exit) = batch(b"a\n\nbad\nb\n\xff\n");
        assert_eq!(out, "\"a\"\n\"no at 3\"\n\"b\"\n\"not UTF-8 at 5\"\n");
        assert_eq!(exit, Exit::Bad);
    }

    #[test]
    fn an_answer_does_not_wait_for_the_next_line() {
        let (ours, theirs) = io::pipe().unwrap();
        let (answers, out) = io::pipe().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let answer = |line: &str| Ok(line.trim().to_owned());
                each_line(io::BufReader::new(ours), out, answer, |error, _| error).unwrap();
            });
            let (mut theirs, mut answers) = (theirs, io::BufReader::new(answers));
            for question in ["one", "two"] {
                // The start of another line must not delay the answer either.
                write!(theirs, "{question}\n ").unwrap();
                let mut answer = String::new();
                answers.read_line(&mut answer).unwrap();
                assert_eq!(answer, format!("{question:?}\n"));
            }
        });
    }
}
