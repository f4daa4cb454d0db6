//! Code of a scripting language as tokens: names, texts and signs, enough to see what is called with what.

use super::Lang;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word. `member`: after `.`, `->` or `::`.
    Name {
        text: String,
        member: bool,
    },
    /// `$x`, `@list`, `%hash`: a variable of a language that marks them.
    Variable(String),
    /// A string; what is put in when it runs is `UNKNOWN`, and the code that tells it stands before, in braces.
    Text(String),
    /// Backticks, `qx{}`, `%x()`: a shell line.
    Shell(String),
    /// A list of words: `qw(a b)`, `%w[a b]`.
    Words(Vec<String>),
    Number(String),
    /// `evaluates`: its replacement or a part of it is code.
    Regex {
        evaluates: bool,
    },
    Sign(char),
    /// The end of a line.
    Break,
}

/// Tokens of one text; more are not read.
const MAX_TOKENS: usize = 4096;

pub(super) struct Lexer {
    pub chars: Vec<char>,
    pub at: usize,
    pub lang: Lang,
    pub out: Vec<Token>,
    /// Nothing was left that could not be read.
    pub whole: bool,
    pub depth: usize,
}

/// The tokens, and whether all of the text was read.
pub(super) fn tokens(text: &str, lang: Lang) -> (Vec<Token>, bool) {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, lang, out: Vec::new(), whole: true, depth: 0 };
    lexer.run();
    (lexer.out, lexer.whole)
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}

