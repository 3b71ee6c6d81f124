-- Secrets of the service's own, sealed with the encryption key: what is made with them outlives that key.
CREATE TABLE notify.sealed_secret (
  name text PRIMARY KEY,
  sealed text NOT NULL
);
