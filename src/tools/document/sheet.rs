//! Spreadsheets: every sheet, a line a row, cells apart by tabs.

use super::{MAX_TEXT, office};
use calamine::{Data, Reader as _, open_workbook_auto};
use std::path::Path;

/// The sheets as text.
pub fn text(path: &Path) -> Result<String, String> {
    // The old format is no archive; its reader is bounded by the size of the file.
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xls")) {
        office::check_size(path)?;
    }
    let broken = |error| format!("is not a spreadsheet that can be read: {error}");
    let mut book = open_workbook_auto(path).map_err(broken)?;
    let mut text = String::new();
    for name in book.sheet_names() {
        let range = book.worksheet_range(&name).map_err(broken)?;
        let (rows, columns) = range.get_size();
        text.push_str(&format!("## Sheet {name} ({rows} × {columns})\n"));
        for row in range.rows() {
            let cells: Vec<String> = row.iter().map(cell).collect();
            text.push_str(cells.join("\t").trim_end());
            text.push('\n');
            if text.len() > MAX_TEXT {
                return Ok(text);
            }
        }
        text.push('\n');
    }
    Ok(text)
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
