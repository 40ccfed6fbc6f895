//! Markdown laid out as rows of a given width: words with roles, for a screen or for a plain terminal.
//!
//! A role says what a piece is; the caller chooses its look.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::columns;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Text,
    Heading,
    Strong,
    Emphasis,
    Code,
    Link,
    /// Signs that are not the author's (bullets, rules, the frame of a table), and comments in code.
    Sign,
}

/// Text with one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<R = Role> {
    pub text: String,
    pub role: R,
}

/// One row of the page.
pub type Row<R = Role> = Vec<Piece<R>>;

/// A word and what sticks to it: pieces with no space between them.
type Word = Vec<Piece>;

/// Between two columns of a table.
const GAP: usize = 2;
/// A column is not made narrower than this.
const LEAST_COLUMN: usize = 6;

/// The rows of a Markdown text, none longer than `width` columns. Headings, paragraphs, lists, quotes, code and tables;
/// a link shows its text.
pub fn lay_out(markdown: &str, width: usize) -> Vec<Row> {
    let mut page = Page { width: width.max(LEAST_COLUMN), ..Page::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.rows
}

#[derive(Default)]
struct Page {
    width: usize,
    rows: Vec<Row>,
    /// Words of the paragraph, heading, item or cell that is being read.
    words: Vec<Word>,
    /// The next piece belongs to the last word.
    sticks: bool,
    roles: Vec<Role>,
    /// Numbers of the open lists; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The text before the first row of the next block; after that row, blanks of the same width.
    bullet: Option<String>,
    quotes: usize,
    code: Option<String>,
    /// The open code block is a diagram, not a program.
    is_drawing: bool,
    table: Vec<Vec<Vec<Word>>>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.text(&text, self.roles.last().copied().unwrap_or_default()),
            },
            Event::Code(text) => self.text(&text, Role::Code),
            Event::SoftBreak => self.sticks = false,
            Event::HardBreak => self.flush(Role::Text),
            Event::Rule => {
                self.blank();
                let rule = "─".repeat(self.width.min(40));
                self.rows.push(vec![Piece { text: rule, role: Role::Sign }]);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text, Role::Code),
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.blank();
                self.roles.push(Role::Heading);
            }
            Tag::Paragraph if self.bullet.is_none() => self.blank(),
            Tag::BlockQuote(_) => {
                self.blank();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.is_drawing = matches!(kind, CodeBlockKind::Fenced(language) if language.as_ref() == "text");
                self.flush(Role::Text);
                self.blank();
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.flush(Role::Text);
                if self.lists.is_empty() {
                    self.blank();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush(Role::Text);
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                });
            }
            Tag::Strong => self.roles.push(Role::Strong),
            Tag::Emphasis => self.roles.push(Role::Emphasis),
            Tag::Link { .. } => self.roles.push(Role::Link),
            Tag::Table(_) => {
                self.blank();
                self.table.clear();
            }
            Tag::TableHead => {
                self.roles.push(Role::Strong);
                self.table.push(Vec::new());
            }
            Tag::TableRow => self.table.push(Vec::new()),
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.roles.pop();
                self.flush(Role::Heading);
            }
            TagEnd::Paragraph => self.flush(Role::Text),
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            TagEnd::CodeBlock => self.verbatim(),
            TagEnd::List(_) => {
                self.flush(Role::Text);
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush(Role::Text);
                self.bullet = None;
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Link | TagEnd::TableHead => _ = self.roles.pop(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                self.sticks = false;
                if let Some(row) = self.table.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.tabulate(),
            _ => {}
        }
    }

    /// Words, told apart by spaces; a word may hold pieces of several roles.
    fn text(&mut self, text: &str, role: Role) {
        let mut rest = text;
        while !rest.is_empty() {
            let spaces = rest.len() - rest.trim_start().len();
            if spaces > 0 {
                self.sticks = false;
                rest = &rest[spaces..];
                continue;
            }
            // Code keeps its spaces: `hvd.rank() == 0` is one word as long as it fits.
            let end =
                if role == Role::Code && text.chars().count() <= 30 { rest.len() } else { rest.find(' ').unwrap_or(rest.len()) };
            let piece = Piece { text: rest[..end].to_owned(), role };
            match self.words.last_mut() {
                Some(word) if self.sticks => word.push(piece),
                _ => self.words.push(vec![piece]),
            }
            self.sticks = true;
            rest = &rest[end..];
        }
    }

    /// One empty row between blocks, none at the top.
    fn blank(&mut self) {
        if self.rows.last().is_some_and(|row| !row.is_empty()) {
            self.rows.push(Vec::new());
        }
    }

    /// The margins of a block: before its first row, and before the others.
    fn margins(&mut self) -> (String, String) {
        let quote = "│ ".repeat(self.quotes);
        let depth = "  ".repeat(self.lists.len().saturating_sub(1));
        match self.bullet.as_mut() {
            Some(bullet) => {
                let after = " ".repeat(columns::width(bullet));
                let first = std::mem::replace(bullet, after.clone());
                (format!("{quote}{depth}{first}"), format!("{quote}{depth}{after}"))
            }
            None => (quote.clone(), quote),
        }
    }

    fn flush(&mut self, role: Role) {
        self.sticks = false;
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        let (first, others) = self.margins();
        let width = self.width.saturating_sub(columns::width(&first)).max(1);
        for (index, mut row) in flow(words, width).into_iter().enumerate() {
            if role == Role::Heading {
                row.iter_mut().filter(|piece| piece.role == Role::Text).for_each(|piece| piece.role = Role::Heading);
            }
            let margin = if index == 0 { &first } else { &others };
            if !margin.is_empty() {
                row.insert(0, Piece { text: margin.clone(), role: Role::Sign });
            }
            self.rows.push(row);
        }
    }

    /// Code as it stands, two columns in; a line that is too long goes on below.
    fn verbatim(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let width = self.width.saturating_sub(2).max(1);
        for line in code.lines() {
            let is_comment = ["//", "# "].iter().any(|sign| line.trim_start().starts_with(sign));
            let role = match (self.is_drawing, is_comment) {
                (true, _) => Role::Text,
                (false, true) => Role::Sign,
                (false, false) => Role::Code,
            };
            if line.is_empty() {
                self.rows.push(vec![Piece { text: "  ".into(), role }]);
            }
            for part in columns::chunks(line, width) {
                self.rows.push(vec![Piece { text: format!("  {part}"), role }]);
            }
        }
    }

    fn tabulate(&mut self) {
        let table = std::mem::take(&mut self.table);
        let columns = table.iter().map(Vec::len).max().unwrap_or(0);
        let natural = |column: usize| table.iter().filter_map(|row| row.get(column)).map(|cell| length(cell)).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns).map(natural).collect();
        let room = self.width.saturating_sub(GAP * columns.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            // The widest gives way, so that columns of numbers stay whole.
            match widths.iter_mut().max() {
                Some(widest) if *widest > LEAST_COLUMN => *widest -= 1,
                _ => break,
            }
        }
        for (index, row) in table.into_iter().enumerate() {
            let cells: Vec<Vec<Row>> = row.into_iter().zip(&widths).map(|(cell, &width)| flow(cell, width)).collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut out: Row = Vec::new();
                for (cell, &width) in cells.iter().zip(&widths) {
                    let pieces = cell.get(line).cloned().unwrap_or_default();
                    let gap = width.saturating_sub(pieces.iter().map(|piece| columns::width(&piece.text)).sum()) + GAP;
                    out.extend(pieces);
                    out.push(Piece { text: " ".repeat(gap), role: Role::Text });
                }
                out.pop();
                self.rows.push(out);
            }
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
                self.rows.push(vec![Piece { text: rule.join(&" ".repeat(GAP)), role: Role::Sign }]);
            }
        }
    }
}

