-- Every table of a user's begins its keys with the user's bucket; hot statements stay within one bucket.

CREATE TABLE notify.property (
  name text PRIMARY KEY,
  value bigint NOT NULL
);
INSERT INTO notify.property (name, value) VALUES ('settings_version', 1);

CREATE TABLE notify.declared (
  kind text,
  id text,
  checksum text NOT NULL,
  PRIMARY KEY (kind, id)
);

-- Small tables that every node may copy.

CREATE TABLE notify.event_type (
  event text PRIMARY KEY,
  settings jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE TABLE notify.template (
  template_id text,
  channel text,
  locale text,
  version integer,
  subject text,
  body text NOT NULL,
  html text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (template_id, channel, locale, version)
);

CREATE TABLE notify.published_template (
  template_id text,
  channel text,
  locale text,
  version integer NOT NULL,
  published_at timestamptz NOT NULL,
  PRIMARY KEY (template_id, channel, locale)
);

CREATE TABLE notify.provider_health (
  provider text PRIMARY KEY,
  since timestamptz NOT NULL,
  calls integer NOT NULL,
  failures integer NOT NULL,
  open_until timestamptz,
  openings integer NOT NULL DEFAULT 0,
  probe_until timestamptz
);

CREATE TABLE notify.event_rate (
  event text PRIMARY KEY,
  since timestamptz NOT NULL,
  used integer NOT NULL
);

-- Users: whom we can reach, and how they want to be reached.

CREATE TABLE notify.recipient (
  bucket smallint NOT NULL,
  user_id text,
  email text,
  phone_number text,
  locale text,
  zoneinfo text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, user_id)
);

CREATE TABLE notify.preference (
  bucket smallint NOT NULL,
  user_id text,
  event_type text,
  channels text[],
  quiet_start text,
  quiet_end text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, user_id, event_type)
);

CREATE TABLE notify.device (
  bucket smallint NOT NULL,
  user_id text,
  device_id text,
  token text NOT NULL,
  service text NOT NULL,
  registered_at timestamptz NOT NULL,
  dead_at timestamptz,
  dead_reason text,
  PRIMARY KEY (bucket, user_id, device_id)
);

CREATE TABLE notify.suppression (
  bucket smallint NOT NULL,
  user_id text,
  channel text,
  address text,
  reason text NOT NULL,
  since timestamptz NOT NULL,
  PRIMARY KEY (bucket, user_id, channel, address)
);

-- One row a user: every writer of the user's log takes its lock first.
CREATE TABLE notify.cap (
  bucket smallint NOT NULL,
  user_id text,
  counters jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (bucket, user_id)
) WITH (fillfactor = 70);

-- What was accepted, and what became of it.

CREATE TABLE notify.notification (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  event text NOT NULL,
  priority text NOT NULL,
  dedup_key text,
  requested text[],
  sensitive boolean NOT NULL,
  data jsonb,
  decisions jsonb NOT NULL,
  accepted_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX notification_user ON notify.notification (bucket, user_id);

-- The notification log.
CREATE TABLE notify.log (
  bucket smallint NOT NULL,
  user_id text,
  dedup_key text,
  channel text,
  notification_id uuid NOT NULL,
  has_delivery boolean NOT NULL,
  sent_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, user_id, dedup_key, channel)
);
CREATE INDEX log_sent_at ON notify.log USING brin (sent_at);

CREATE TABLE notify.delivery (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  channel text NOT NULL,
  state text NOT NULL,
  address text,
  provider text,
  provider_message_id text,
  ended text,
  PRIMARY KEY (bucket, id)
) WITH (fillfactor = 80);

CREATE TABLE notify.delivery_event (
  bucket smallint NOT NULL,
  notification_id uuid,
  id uuid,
  delivery_id uuid,
  channel text,
  at timestamptz NOT NULL,
  what text NOT NULL,
  state text,
  detail jsonb,
  PRIMARY KEY (bucket, notification_id, id)
);

