-- Counters of checks that processes share. One row for each rule and identifier.
CREATE TABLE limiter.counter (
  -- rl:<rule>:<kind>:<id>:<window in ms>, …:bucket, or rl:<kind>:<id>:adjusted
  key          text PRIMARY KEY COLLATE "C",
  -- Windows: the counts of the previous and the current window. Bucket: nothing, and its tokens.
  previous     double precision NOT NULL DEFAULT 0,
  current      double precision NOT NULL DEFAULT 0,
  -- Windows: the index of the current window. Bucket: the time of its tokens. Adjustment: until when it holds.
  at           bigint,
  expires_at   timestamptz NOT NULL
);

CREATE INDEX counter_expiry ON limiter.counter (expires_at);
