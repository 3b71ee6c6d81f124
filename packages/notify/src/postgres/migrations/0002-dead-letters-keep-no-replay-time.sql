ALTER TABLE notify.dead_letter DROP COLUMN replay_at;