/// Columns of words on one row.
fn length(words: &[Word]) -> usize {
    let letters: usize = words.iter().flatten().map(|piece| columns::width(&piece.text)).sum();
    letters + words.len().saturating_sub(1)
}

/// Words in rows of at most `width` columns; a word that is longer than a row is cut.
fn flow(words: Vec<Word>, width: usize) -> Vec<Row> {
    // A wide sign fits at least.
    let width = width.max(2);
    let mut rows: Vec<Row> = Vec::new();
    let mut used = 0;
    for word in words {
        let long = length(std::slice::from_ref(&word));
        let space = usize::from(used > 0);
        if used > 0 && used + space + long <= width {
            // A space between two pieces of one role belongs to it: a heading or a link is one line of one look.
            let before = rows.last().and_then(|row| row.last()).map_or(Role::Text, |piece| piece.role);
            let role = if before == word[0].role { before } else { Role::Text };
            rows.last_mut().into_iter().for_each(|row| row.push(Piece { text: " ".into(), role }));
            used += 1;
        } else {
            rows.push(Row::new());
            used = 0;
        }
        for piece in word {
            let mut rest = piece.text.as_str();
            while !rest.is_empty() {
                // A letter may carry so many marks that it is wider than the row: it stands there alone.
                let alone = if used == 0 { columns::signs(rest).next().map_or(0, str::len) } else { 0 };
                let (part, after) = rest.split_at(columns::fitting(rest, width - used).max(alone));
                if !part.is_empty() {
                    rows.last_mut().into_iter().for_each(|row| row.push(Piece { text: part.to_owned(), role: piece.role }));
                    used = (used + columns::width(part)).min(width);
                }
                rest = after;
                if !rest.is_empty() {
                    rows.push(Row::new());
                    used = 0;
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests;
