//! Lists as text for people: aligned columns, one line each.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use crate::show::{Paint, cut, one_line};

/// The number of characters after which a cell is cut off.
const MOST_CELL: usize = 80;

/// Rows under a head.
#[derive(Debug)]
pub(crate) struct Table {
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows.
    pub(crate) const fn new(head: &'static [&'static str]) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// Adds a row. The cells may contain anybody's text, so they are escaped.
    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let safe = |cell: T| cut(&one_line(cell.as_ref()), MOST_CELL).into_owned();
        self.rows.push(cells.into_iter().map(safe).collect());
    }

    /// Writes the table, or a message when it is empty.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, out: &mut impl Write, paint: Paint, none: &str) -> io::Result<()> {
        if self.rows.is_empty() {
            return writeln!(out, "{none}");
        }
        let widths: Vec<usize> = self
            .head
            .iter()
            .enumerate()
            .map(|(at, head)| {
                let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
                cells.chain([head.width()]).max().unwrap_or_default()
            })
            .collect();
        let head = line(self.head.iter().copied(), &widths);
        writeln!(out, "{}", paint.bold(&head))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row.iter().map(String::as_str), &widths))?;
        }
        Ok(())
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>, widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.zip(widths) {
        line.push_str(cell);
        let missing = width.saturating_sub(cell.width()).saturating_add(2);
        line.extend(std::iter::repeat_n(' ', missing));
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_nothing_in_them_moves_the_cursor() {
        let mut table = Table::new(&["ID", "WHAT"]);
        table.row(["a", "plain"]);
        table.row(["日本", "x\x1b[2J"]);
        let mut out = Vec::new();
        table.write(&mut out, Paint::Plain, "none").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "ID    WHAT\na     plain\n日本  x\\u{1b}[2J\n");
    }

    #[test]
    fn an_empty_list_says_so() {
        let mut out = Vec::new();
        Table::new(&["ID"]).write(&mut out, Paint::Plain, "no keys").unwrap();
        assert_eq!(out, b"no keys\n");
    }
}
