//! Readers of documents, on documents made here.

use super::*;

fn read(name: &str, bytes: &[u8]) -> Result<String, Unreadable> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    text(&path, &crate::tools::testing::exec(), &CancellationToken::new())
}

fn packed(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in parts {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn notebooks_show_cells_and_outputs() {
    let notebook = serde_json::json!({"cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [
            {"output_type": "stream", "text": ["1\n"]},
            {"output_type": "error", "ename": "ValueError", "evalue": "no"},
            {"output_type": "display_data", "data": {"image/png": "AAAA"}},
        ]},
    ]});
    let text = read("a.ipynb", notebook.to_string().as_bytes()).unwrap();
    assert_eq!(
        text,
        "# %% cell 1 [markdown]\n# Title\nwords\n\n# %% cell 2 [code]\nprint(1)\n# -> output\n1\n# -> error\nValueError: \
         no\n# -> result\n[image/png]\n\n"
    );
}

#[test]
fn word_keeps_headings_lists_tables_and_entities() {
    let xml = r#"<w:document xmlns:w="w"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Plan</w:t></w:r></w:p>
        <w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>one &amp; two</w:t><w:tab/><w:t xml:space="preserve"> three</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b&#233;</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <w:p/><w:p/><w:instrText>no</w:instrText></w:body></w:document>"#;
    assert_eq!(
        read("a.docx", &packed(&[("word/document.xml", xml)])).unwrap(),
        "## Plan\n- one & two\t three\na | bé\n"
    );
}

#[test]
fn word_has_headers_footers_and_notes() {
    let words = |text: &str| format!(r#"<w:x xmlns:w="w"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:x>"#);
    let bytes = packed(&[
        ("word/document.xml", &words("body")),
        ("word/header2.xml", &words("top")),
        ("word/header1.xml", &words("top")),
        ("word/footer1.xml", &words("page one")),
        ("word/footer2.xml", "<w:x/>"),
        ("word/footnotes.xml", &words("see there")),
    ]);
    assert_eq!(
        read("a.docx", &bytes).unwrap(),
        "body\n\n[header]\ntop\n\n[footer]\npage one\n\n[footnotes]\nsee there\n"
    );
}

#[test]
fn a_formula_without_a_value_is_shown_itself() {
    let rows = r#"<row r="1"><c r="A1"><v>2</v></c><c r="B1"><f>A1*2</f></c><c r="C1"><f>A1*3</f><v>6</v></c></row>"#;
    assert_eq!(read("a.xlsx", &workbook(rows)).unwrap(), "## Sheet Sums (1 × 3)\n2\t=A1*2\t6\n\n");
}

#[test]
fn slides_come_in_their_order_with_notes() {
    let slide = |text: &str| format!(r#"<p:sld><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"#);
    let bytes = packed(&[
        ("ppt/slides/slide10.xml", &slide("last")),
        ("ppt/slides/slide2.xml", &slide("second")),
        ("ppt/notesSlides/notesSlide2.xml", &slide("say this")),
    ]);
    assert_eq!(read("a.pptx", &bytes).unwrap(), "## Slide 2\nsecond\n### Notes\nsay this\n\n## Slide 10\nlast\n\n");
}

#[test]
fn open_document_text() {
    let xml = r#"<o><text:h text:outline-level="2">Head</text:h><text:p>a<text:s/>b<text:span>c</text:span></text:p>stray</o>"#;
    assert_eq!(read("a.odt", &packed(&[("content.xml", xml)])).unwrap(), "## Head\na bc\n");
}

fn workbook(rows: &str) -> Vec<u8> {
    packed(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "_rels/.rels",
            r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#,
        ),
        (
            "xl/workbook.xml",
            r#"<workbook xmlns:r="r"><sheets><sheet name="Sums" sheetId="1" r:id="rId1"/></sheets></workbook>"#,
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="rId1" Type="worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#,
        ),
        ("xl/worksheets/sheet1.xml", &format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")),
    ])
}

#[test]
fn sheets_are_rows_with_tabs() {
    let name = r#"<c r="A1" t="inlineStr"><is><t>name</t></is></c>"#;
    for (rows, lines) in [
        (
            format!(
                r#"<row r="1">{name}<c r="B1"><v>2.5</v></c><c r="C1"/></row><row r="2"><c r="B2" t="b"><v>1</v></c></row>"#
            ),
            "(2 × 2)\nname\t2.5\n\ttrue\n",
        ),
        // From the first used cell on, rows in between are kept, and the order of the file does not matter.
        (
            r#"<row r="5"><c r="D5"><v>5</v></c></row><row r="3"><c r="F3"><v>2</v></c><c r="F3"><v>3</v></c></row>"#
                .into(),
            "(3 × 3)\n\t\t3\n\n5\n",
        ),
        (String::new(), "(0 × 0)\n"),
    ] {
        assert_eq!(read("a.xlsx", &workbook(&rows)).unwrap(), format!("## Sheet Sums {lines}\n"));
    }
}

#[test]
fn cells_far_apart_take_no_room() {
    let far = r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>"#;
    let text = read("a.xlsx", &workbook(far)).unwrap();
    assert!(text.starts_with("## Sheet Sums (1048576 × 16384)\n1\n\n") && text.ends_with("\t2\n\n"));
    assert_eq!(text.matches('\t').count(), 16383);
}

#[test]
fn pdf_text_by_page() {
    let stream = "BT /F1 24 Tf 72 700 Td (Hello paper) Tj ET";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let (mut pdf, mut backends) = ("%PDF-1.4\n".to_owned(), Vec::new());
    for (index, object) in objects.iter().enumerate() {
        backends.push(pdf.len());
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let start = pdf.len();
    pdf.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    backends.iter().for_each(|place| pdf.push_str(&format!("{place:010} 00000 n \n")));
    pdf.push_str(&format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1));
    let text = read("a.pdf", pdf.as_bytes()).unwrap();
    assert_eq!(text, "## Page 1\nHello paper\n\n");
}

#[test]
fn what_is_broken_says_so() {
    for (name, bytes, words) in [
        ("a.pdf", b"%PDF-1.4\nrubbish".to_vec(), "not a readable PDF"),
        ("a.docx", b"rubbish".to_vec(), "not a readable document"),
        ("a.docx", packed(&[("other", "x")]), "no text part"),
        ("a.odt", packed(&[("content.xml", "<a><b></a>")]), "damaged"),
        ("a.xlsx", packed(&[("other", "x")]), "not a readable spreadsheet"),
        ("a.xls", b"rubbish".to_vec(), "not a readable spreadsheet"),
        ("a.ipynb", b"{}".to_vec(), "no cells"),
        ("a.ipynb", b"{".to_vec(), "not a readable notebook"),
    ] {
        let error = read(name, &bytes).unwrap_err();
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

#[test]
fn what_unfolds_without_end_is_refused() {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let chunk = vec![b' '; 1 << 20];
    for name in ["word/document.xml", "xl/workbook.xml"] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        for _ in 0..=MAX_UNPACKED / (1 << 20) {
            writer.write_all(&chunk).unwrap();
        }
    }
    let bytes = writer.finish().unwrap().into_inner();
    for name in ["a.docx", "a.xlsx"] {
        assert!(read(name, &bytes).unwrap_err().to_string().contains("expands"), "{name}");
    }
}