CREATE TABLE notify.provider_event (
  bucket smallint NOT NULL,
  provider text,
  event_id text,
  at timestamptz NOT NULL,
  PRIMARY KEY (bucket, provider, event_id)
);
CREATE INDEX provider_event_at ON notify.provider_event USING brin (at);

-- Work under way: small rows that leave when the work is done.

CREATE TABLE notify.work (
  bucket smallint NOT NULL,
  delivery_id uuid,
  user_id text NOT NULL,
  channel text NOT NULL,
  event text NOT NULL,
  lane smallint NOT NULL,
  due_at timestamptz NOT NULL,
  lease_until timestamptz,
  attempt integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  crashes integer NOT NULL DEFAULT 0,
  sensitive boolean NOT NULL,
  message jsonb NOT NULL,
  PRIMARY KEY (bucket, delivery_id)
) WITH (fillfactor = 70);
CREATE INDEX work_due ON notify.work (bucket, channel, lane, event, due_at);

CREATE TABLE notify.scheduled (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  fire_at timestamptz NOT NULL,
  payload jsonb NOT NULL,
  lease_until timestamptz,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX scheduled_due ON notify.scheduled (bucket, fire_at);
CREATE INDEX scheduled_user ON notify.scheduled (bucket, user_id);

-- Deliveries to be planned again: deferred by quiet hours, fallbacks, replays.
CREATE TABLE notify.deferral (
  bucket smallint NOT NULL,
  id uuid,
  notification_id uuid NOT NULL,
  user_id text NOT NULL,
  channels text[] NOT NULL,
  reason text NOT NULL,
  wake_at timestamptz NOT NULL,
  lease_until timestamptz,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX deferral_due ON notify.deferral (bucket, wake_at);
CREATE INDEX deferral_notification ON notify.deferral (bucket, notification_id);

-- The pending sets of aggregation: one open window per user and event type.
CREATE TABLE notify.pending_window (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  event text NOT NULL,
  state text NOT NULL,
  flush_at timestamptz NOT NULL,
  lease_until timestamptz,
  PRIMARY KEY (bucket, id)
);
CREATE UNIQUE INDEX pending_window_open ON notify.pending_window (bucket, user_id, event) WHERE state = 'open';
CREATE INDEX pending_window_due ON notify.pending_window (bucket, flush_at);

CREATE TABLE notify.pending_item (
  bucket smallint NOT NULL,
  window_id uuid,
  notification_id uuid,
  actor text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  channels text[] NOT NULL,
  by_request boolean NOT NULL,
  PRIMARY KEY (bucket, window_id, notification_id)
);

CREATE TABLE notify.dead_letter (
  bucket smallint NOT NULL,
  id uuid,
  notification_id uuid,
  user_id text,
  channel text,
  event text,
  cause text NOT NULL,
  detail text NOT NULL,
  died_at timestamptz NOT NULL,
  message jsonb,
  replay_at timestamptz,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX dead_letter_user ON notify.dead_letter (bucket, user_id);

-- State changes on their way to the stream of events.
CREATE TABLE notify.outbox (
  bucket smallint NOT NULL,
  id uuid,
  payload jsonb NOT NULL,
  lease_until timestamptz,
  PRIMARY KEY (bucket, id)
);

-- The in-app feed, and the mailbox of the embedded mode.

CREATE TABLE notify.inbox (
  bucket smallint NOT NULL,
  user_id text,
  id uuid,
  event text NOT NULL,
  subject text,
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  read_at timestamptz,
  PRIMARY KEY (bucket, user_id, id)
);

CREATE TABLE notify.mailbox (
  id text PRIMARY KEY,
  delivery_id uuid NOT NULL,
  user_id text NOT NULL,
  channel text NOT NULL,
  address text NOT NULL,
  message jsonb NOT NULL,
  at timestamptz NOT NULL
);
