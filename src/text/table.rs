//! Tables without boxes: a bold header, a thin rule, columns sized to the width, cells that wrap.

use super::wrap::{Row, Wrap, spans_width, wrap_into};
use super::{Ground, Line, Role, Span};

/// Cells between columns.
const GAP: usize = 2;
/// Narrower columns are not worth having: rows become records then.
const NARROWEST: usize = 6;

/// How a column is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    #[default]
    Left,
    Center,
    Right,
}

/// A parsed table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub align: Vec<Align>,
    /// The header first; cells of spans.
    pub rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    /// Rows of at most `cells` cells.
    pub fn layout(&self, cells: usize) -> Vec<Row> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Vec::new();
        }
        let widths = match self.widths(columns, cells) {
            Some(widths) => widths,
            None => return self.records(cells),
        };
        let mut out = Vec::new();
        let mut airy = false;
        for (index, row) in self.rows.iter().enumerate() {
            let set = self.row(row, &widths);
            // Once a row wraps, its neighbours need air to be told apart.
            airy |= index > 0 && set.len() > 1;
            if airy && index > 1 {
                out.push(Row::ornament(Line::default()));
            }
            out.extend(set);
            if index == 0 {
                let total = widths.iter().sum::<usize>() + GAP * (columns - 1);
                out.push(Row::ornament(Line::plain("─".repeat(total), Role::TableBorder)));
            }
        }
        out
    }

    /// Column widths that fit, or `None` when there are too many columns.
    fn widths(&self, columns: usize, cells: usize) -> Option<Vec<usize>> {
        let natural: Vec<usize> = (0..columns)
            .map(|column| {
                let cell = |row: &Vec<Vec<Span>>| row.get(column).map_or(0, |spans| spans_width(spans));
                self.rows.iter().map(cell).max().unwrap_or(0).max(1)
            })
            .collect();
        let room = cells.checked_sub(GAP * (columns - 1))?;
        if natural.iter().sum::<usize>() <= room {
            return Some(natural);
        }
        // Narrow columns keep what they need; the others share what is left.
        let mut widths = vec![0; columns];
        let mut open: Vec<usize> = (0..columns).collect();
        let mut left = room;
        loop {
            let share = left / open.len().max(1);
            let (small, wide): (Vec<usize>, Vec<usize>) = open.iter().partition(|column| natural[**column] <= share);
            if small.is_empty() || wide.is_empty() {
                break;
            }
            for column in small {
                widths[column] = natural[column];
                left -= natural[column];
            }
            open = wide;
        }
        let wanted: usize = open.iter().map(|column| natural[*column]).sum();
        let base = left / open.len().max(1);
        // Longer columns get more, none less than half of an even share.
        for column in &open {
            let weighted = left * natural[*column] / wanted.max(1);
            widths[*column] = weighted.max(base / 2);
        }
        let mut over = open.iter().map(|column| widths[*column]).sum::<usize>().saturating_sub(left);
        while over > 0 {
            let widest = open.iter().copied().max_by_key(|column| widths[*column])?;
            widths[widest] -= 1;
            over -= 1;
        }
        open.iter().all(|column| widths[*column] >= NARROWEST).then_some(widths)
    }

    fn row(&self, cells: &[Vec<Span>], widths: &[usize]) -> Vec<Row> {
        let columns: Vec<Vec<Row>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let mut rows = Vec::new();
                let spans = cells.get(column).map_or(&[][..], Vec::as_slice);
                wrap_into(&mut rows, spans, Ground::Base, &Wrap { width: *width, ..Wrap::default() });
                rows
            })
            .collect();
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|line| {
                let mut spans: Vec<Span> = Vec::new();
                let mut pending = 0;
                for (column, rows) in columns.iter().enumerate() {
                    let empty = Vec::new();
                    let part = rows.get(line).map_or(&empty, |row| &row.line.spans);
                    let free = widths[column].saturating_sub(spans_width(part));
                    let before = match self.align.get(column).copied().unwrap_or_default() {
                        Align::Left => 0,
                        Align::Center => free / 2,
                        Align::Right => free,
                    };
                    pending += before;
                    if !part.is_empty() {
                        if pending > 0 {
                            spans.push(Span::new(" ".repeat(pending), Role::Text));
                            pending = 0;
                        }
                        spans.extend_from_slice(part);
                    }
                    pending += free - before + GAP;
                }
                Row { line: Line { spans, ground: Ground::Base }, ..Row::default() }
            })
            .collect()
    }

    /// One `header: cell` line a cell, for tables that are too wide.
    fn records(&self, cells: usize) -> Vec<Row> {
        let mut out = Vec::new();
        let Some((header, body)) = self.rows.split_first() else { return out };
        for (index, row) in body.iter().enumerate() {
            if index > 0 {
                out.push(Row::ornament(Line::default()));
            }
            for (column, cell) in row.iter().enumerate() {
                let mut spans = header.get(column).cloned().unwrap_or_default();
                spans.push(Span::new(": ", Role::Dim));
                spans.extend_from_slice(cell);
                let rest = [Span::new("  ", Role::Text)];
                wrap_into(&mut out, &spans, Ground::Base, &Wrap { width: cells, rest: &rest, ..Wrap::default() });
            }
        }
        if body.is_empty() {
            let names: Vec<Span> = header.iter().flatten().cloned().collect();
            wrap_into(&mut out, &names, Ground::Base, &Wrap { width: cells, ..Wrap::default() });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[&str]]) -> Table {
        let cell = |text: &&str| vec![Span::new(*text, Role::Text)];
        Table { align: Vec::new(), rows: rows.iter().map(|row| row.iter().map(cell).collect()).collect() }
    }

    fn shown(table: &Table, cells: usize) -> Vec<String> {
        table.layout(cells).iter().map(|row| row.line.text()).collect()
    }

    #[test]
    fn columns_take_what_they_need() {
        let narrow = table(&[&["file", "change"], &["src/store/mod.rs", "+14"]]);
        assert_eq!(
            shown(&narrow, 40),
            ["file              change", "────────────────────────", "src/store/mod.rs  +14"]
        );
    }

    #[test]
    fn cells_wrap_when_too_wide() {
        let wide = table(&[&["key", "meaning"], &["a", "one two three four"], &["b", "five"]]);
        assert_eq!(
            shown(&wide, 16),
            ["key  meaning", "────────────────", "a    one two", "     three four", "", "b    five"]
        );
    }

    #[test]
    fn too_many_columns_become_records() {
        let long = "something rather long";
        let wide = table(&[&["a", "b", "c"], &[long, long, long]]);
        assert_eq!(shown(&wide, 16)[0], "a: something");
        for cells in 8..40 {
            for row in wide.layout(cells) {
                assert!(row.line.width() <= cells);
            }
        }
    }
}
