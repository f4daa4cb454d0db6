-- What requests that are under way may cost at most: programs of one home stay within a day's budget together.
CREATE TABLE reservations (
  key INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  -- Who made the request, as in `live`.
  pid INTEGER NOT NULL,
  born INTEGER NOT NULL,
  marker TEXT NOT NULL,
  model TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  cost REAL NOT NULL,
  -- Of these the request itself: paid for even when the program is killed. The price may be unknown.
  input INTEGER NOT NULL,
  input_cost REAL
) STRICT;
