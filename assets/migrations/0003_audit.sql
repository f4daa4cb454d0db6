-- What ran or was kept from running, by whose word. Rows are added and never changed; the oldest go by the bound.
CREATE TABLE audit (
  -- Counts up by one.
  key INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  session TEXT NOT NULL,
  -- JSON, as hashed.
  body TEXT NOT NULL,
  -- SHA-256 in hex of the hash before, the key and the body.
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_session ON audit(session, key);
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'rows of the audit log are never changed');
END;
