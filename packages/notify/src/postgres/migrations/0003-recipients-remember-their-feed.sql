-- What the feed of another service last said, so that an edit by API stands until the feed changes that very field.
ALTER TABLE notify.recipient ADD COLUMN fed jsonb NOT NULL DEFAULT '{}';
