-- When a message is of no use any more. Null: never.
ALTER TABLE notify.notification ADD COLUMN expires_at timestamptz;
ALTER TABLE notify.work ADD COLUMN expires_at timestamptz;
ALTER TABLE notify.pending_item ADD COLUMN expires_at timestamptz;
ALTER TABLE notify.dead_letter ADD COLUMN expires_at timestamptz;

-- When an event that waited was first received: its age counts from then. Null: from when it is due.
ALTER TABLE notify.scheduled ADD COLUMN occurred_at timestamptz;
ALTER TABLE notify.parked ADD COLUMN occurred_at timestamptz;
