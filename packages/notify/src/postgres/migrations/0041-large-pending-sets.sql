-- A pending set of many items and few actors is told item by item, so many at a time.
ALTER TABLE notify.pending_window ADD COLUMN apart boolean NOT NULL DEFAULT false;
