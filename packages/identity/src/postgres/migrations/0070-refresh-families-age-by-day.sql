-- Families that have expired are found by the day. Their end itself has no index: it changes with every rotation, which
-- stays within its page as long as no indexed column changes.
ALTER TABLE identity.refresh_family
  ADD COLUMN expires_day bigint GENERATED ALWAYS AS (expires_at / 86400000) STORED;
