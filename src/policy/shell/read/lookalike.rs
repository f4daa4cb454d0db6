//! Command words in letters that only look like those of a known command: `гm` is another program than `rm`, but reads like it.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::program;
use crate::policy::shell::walk::resolve::Field;

/// Letters and what they look like, by alphabet.
const LETTERS: &[(&str, &str)] = &[
    // Cyrillic
    ("аԁеһіјӏмпорсԛгѕтуԝхкнвиԍѵёш", "adehijlmnopcqrstywxkhbugvew"),
    ("АВЕНІЈКМОРЅТХСУ", "abehijkmopstxcy"),
    // Greek
    ("αβγεηικνορστυχωϲϳ", "abyenikvopotuxwcj"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx"),
];

/// The plain letter that a letter looks like.
fn plain(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c.to_ascii_lowercase());
    }
    for (from, to) in LETTERS {
        if let Some(at) = from.chars().position(|x| x == c) {
            return to.chars().nth(at);
        }
    }
    Some(match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' | 'ɑ' | 'ạ' | 'ả' => 'a',
        'ƀ' | 'ḃ' | 'ḅ' | 'ɓ' => 'b',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' | 'ⅽ' | 'ƈ' => 'c',
        'ď' | 'đ' | 'ḍ' | 'ḋ' | 'ⅾ' | 'ɗ' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'ɛ' | 'ẹ' | '℮' => 'e',
        'ƒ' | 'ḟ' => 'f',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' | 'ɡ' | 'ɢ' => 'g',
        'ĥ' | 'ħ' | 'ḥ' | 'ḣ' | 'ɦ' => 'h',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ɩ' | 'ɪ' | 'ⅰ' | 'ị' => 'i',
        'ĵ' | 'ǰ' | 'ȷ' => 'j',
        'ķ' | 'ḳ' | 'ĸ' | 'ƙ' => 'k',
        'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' | 'ḷ' | 'ⅼ' | 'ǀ' => 'l',
        'ḿ' | 'ṃ' | 'ṁ' | 'ɱ' | 'ⅿ' | 'ᴍ' => 'm',
        'ñ' | 'ń' | 'ņ' | 'ň' | 'ṇ' | 'ṅ' | 'ɴ' | 'ŋ' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ọ' | 'ơ' | 'ɵ' => 'o',
        'ṕ' | 'ṗ' | 'ƥ' => 'p',
        'ŕ' | 'ŗ' | 'ř' | 'ṛ' | 'ṙ' | 'ɼ' | 'ɾ' | 'ʀ' | 'ⲅ' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' | 'ṣ' | 'ꜱ' | 'ſ' => 's',
        'ţ' | 'ť' | 'ŧ' | 'ț' | 'ṭ' | 'ƭ' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ụ' | 'ʋ' => 'u',
        'ṽ' | 'ṿ' | 'ⅴ' => 'v',
        'ŵ' | 'ẁ' | 'ẃ' | 'ẅ' | 'ẉ' => 'w',
        'ẋ' | 'ẍ' | 'ⅹ' => 'x',
        'ý' | 'ÿ' | 'ŷ' | 'ẏ' | 'ỵ' | 'ʏ' => 'y',
        'ź' | 'ż' | 'ž' | 'ẓ' | 'ƶ' => 'z',
        // Marks on the letter before.
        '\u{300}'..='\u{36f}' => return None,
        other => other,
    })
}

impl Walker<'_> {
    /// Notes a command word that reads like a command which can do harm, and is not it.
    pub(in crate::policy::shell) fn look_alike(&mut self, field: &Field) {
        if field.text.is_ascii() {
            return;
        }
        let read: String = program(&field.text).chars().filter_map(plain).collect();
        let known = read.is_ascii() && self.table.command(&read).is_some();
        if known {
            let say = format!("looks like `{read}` but is another program");
            self.find_as("look-alike command", say, field.span.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_read_as_plain_ones() {
        for (word, want) in
            [("гm", "rm"), ("ŕm", "rm"), ("ѕudо", "sudo"), ("r\u{301}m", "rm"), ("ɡit", "git"), ("gіt", "git")]
        {
            assert_eq!(word.chars().filter_map(plain).collect::<String>(), want, "{word}");
        }
        for (from, to) in LETTERS {
            assert_eq!(from.chars().count(), to.chars().count(), "{from}");
        }
    }
}
