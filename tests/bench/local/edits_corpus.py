"""Twenty small edits: a file, what is asked, and what may stand where ⟦…⟧ stood. Nothing else may change.

A pattern is a regular expression over the lines with their indentation; blank lines and blanks at the ends of lines don't
count, neither in the file nor in the pattern.
"""

EDITS = [
    ("sign", "calc.py", "The function subtract in calc.py adds. Change it so that it subtracts.", r"    return a - b", '''\
"""Arithmetic for the shop."""


def add(a, b):
    return a + b


def subtract(a, b):
⟦    return a + b⟧


def double(x):
    return x * 2


def average(values):
    if not values:
        return 0
    return sum(values) / len(values)
'''),
    ("default", "fetch.py", "In fetch.py, change the default timeout of fetch from 10 to 30 seconds.",
     r"def fetch\(url, timeout=30, retries=3\):", '''\
import time
import urllib.request

AGENT = "fetch/1.0"


class FetchError(Exception):
    pass


⟦def fetch(url, timeout=10, retries=3):⟧
    request = urllib.request.Request(url, headers={"User-Agent": AGENT})
    for attempt in range(retries):
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.read()
        except OSError:
            time.sleep(2 ** attempt)
    raise FetchError(url)


def fetch_text(url):
    return fetch(url, timeout=10).decode("utf-8")
'''),
    ("import", "report.py", "report.py uses json but does not import it. Add the import at the top.",
     r"import json\nimport sys|import sys\nimport json|import (json, sys|sys, json)", '''\
⟦import sys⟧
from pathlib import Path


def load(path):
    return json.loads(Path(path).read_text())


def total(rows):
    return sum(row["amount"] for row in rows)


def main():
    rows = load(sys.argv[1])
    print(json.dumps({"total": total(rows)}))


if __name__ == "__main__":
    main()
'''),
    ("guard", "stats.py", "In stats.py, mean fails for an empty list. Let it return 0 for an empty list.",
     r"    (if not values:|if len\(values\) == 0:)( return 0|\n        return 0)(\n    else:\n        return sum\(values\) / len\(values\)|"
     r"\n    return sum\(values\) / len\(values\))"
     r"|    return sum\(values\) / len\(values\) if (values|len\(values\) > 0) else 0", '''\
"""Numbers about numbers."""


def mean(values):
⟦    return sum(values) / len(values)⟧


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def spread(values):
    return max(values) - min(values)
'''),
    ("second", "shapes.py", "In shapes.py, the method area of Triangle is wrong: it should be half of base times height.",
     r"        return (self\.base \* self\.height / 2|0\.5 \* self\.base \* self\.height|\(?self\.base \* self\.height\)? (/ 2|\* 0\.5))", '''\
class Square:
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


class Rectangle:
    def __init__(self, base, height):
        self.base = base
        self.height = height

    def area(self):
        return self.base * self.height


class Triangle:
    def __init__(self, base, height):
        self.base = base
        self.height = height

    def area(self):
⟦        return self.base * self.height⟧


class Parallelogram:
    def __init__(self, base, height):
        self.base = base
        self.height = height

    def area(self):
        return self.base * self.height


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return 3.14159 * self.radius ** 2


def total(shapes):
    return sum(shape.area() for shape in shapes)


def largest(shapes):
    return max(shapes, key=lambda shape: shape.area())


if __name__ == "__main__":
    print(total([Square(2), Rectangle(2, 3), Circle(1)]))
'''),
    ("remove", "upload.py", "Remove the debug print from upload in upload.py.", r"", '''\
import hashlib


def digest(data):
    return hashlib.sha256(data).hexdigest()


def upload(client, name, data):
    key = f"{name}-{digest(data)[:8]}"
⟦    print("DEBUG", key, len(data))
⟧    client.put(key, data)
    return key


def report(keys):
    for key in keys:
        print(key)
'''),
    ("message", "main.rs", "In main.rs, change the text \"file not found\" to \"no such file\".",
     r'            eprintln!\("no such file"\);', '''\
use std::env;
use std::fs;
use std::process::ExitCode;

fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn main() -> ExitCode {
    let Some(path) = env::args().nth(1) else {
        eprintln!("usage: words FILE");
        return ExitCode::from(2);
    };
    match fs::read_to_string(&path) {
        Ok(text) => {
            println!("{}", count(&text));
            ExitCode::SUCCESS
        }
        Err(_) => {
⟦            eprintln!("file not found");⟧
            ExitCode::FAILURE
        }
    }
}
'''),
    ("variant", "color.rs", "Add a variant Yellow after Green to the enum Color in color.rs.", r"    Green,\n    Yellow,", '''\
/// What a lamp shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Red,
⟦    Green,⟧
    Blue,
}

impl Color {
    pub fn is_red(self) -> bool {
        self == Color::Red
    }
}

pub struct Lamp {
    pub color: Color,
    pub on: bool,
}
'''),
    ("bound", "ring.rs", "The capacity in ring.rs is 64. Make it 256.", r"const CAPACITY: usize = 256;", '''\
//! A ring of the last lines.

use std::collections::VecDeque;

⟦const CAPACITY: usize = 64;⟧

#[derive(Default)]
pub struct Ring {
    lines: VecDeque<String>,
}

impl Ring {
    pub fn push(&mut self, line: String) {
        if self.lines.len() == CAPACITY {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn last(&self) -> Option<&String> {
        self.lines.back()
    }

    pub fn clear(&mut self) {
        self.lines.clear();
    }

    pub fn find(&self, word: &str) -> Vec<&String> {
        self.lines.iter().filter(|line| line.contains(word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_last_lines() {
        let mut ring = Ring::default();
        for number in 0..1_000 {
            ring.push(number.to_string());
        }
        assert_eq!(ring.len(), CAPACITY);
        assert_eq!(ring.last().unwrap(), "999");
    }
}
'''),
    ("compare", "age.rs", "In age.rs, is_adult should be true from 18 on, not only above 18.", r"    years >= 18", '''\
pub fn is_child(years: u32) -> bool {
    years < 14
}

pub fn is_teen(years: u32) -> bool {
    (13..20).contains(&years)
}

pub fn is_adult(years: u32) -> bool {
⟦    years > 18⟧
}

pub fn is_senior(years: u32) -> bool {
    years > 65
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_no_senior() {
        assert!(is_child(5) && !is_senior(5));
    }
}
'''),
    ("await", "users.js", "In users.js, loadUser forgets to await fetch. Add the await.",
     r"  const reply = await fetch\(`/api/users/\$\{id\}`\);", '''\
const cache = new Map();

export async function loadUser(id) {
  if (cache.has(id)) {
    return cache.get(id);
  }
⟦  const reply = fetch(`/api/users/${id}`);⟧
  if (!reply.ok) {
    throw new Error(`no user ${id}`);
  }
  const user = await reply.json();
  cache.set(id, user);
  return user;
}

export async function loadTeam(ids) {
  return Promise.all(ids.map(loadUser));
}
'''),
    ("rename", "cart.js", "In cart.js, rename the constant TAX to TAX_RATE, also where it is used.",
     r"const TAX_RATE = 0\.19;\nexport function net\(items\) \{\n  return items\.reduce\(\(sum, item\) => sum \+ item\.price \* item\.count, 0\);\n\}\n"
     r"export function gross\(items\) \{\n  return net\(items\) \* \(1 \+ TAX_RATE\);", '''\
⟦const TAX = 0.19;

export function net(items) {
  return items.reduce((sum, item) => sum + item.price * item.count, 0);
}

export function gross(items) {
  return net(items) * (1 + TAX);⟧
}

export function isEmpty(items) {
  return items.length === 0;
}
'''),
    ("route", "server.js", "In server.js, add a route GET /health that answers with the text ok, after the route /version.",
     r'app\.get\("/version", \(req, res\) => \{\n  res\.json\(\{ version: "1\.4\.0" \}\);\n\}\);\n'
     r'app\.get\(["\']/health["\'], \(req, res\) => (\{\s*res\.send\(["\']ok["\']\);?\s*\}|res\.send\(["\']ok["\']\))\);', '''\
import express from "express";

const app = express();
app.use(express.json());

app.get("/", (req, res) => {
  res.send("hello");
});

⟦app.get("/version", (req, res) => {
  res.json({ version: "1.4.0" });
});⟧

app.post("/echo", (req, res) => {
  res.json(req.body);
});

const notes = new Map();

app.get("/notes/:id", (req, res) => {
  const note = notes.get(req.params.id);
  if (note === undefined) {
    res.status(404).json({ error: "no such note" });
    return;
  }
  res.json(note);
});

app.put("/notes/:id", (req, res) => {
  notes.set(req.params.id, req.body);
  res.status(204).end();
});

app.delete("/notes/:id", (req, res) => {
  notes.delete(req.params.id);
  res.status(204).end();
});

app.listen(8080);
'''),
    ("flag", "build.js", "Turn on minify in the production settings of build.js.", r"    minify: true,", '''\
export default {
  development: {
    minify: false,
    sourcemap: true,
    target: "esnext",
  },
  production: {
⟦    minify: false,⟧
    sourcemap: false,
    target: "es2020",
  },
};
'''),
    ("port", "compose.yaml", "In compose.yaml, publish the web service on port 9090 instead of 8080.", r'      - "?9090:80"?', '''\
services:
  web:
    image: nginx:1.27
    ports:
⟦      - "8080:80"⟧
    volumes:
      - ./site:/usr/share/nginx/html:ro
  db:
    image: postgres:16
    environment:
      POSTGRES_PASSWORD: example
    ports:
      - "5432:5432"
  cache:
    image: redis:7
    ports:
      - "6379:6379"
'''),
    ("matrix", "ci.yaml", "Add Python 3.13 to the matrix in ci.yaml.", r'        python: \["3\.10", "3\.11", "3\.12", "3\.13"\]', '''\
name: ci
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix:
⟦        python: ["3.10", "3.11", "3.12"]⟧
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: ${{ matrix.python }}
      - run: pip install -e .[test]
      - run: pytest
'''),
    ("replicas", "deploy.yaml", "Scale the worker in deploy.yaml to 5 replicas; leave the api alone.", r"    replicas: 5", '''\
apps:
  api:
    image: shop/api:2.1
    replicas: 2
    memory: 512Mi
    env:
      LOG_LEVEL: info
  worker:
    image: shop/worker:2.1
⟦    replicas: 2⟧
    memory: 1Gi
    env:
      LOG_LEVEL: info
  cron:
    image: shop/cron:2.1
    replicas: 1
    memory: 256Mi
'''),
    ("typo", "README.md", "Fix the typo \"recieve\" in README.md.", r"Workers receive jobs over a socket and answer with a result\.", '''\
# Queue

A small queue of jobs for one machine.

## Use

    queue serve &
    queue add 'convert a.png a.jpg'

## How it works

Jobs are kept in a file, one a line.
⟦Workers recieve jobs over a socket and answer with a result.⟧
A job that fails is tried again three times.

## Licence

MIT
'''),
    ("heading", "GUIDE.md", "In GUIDE.md, rename the heading \"Setup\" to \"Installation\".", r"## Installation", '''\
# Guide

What you need to know before the first run.

## Requirements

- Linux or macOS
- 2 GB of memory

⟦## Setup⟧

Setup takes a minute: run `make install`.

## First run

Run `guide init` in an empty folder.

## Setup problems

If `make` is missing, install your system's build tools.
'''),
    ("item", "CHANGES.md", "Add \"- Exports to CSV\" to the end of the list of version 1.3.0 in CHANGES.md.",
     r"- Faster search\n- Exports to CSV", '''\
# Changes

## 1.3.0

- Dark mode
⟦- Faster search⟧

## 1.2.0

- Imports from CSV
- Keyboard shortcuts

## 1.1.0

- First public version
'''),
]
