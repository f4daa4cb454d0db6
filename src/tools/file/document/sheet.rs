//! Spreadsheets: every sheet, a line a row, cells apart by tabs.

use super::{MAX_TEXT, office};
use calamine::{Cell, Data, DataRef, Reader as _, Sheets, XlsxCellFormula, XlsxError, open_workbook_auto};
use std::iter::repeat_n;
use std::path::Path;

/// A cell that is not empty: its row and column, and what is in it.
type Used<T> = ((u32, u32), T);

/// The sheets as text.
pub fn text(path: &Path) -> Result<String, String> {
    // The old format is no archive: only the process that reads it is bounded.
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xls")) {
        office::check_size(path)?;
    }
    let mut book = open_workbook_auto(path).map_err(broken)?;
    let mut text = String::new();
    for name in book.sheet_names() {
        // A range holds everything between the outermost cells, and two cells far apart would fill the memory: where
        // cells can be had one by one, only those that are there are held.
        match &mut book {
            Sheets::Xlsx(book) => match book.worksheet_cells_reader(&name) {
                Ok(mut reader) => lines(&name, computed(|| reader.next_cell_with_formula())?, Data::from, &mut text),
                Err(XlsxError::NotAWorksheet(_)) => lines::<Data>(&name, Vec::new(), Data::from, &mut text),
                Err(error) => return Err(broken(error)),
            },
            Sheets::Xlsb(book) => {
                let mut reader = book.worksheet_cells_reader(&name).map_err(broken)?;
                lines(&name, used(|| reader.next_cell())?, Data::from, &mut text);
            }
            Sheets::Xls(_) | Sheets::Ods(_) => {
                let range = book.worksheet_range(&name).map_err(broken)?;
                let cells = range.used_cells().map(|(row, column, data)| ((row as u32, column as u32), data));
                lines(&name, cells.collect(), |data: &Data| data.clone(), &mut text);
            }
        }
        if text.len() > MAX_TEXT {
            break;
        }
    }
    Ok(text)
}

fn broken(error: impl std::fmt::Display) -> String {
    format!("is not a readable spreadsheet: {error}")
}

fn used<'a, E: std::fmt::Display>(
    mut next: impl FnMut() -> Result<Option<Cell<DataRef<'a>>>, E>,
) -> Result<Vec<Used<DataRef<'a>>>, String> {
    let mut cells = Vec::new();
    while let Some(cell) = next().map_err(broken)? {
        if *cell.get_value() != DataRef::Empty {
            cells.push((cell.get_position(), cell.get_value().clone()));
        }
    }
    Ok(cells)
}

/// As [`used`], with the formula where a program wrote no value of it.
fn computed<'a>(
    mut next: impl FnMut() -> Result<Option<XlsxCellFormula<'a>>, XlsxError>,
) -> Result<Vec<Used<DataRef<'a>>>, String> {
    let mut cells = Vec::new();
    while let Some(cell) = next().map_err(broken)? {
        match (cell.value, cell.formula) {
            (DataRef::Empty, None) => {}
            (DataRef::Empty, Some(formula)) => cells.push((cell.pos, DataRef::String(format!("={formula}")))),
            (value, _) => cells.push((cell.pos, value)),
        }
    }
    Ok(cells)
}

/// Adds one sheet, from its first used row and column on; ends early when there is too much text.
fn lines<T>(name: &str, mut cells: Vec<Used<T>>, data: fn(T) -> Data, text: &mut String) {
    // They may come in any order, and of two in one place the last counts.
    cells.reverse();
    cells.sort_by_key(|(place, _)| *place);
    cells.dedup_by_key(|(place, _)| *place);
    let top = cells.first().map_or(0, |((row, _), _)| *row);
    let rows = cells.last().map_or(0, |((row, _), _)| row - top + 1);
    let left = cells.iter().map(|((_, column), _)| *column).min().unwrap_or(0);
    let columns = cells.iter().map(|((_, column), _)| column - left + 1).max().unwrap_or(0);
    text.push_str(&format!("## Sheet {name} ({rows} × {columns})\n"));
    let (mut at, mut start) = ((top, left), text.len());
    for ((row, column), value) in cells {
        if row > at.0 {
            end_line(text, start);
            text.extend(repeat_n('\n', ((row - at.0) as usize).min(MAX_TEXT)));
            (at, start) = ((row, left), text.len());
        }
        text.extend(repeat_n('\t', ((column - at.1) as usize).min(MAX_TEXT)));
        at.1 = column;
        text.push_str(&cell(&data(value)));
        if text.len() > MAX_TEXT {
            return;
        }
    }
    if rows > 0 {
        end_line(text, start);
        text.push('\n');
    }
    text.push('\n');
}

fn end_line(text: &mut String, start: usize) {
    let blank = text[start..].trim_end().len();
    text.truncate(start + blank);
}

fn cell(data: &Data) -> String {
    match data {
        Data::DateTime(moment) => match moment.as_datetime() {
            Some(date) if date.time() == chrono::NaiveTime::MIN => date.date().to_string(),
            Some(date) => date.to_string(),
            None => moment.to_string(),
        },
        // A cell stays in its line.
        data => data.to_string().replace(['\n', '\r', '\t'], " "),
    }
}