impl Lexer {
    pub fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    pub fn run(&mut self) {
        while self.at < self.chars.len() {
            if self.out.len() >= MAX_TOKENS {
                self.whole = false;
                return;
            }
            self.token();
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
    }

    fn token(&mut self) {
        use Lang::{Js, Lua, Perl, Php, Python, Ruby};
        let c = self.peek(0);
        match c {
            '\n' => {
                self.at += 1;
                self.out.push(Token::Break);
            }
            c if c.is_whitespace() => self.at += 1,
            '\\' if self.peek(1) == '\n' => self.at += 2,
            '#' if matches!(self.lang, Python | Ruby | Perl | Php | Lang::R | Lang::Other) => self.line_comment(),
            '/' if matches!(self.lang, Js | Php) && self.peek(1) == '/' => self.line_comment(),
            '/' if matches!(self.lang, Js | Php) && self.peek(1) == '*' => {
                self.at += 2;
                while self.at < self.chars.len() && !(self.peek(0) == '*' && self.peek(1) == '/') {
                    self.at += 1;
                }
                self.whole &= self.at < self.chars.len();
                self.at = (self.at + 2).min(self.chars.len());
            }
            '-' if self.lang == Lua && self.peek(1) == '-' => {
                // A comment in brackets may end on the same line.
                self.whole &= self.peek(2) != '[';
                self.line_comment();
            }
            '"' | '\'' => self.quoted(false, false),
            '`' => match self.lang {
                Js => self.quoted(false, false),
                _ => {
                    let text = self.until('`', '`');
                    self.out.push(Token::Shell(text));
                }
            },
            '%' if self.lang == Ruby && self.is_value() => self.ruby_percent(),
            '/' if matches!(self.lang, Js | Perl | Ruby) && self.is_value() => self.regex(1),
            '$' | '@' | '%' | '&' if matches!(self.lang, Perl | Php | Ruby) && self.variable() => {}
            c if c.is_alphabetic() || c == '_' || (c == '$' && self.lang == Js) => self.name(),
            c if c.is_ascii_digit() => {
                let from = self.at;
                while self.peek(0).is_ascii_alphanumeric() || (self.peek(0) == '.' && self.peek(1).is_ascii_digit()) {
                    self.at += 1;
                }
                self.out.push(Token::Number(self.chars[from..self.at].iter().collect()));
            }
            '<' if self.lang == Perl && self.is_value() && self.peek(1) != '<' => {
                // `<STDIN>`, `<>`; `<*.c>` looks for files.
                let text = self.until('<', '>');
                if !matches!(text.as_str(), "" | "STDIN") {
                    self.whole = false;
                }
                self.out.push(Token::Name { text: "STDIN".into(), member: false });
            }
            c => {
                self.at += 1;
                self.out.push(Token::Sign(c));
            }
        }
    }

    /// Whether a value starts here, rather than an operator after one.
    fn is_value(&self) -> bool {
        match self.out.iter().rev().find(|t| **t != Token::Break) {
            None => true,
            Some(Token::Sign(c)) => !matches!(c, ')' | ']' | '}'),
            Some(Token::Name { text, member }) => {
                !member
                    && matches!(
                        text.as_str(),
                        "if" | "unless"
                            | "and"
                            | "or"
                            | "not"
                            | "return"
                            | "while"
                            | "until"
                            | "split"
                            | "grep"
                            | "map"
                            | "print"
                            | "puts"
                            | "when"
                            | "p"
                            | "typeof"
                            | "in"
                            | "of"
                            | "case"
                            | "system"
                            | "exec"
                            | "x"
                    )
            }
            Some(_) => false,
        }
    }

    fn previous_is_member(&self) -> bool {
        let signs: Vec<char> = self
            .out
            .iter()
            .rev()
            .take_while(|t| matches!(t, Token::Sign(_)))
            .take(2)
            .filter_map(|t| if let Token::Sign(c) = t { Some(*c) } else { None })
            .collect();
        // A dot after a value; in PHP and Perl a dot joins texts.
        let value = |n: usize| self.out.len() > n && !matches!(self.out[self.out.len() - 1 - n], Token::Break);
        match signs.as_slice() {
            ['.', '?'] => true,
            ['.', '.'] if self.lang == Lang::Lua => false,
            ['.', ..] => !matches!(self.lang, Lang::Php | Lang::Perl) && value(1),
            ['>', '-'] => matches!(self.lang, Lang::Perl | Lang::Php),
            [':', ':'] => true,
            [':', ..] => self.lang == Lang::Lua,
            ['$', ..] => self.lang == Lang::R,
            _ => false,
        }
    }

    fn name(&mut self) {
        let from = self.at;
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' && self.lang != Lang::R;
        while word(self.peek(0))
            || (matches!(self.lang, Lang::Ruby | Lang::Other)
                && matches!(self.peek(0), '?' | '!')
                && self.peek(1) != '=')
        {
            self.at += 1;
        }
        let text: String = self.chars[from..self.at].iter().collect();
        let next = self.peek(0);
        let member = self.previous_is_member();
        if self.lang == Lang::Python
            && matches!(next, '"' | '\'')
            && text.len() <= 2
            && text.chars().all(|c| "rRbBuUfF".contains(c))
        {
            let raw = text.contains(['r', 'R']);
            return self.quoted(raw, text.contains(['f', 'F']));
        }
        if self.lang == Lang::Perl && !member && self.perl_quote(&text) {
            return;
        }
        if member {
            while matches!(self.out.last(), Some(Token::Sign('.' | '?' | '-' | '>' | ':' | '$'))) {
                self.out.pop();
            }
        }
        self.out.push(Token::Name { text, member });
    }

    /// `q{}`, `qq{}`, `qx{}`, `qw{}`, `m{}`, `s{}{}`, `tr///`, `y///`.
    fn perl_quote(&mut self, word: &str) -> bool {
        if !matches!(word, "q" | "qq" | "qx" | "qw" | "qr" | "m" | "s" | "tr" | "y") {
            return false;
        }
        let blanks = self.chars[self.at..].iter().take_while(|c| c.is_whitespace()).count();
        let open = self.peek(blanks);
        if open == '\0'
            || open.is_alphanumeric()
            || matches!(open, '=' | ',' | ';' | ')')
            || (blanks > 0 && open == '#')
        {
            return false;
        }
        self.at += blanks;
        match word {
            "q" | "qq" | "qx" | "qw" => {
                let text = self.until(open, closing(open));
                let token = match word {
                    "qx" => Token::Shell(text),
                    "qw" => Token::Words(text.split_whitespace().map(str::to_owned).collect()),
                    "qq" => Token::Text(self.interpolated(&text)),
                    _ => Token::Text(text),
                };
                self.out.push(token);
            }
            "m" | "qr" => self.regex(1),
            _ => self.regex(2),
        }
        true
    }

    /// A regular expression of one or two parts, with its flags.
    fn regex(&mut self, parts: usize) {
        let open = self.peek(0);
        let mut text = self.until(open, closing(open));
        if parts == 2 {
            if closing(open) == open {
                self.at -= 1;
                text.push_str(&self.until(open, open));
            } else {
                while self.peek(0).is_whitespace() {
                    self.at += 1;
                }
                let second = self.peek(0);
                text.push_str(&self.until(second, closing(second)));
            }
        }
        let from = self.at;
        while self.peek(0).is_ascii_alphabetic() {
            self.at += 1;
        }
        let flags: String = self.chars[from..self.at].iter().collect();
        let evaluates = text.contains("(?{")
            || text.contains("(??{")
            || text.contains("@{")
            || text.contains("${")
            || text.contains("#{")
            || (flags.contains('e') && self.lang == Lang::Perl);
        self.out.push(Token::Regex { evaluates });
    }

    /// The text between brackets or quotes; passes the closing one.
    fn until(&mut self, open: char, close: char) -> String {
        self.at += 1;
        let (mut text, mut nested) = (String::new(), 0);
        loop {
            let c = self.peek(0);
            if self.at >= self.chars.len() {
                // There may have been nothing to open: `s{a}` and the end.
                self.at = self.chars.len();
                self.whole = false;
                return text;
            }
            self.at += 1;
            match c {
                '\\' if self.at < self.chars.len() => {
                    let escaped = self.peek(0);
                    self.at += 1;
                    if escaped != close && escaped != open {
                        text.push('\\');
                    }
                    text.push(escaped);
                    continue;
                }
                c if c == close && nested == 0 => return text,
                c if c == close => nested -= 1,
                c if c == open => nested += 1,
                _ => {}
            }
            text.push(c);
        }
    }

    fn ruby_percent(&mut self) {
        let kind = self.peek(1);
        let (skip, open) = if kind.is_ascii_alphabetic() { (2, self.peek(2)) } else { (1, kind) };
        if !matches!(open, '(' | '[' | '{' | '<' | '|' | '!' | '/') {
            self.at += 1;
            self.out.push(Token::Sign('%'));
            return;
        }
        self.at += skip;
        let text = self.until(open, closing(open));
        let token = match kind {
            'x' => Token::Shell(text),
            'w' | 'W' | 'i' | 'I' => Token::Words(text.split_whitespace().map(str::to_owned).collect()),
            'r' => Token::Regex { evaluates: text.contains("#{") },
            'q' => Token::Text(text),
            _ => Token::Text(self.interpolated(&text)),
        };
        self.out.push(token);
    }

    /// `$name`, `@name`, `%name`, and the variables of one sign.
    fn variable(&mut self) -> bool {
        let sigil = self.peek(0);
        let mut from = self.at + 1;
        if sigil == '$' && matches!(self.peek(1), '#' | '$') && (self.peek(2).is_alphabetic() || self.peek(2) == '{') {
            from += 1;
        }
        if sigil == '@' && self.peek(1) == '@' {
            from += 1;
        }
        let len = self.chars[from.min(self.chars.len())..]
            .iter()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '_'))
            .count();
        if len == 0 {
            let special = sigil == '$'
                && matches!(
                    self.peek(1),
                    '_' | '.' | '/' | '\\' | ',' | ';' | '!' | '@' | '0' | '&' | '<' | '>' | '$' | '~' | '*' | '?'
                );
            if special {
                let name: String = self.chars[self.at..self.at + 2].iter().collect();
                self.at += 2;
                self.out.push(Token::Variable(name));
            } else if matches!(sigil, '$' | '@') && self.peek(1) == '{' {
                self.whole = false;
                return false;
            }
            return special;
        }
        if matches!(sigil, '%' | '&') && !self.is_value() {
            return false;
        }
        if sigil == '&' {
            // `&name` calls.
            self.whole = false;
        }
        let name: String = self.chars[from..from + len].iter().collect();
        self.at = from + len;
        self.out.push(Token::Variable(format!("{sigil}{name}")));
        true
    }
}
