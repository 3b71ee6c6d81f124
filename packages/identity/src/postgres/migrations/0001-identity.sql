-- Points in time are Unix milliseconds by the program's clock (bigint). Secrets are stored as SHA-256 hashes. What must be
-- read again (signing keys, messages, continuations) is sealed with the encryption key.

CREATE TABLE identity.declared (
  kind text NOT NULL,
  id text NOT NULL,
  checksum text NOT NULL,
  -- Unix milliseconds; what was changed later differs from the file
  applied_at bigint NOT NULL,
  in_file boolean NOT NULL DEFAULT true,
  PRIMARY KEY (kind, id)
);

-- Users and clients share one namespace: the subject of a token is never both (RFC 9068 section 5).
CREATE TABLE identity.subject (
  id text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('user', 'client')),
  plan text
);

CREATE TABLE identity.client (
  id text PRIMARY KEY REFERENCES identity.subject ON DELETE CASCADE,
  secret_hashes text[] NOT NULL,
  -- The secrets that a new one replaced, valid until then.
  retiring_secret_hashes text[] NOT NULL DEFAULT '{}',
  retiring_until bigint NOT NULL DEFAULT 0,
  metadata jsonb NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- Accurate to a minute.
  last_used_at bigint
);

-- The clients that have a policy, which every gateway follows.
CREATE INDEX client_policy_index ON identity.client (id) WHERE metadata->>'policy' IS NOT NULL;

-- The logo that was fetched from a client's logo_uri, for the consent page.
CREATE TABLE identity.client_logo (
  client_id text PRIMARY KEY REFERENCES identity.client ON DELETE CASCADE,
  uri text NOT NULL,
  hash text NOT NULL,
  media_type text NOT NULL,
  content bytea NOT NULL,
  fetched_at bigint NOT NULL
);
CREATE INDEX client_logo_hash_index ON identity.client_logo (hash);

CREATE TABLE identity.account (
  id text PRIMARY KEY REFERENCES identity.subject ON DELETE CASCADE,
  username text NOT NULL UNIQUE,
  email text,
  email_verified boolean NOT NULL DEFAULT false,
  password_hash text,
  password_changed_at bigint NOT NULL,
  -- Changes with the password and the factors, and when the account is locked: a verification against an earlier version is void.
  -- Random, so that an account recreated under the same id never has a version of its predecessor.
  credential_version uuid NOT NULL DEFAULT gen_random_uuid(),
  roles text[] NOT NULL,
  claims jsonb NOT NULL,
  locked_at bigint,
  -- What authenticators call the user: random, made at the first registration of a passkey, and never changed.
  passkey_user_handle text UNIQUE,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX account_email_index ON identity.account (lower(email)) WHERE email IS NOT NULL;
-- Lists the members of a role, and tells whether an owner would be the last one.
CREATE INDEX account_roles_index ON identity.account USING gin (roles);

-- The phone number of an account as it is searched for: as E.164, whatever it was written with.
CREATE FUNCTION identity.phone_number_of(claims jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN regexp_replace(claims ->> 'phone_number', '[^0-9+]', '', 'g');

-- Searches of management: by the beginning of an id or a name, by number, and by what few accounts have.
CREATE INDEX account_id_prefix_index ON identity.account (id text_pattern_ops);
CREATE INDEX account_username_prefix_index ON identity.account (username text_pattern_ops);
CREATE INDEX account_phone_index ON identity.account (identity.phone_number_of(claims))
  WHERE identity.phone_number_of(claims) IS NOT NULL;
CREATE INDEX account_locked_index ON identity.account (id) WHERE locked_at IS NOT NULL;
CREATE INDEX account_unverified_index ON identity.account (id) WHERE NOT email_verified;
CREATE INDEX subject_plan_index ON identity.subject (plan, id);

-- When a user signed in last. Apart from the account, whose row other sign-ins of the user read under a lock.
CREATE TABLE identity.last_sign_in (
  user_id text PRIMARY KEY REFERENCES identity.account ON DELETE CASCADE,
  at bigint NOT NULL
);

CREATE TABLE identity.signing_key (
  kid text PRIMARY KEY,
  alg text NOT NULL,
  public_jwk jsonb NOT NULL,
  private_sealed text NOT NULL,
  created_at bigint NOT NULL,
  activates_at bigint NOT NULL,
  expires_at bigint
);

-- The public part of a key that has a successor. It verifies ID tokens as hints, and nothing else, until every session has
-- ended that they may name.
CREATE TABLE identity.retired_key (
  kid text PRIMARY KEY,
  alg text NOT NULL,
  public_jwk jsonb NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX retired_key_expiry_index ON identity.retired_key (expires_at);

-- A signed-in browser. The cookie's value is hashed; the public id is the claim sid.
CREATE TABLE identity.session (
  id uuid PRIMARY KEY,
  secret_hash text NOT NULL UNIQUE,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  auth_time bigint NOT NULL,
  amr text[] NOT NULL,
  -- Whether a remembered device stood in for the second factor.
  remembered boolean NOT NULL,
  user_agent text NOT NULL,
  address text NOT NULL,
  created_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  -- Whether the user had not signed in from this address, or in this browser, before: of those who had signed in at all.
  new_address boolean NOT NULL DEFAULT false,
  new_device boolean NOT NULL DEFAULT false
);
CREATE INDEX session_user_index ON identity.session (user_id);
CREATE INDEX session_expiry_index ON identity.session (expires_at);
CREATE INDEX session_address_index ON identity.session (address);
CREATE INDEX session_created_index ON identity.session (created_at, id);

-- The management roles whose scopes were changed; the others have those that they come with.
CREATE TABLE identity.management_role (
  role text PRIMARY KEY,
  scopes text[] NOT NULL,
  updated_at bigint NOT NULL
);

-- The clients used in a session, which are notified when it ends. Kept as long as the session; grants expire earlier.
CREATE TABLE identity.session_client (
  session_id uuid NOT NULL REFERENCES identity.session ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  PRIMARY KEY (session_id, client_id)
);
CREATE INDEX session_client_client_index ON identity.session_client (client_id);

-- The authenticator app of a user (RFC 6238). Only codes of steps after the last one are accepted.
CREATE TABLE identity.authenticator_app (
  user_id text PRIMARY KEY REFERENCES identity.account ON DELETE CASCADE,
  secret_sealed text NOT NULL,
  last_step bigint NOT NULL,
  created_at bigint NOT NULL,
  used_at bigint
);

-- Codes that stand in for a lost factor, each once.
CREATE TABLE identity.recovery_code (
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  hash text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (user_id, hash)
);

-- Users whose factors an administrator reset, until they enrol one.
CREATE TABLE identity.factor_reset (
  user_id text PRIMARY KEY REFERENCES identity.account ON DELETE CASCADE,
  at bigint NOT NULL
);

-- Devices that stand in for the second factor, while the account has the credentials that they were stored with.
CREATE TABLE identity.remembered_device (
  id uuid PRIMARY KEY,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  hash text NOT NULL,
  credential_version uuid NOT NULL,
  user_agent text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX remembered_device_user_index ON identity.remembered_device (user_id);
CREATE INDEX remembered_device_expiry_index ON identity.remembered_device (expires_at);
-- A customer of the product, whose members are users. Users stay global: a membership is what joins the two.
CREATE TABLE identity.organization (
  id text PRIMARY KEY,
  name text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'suspended')),
  require_mfa boolean NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

CREATE TABLE identity.membership (
  organization_id text NOT NULL REFERENCES identity.organization ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  created_at bigint NOT NULL,
  -- Keys of roles that the file declares for the member, who gets them once they are templates.
  waiting_roles text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX membership_user_index ON identity.membership (user_id);

-- Who was a member until removed, or until leaving: no connection makes them one again.
CREATE TABLE identity.former_member (
  organization_id text NOT NULL REFERENCES identity.organization ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  removed_at bigint NOT NULL,
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX former_member_user_index ON identity.former_member (user_id);

-- The accounts of former members at the provider of the organization, hashed: an account here may be deleted and created
-- again at the next sign-in.
CREATE TABLE identity.former_upstream (
  organization_id text NOT NULL REFERENCES identity.organization ON DELETE CASCADE,
  hash text NOT NULL,
  PRIMARY KEY (organization_id, hash)
);

-- A role of one organization, or with the owner '*' a template: a role of all of them. The characters of organization ids
-- exclude the asterisk. Keys are unique among the templates and the roles of an organization together.
CREATE TABLE identity.organization_role (
  owner text GENERATED ALWAYS AS (coalesce(organization_id, '*')) STORED,
  organization_id text REFERENCES identity.organization ON DELETE CASCADE,
  key text NOT NULL,
  name text NOT NULL,
  permissions text[] NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (owner, key)
);
CREATE INDEX organization_role_organization_index ON identity.organization_role (organization_id)
  WHERE organization_id IS NOT NULL;

-- Every organization has this role. Its members may do all that any role of their organization allows.
INSERT INTO identity.organization_role (key, name, permissions, updated_at)
VALUES ('owner', 'Owner', ARRAY['read:organization', 'write:organization', 'write:members', 'write:member-roles'], 0);

-- Every permission that a role of the owner has, and those that one had, until they are released: the scopes that nobody
-- has without a role. Whoever writes a role adds its permissions here, in one transaction.
CREATE TABLE identity.protected_permission (
  owner text GENERATED ALWAYS AS (coalesce(organization_id, '*')) STORED,
  organization_id text REFERENCES identity.organization ON DELETE CASCADE,
  permission text NOT NULL,
  PRIMARY KEY (owner, permission)
);
CREATE INDEX protected_permission_organization_index ON identity.protected_permission (organization_id)
  WHERE organization_id IS NOT NULL;

INSERT INTO identity.protected_permission (permission) SELECT unnest(permissions) FROM identity.organization_role;

-- The foreign keys and the check allow roles of the member's own organization and templates only.
CREATE TABLE identity.membership_role (
  organization_id text NOT NULL,
  user_id text NOT NULL,
  role_owner text NOT NULL CHECK (role_owner IN ('*', organization_id)),
  role_key text NOT NULL,
  PRIMARY KEY (organization_id, user_id, role_key),
  FOREIGN KEY (organization_id, user_id) REFERENCES identity.membership ON DELETE CASCADE,
  FOREIGN KEY (role_owner, role_key) REFERENCES identity.organization_role ON DELETE CASCADE
);
CREATE INDEX membership_role_role_index ON identity.membership_role (role_owner, role_key);

-- An invitation that was mailed and not yet accepted; one for each address. It ends with the membership of its inviter.
CREATE TABLE identity.invitation (
  organization_id text NOT NULL REFERENCES identity.organization ON DELETE CASCADE,
  id uuid NOT NULL,
  hash text NOT NULL UNIQUE,
  email text NOT NULL,
  -- null for management
  invited_by text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, invited_by) REFERENCES identity.membership ON DELETE CASCADE
);
CREATE UNIQUE INDEX invitation_email_index ON identity.invitation (organization_id, lower(email));
CREATE INDEX invitation_inviter_index ON identity.invitation (organization_id, invited_by) WHERE invited_by IS NOT NULL;
-- Whose address it is: for the download of their data, and when their account is deleted.
CREATE INDEX invitation_address_index ON identity.invitation (lower(email));
CREATE INDEX invitation_expiry_index ON identity.invitation (expires_at);

CREATE TABLE identity.invitation_role (
  organization_id text NOT NULL,
  invitation_id uuid NOT NULL,
  role_owner text NOT NULL CHECK (role_owner IN ('*', organization_id)),
  role_key text NOT NULL,
  PRIMARY KEY (organization_id, invitation_id, role_key),
  FOREIGN KEY (organization_id, invitation_id) REFERENCES identity.invitation ON DELETE CASCADE,
  FOREIGN KEY (role_owner, role_key) REFERENCES identity.organization_role ON DELETE CASCADE
);
CREATE INDEX invitation_role_role_index ON identity.invitation_role (role_owner, role_key);

-- A domain that an organization says is its own, until a DNS record proves it. Then no other organization has it.
CREATE TABLE identity.organization_domain (
  organization_id text NOT NULL REFERENCES identity.organization ON DELETE CASCADE,
  domain text NOT NULL,
  challenge text NOT NULL,
  created_at bigint NOT NULL,
  verified_at bigint,
  PRIMARY KEY (organization_id, domain)
);
CREATE UNIQUE INDEX organization_domain_verified_index ON identity.organization_domain (domain)
  WHERE verified_at IS NOT NULL;

-- What a user allowed a client on one device. Created at authorization; every code and token refers to it.
CREATE TABLE identity.grant_record (
  id uuid PRIMARY KEY,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  session_id uuid,
  scopes text[] NOT NULL,
  resources text[] NOT NULL,
  claims jsonb NOT NULL,
  auth_time bigint NOT NULL,
  amr text[] NOT NULL,
  remembered boolean NOT NULL,
  user_agent text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint,
  -- The organization that its tokens are for; such a grant ends with the membership.
  organization_id text,
  FOREIGN KEY (organization_id, user_id) REFERENCES identity.membership ON DELETE CASCADE
);
CREATE INDEX grant_organization_index ON identity.grant_record (organization_id, user_id)
  WHERE organization_id IS NOT NULL;
CREATE INDEX grant_user_index ON identity.grant_record (user_id, client_id);
CREATE INDEX grant_client_index ON identity.grant_record (client_id, id);
CREATE INDEX grant_session_index ON identity.grant_record (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX grant_expiry_index ON identity.grant_record (expires_at);

CREATE TABLE identity.authorization_code (
  hash text PRIMARY KEY,
  grant_id uuid NOT NULL REFERENCES identity.grant_record ON DELETE CASCADE,
  client_id text NOT NULL,
  redirect_uri text NOT NULL,
  code_challenge text,
  nonce text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  consumed_at bigint
);
CREATE INDEX authorization_code_grant_index ON identity.authorization_code (grant_id);
CREATE INDEX authorization_code_expiry_index ON identity.authorization_code (expires_at);

-- One row for all refresh tokens of a grant: older tokens are recognized by signature and generation. A rotation changes
-- no indexed column while the day of expiry stays the same, so the new row version stays within its page.
CREATE TABLE identity.refresh_family (
  grant_id uuid PRIMARY KEY REFERENCES identity.grant_record ON DELETE CASCADE,
  generation integer NOT NULL,
  current_hash text NOT NULL,
  previous_hash text,
  successor_sealed text,
  rotated_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  expires_day bigint GENERATED ALWAYS AS (expires_at / 86400000) STORED
) WITH (fillfactor = 70);
CREATE INDEX refresh_family_expiry_index ON identity.refresh_family (expires_day);

CREATE TABLE identity.access_token (
  hash text PRIMARY KEY,
  grant_id uuid NOT NULL,
  client_id text NOT NULL,
  subject text NOT NULL,
  scopes text[] NOT NULL,
  audience text[] NOT NULL,
  roles text[] NOT NULL,
  -- null for a client that acts for itself
  auth_time bigint,
  acr text,
  -- null without an organization
  organization_id text,
  organization_roles text[],
  issued_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX access_token_expiry_index ON identity.access_token (expires_at);

CREATE TABLE identity.device_code (
  hash text PRIMARY KEY,
  user_code_hash text NOT NULL UNIQUE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  scopes text[] NOT NULL,
  resources text[] NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'consumed')),
  claimed_by text,
  grant_id uuid REFERENCES identity.grant_record ON DELETE CASCADE,
  interval_ms integer NOT NULL,
  polled_at bigint,
  address text NOT NULL,
  user_agent text NOT NULL,
  -- The organization that the client named, which may not exist; null leaves the choice to the user.
  organization_id text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX device_code_expiry_index ON identity.device_code (expires_at);
CREATE INDEX device_code_client_index ON identity.device_code (client_id);
-- Deleting a grant looks up the device codes that led to it.
CREATE INDEX device_code_grant_index ON identity.device_code (grant_id) WHERE grant_id IS NOT NULL;

-- used_by: the session and sign-in that a code was issued to. Until expires_at no other gets one.
CREATE TABLE identity.pushed_request (
  hash text PRIMARY KEY,
  client_id text NOT NULL,
  parameters jsonb NOT NULL,
  used_by text,
  expires_at bigint NOT NULL
);
CREATE INDEX pushed_request_expiry_index ON identity.pushed_request (expires_at);

-- What one consent page showed and the user allowed. A request needs no consent when a single page covered all of it, so
-- pages are stored separately, told apart by the digest of their content.
CREATE TABLE identity.consent (
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES identity.client ON DELETE CASCADE,
  digest text NOT NULL,
  scopes text[] NOT NULL,
  resources text[] NOT NULL,
  claims text[] NOT NULL,
  granted_at bigint NOT NULL,
  PRIMARY KEY (user_id, client_id, digest)
);
CREATE INDEX consent_client_index ON identity.consent (client_id);

-- The jti of client assertions, and anything else that is accepted once: the transaction that inserts the row wins.
CREATE TABLE identity.replay_cache (
  purpose text NOT NULL,
  hash text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (purpose, hash)
);
CREATE INDEX replay_cache_expiry_index ON identity.replay_cache (expires_at);

-- What resource servers must reject although its signature is valid. Writers lock the table first, so positions follow
-- the order of commits. With key_id: everything that a compromised signing key signed.
CREATE TABLE identity.revocation (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  grant_id uuid,
  subject text,
  client_id text,
  before bigint,
  key_id text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX revocation_expiry_index ON identity.revocation (expires_at);
CREATE INDEX revocation_grant_index ON identity.revocation (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX revocation_subject_index ON identity.revocation (subject) WHERE subject IS NOT NULL;
CREATE INDEX revocation_client_index ON identity.revocation (client_id) WHERE client_id IS NOT NULL;

CREATE TABLE identity.api_key (
  id uuid PRIMARY KEY,
  hash text NOT NULL UNIQUE,
  -- The beginning of the key, by which people recognize it.
  prefix text NOT NULL,
  -- The key that a rotation replaced, valid until then.
  retiring_hash text UNIQUE,
  retiring_until bigint NOT NULL DEFAULT 0,
  owner text NOT NULL,
  name text NOT NULL,
  scopes text[] NOT NULL,
  plan text,
  created_at bigint NOT NULL,
  expires_at bigint,
  rotated_at bigint,
  -- Accurate to a minute.
  last_used_at bigint
);
CREATE INDEX api_key_owner_index ON identity.api_key (owner);
-- Keys that count by a plan of their own, as members of its tier.
CREATE INDEX api_key_plan_index ON identity.api_key (plan, hash) WHERE plan IS NOT NULL;
CREATE INDEX api_key_expiry_index ON identity.api_key (expires_at) WHERE expires_at IS NOT NULL;

-- A mailed link is valid for the address and, where it grants access, for the credentials that it was created for. One
-- of each purpose per account; the program defines the purposes.
CREATE TABLE identity.mailed_link (
  hash text PRIMARY KEY,
  purpose text NOT NULL,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  email text NOT NULL,
  credential_version uuid,
  expires_at bigint NOT NULL
);
CREATE UNIQUE INDEX mailed_link_user_index ON identity.mailed_link (user_id, purpose);
CREATE INDEX mailed_link_expiry_index ON identity.mailed_link (expires_at);

-- A sign-in that a mailed link completes, or a code, in the browser where it began. The link is valid while the account
-- has the address and the credentials that it was created for. Without a user nothing was mailed: whoever entered an
-- unknown address waits for a code as everybody does.
CREATE TABLE identity.sign_in_link (
  hash text PRIMARY KEY,
  user_id text REFERENCES identity.account ON DELETE CASCADE,
  email text,
  credential_version uuid,
  browser_hash text NOT NULL,
  -- Sealed: the request that the browser resumes. Null without a user.
  continuation text,
  amr text[] NOT NULL,
  -- The code, hashed with the challenge that the page keeps, and by what attempts at it are limited.
  challenge_hash text UNIQUE,
  code_hash text,
  code_account text,
  wrong_codes integer NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL
);
CREATE INDEX sign_in_link_user_index ON identity.sign_in_link (user_id);
CREATE INDEX sign_in_link_expiry_index ON identity.sign_in_link (expires_at);

-- A WebAuthn credential. The credential's own identifier is unique among all users, so that none is claimed twice.
CREATE TABLE identity.passkey (
  id uuid PRIMARY KEY,
  credential_id text NOT NULL UNIQUE,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  public_key text NOT NULL,
  sign_count bigint NOT NULL,
  backup_eligible boolean NOT NULL,
  backed_up boolean NOT NULL,
  transports text[] NOT NULL,
  aaguid text NOT NULL,
  name text NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint,
  last_user_agent text,
  counter_regressed_at bigint
);
CREATE INDEX passkey_user_index ON identity.passkey (user_id, created_at);

-- What each user has enrolled that is, or can be, a second factor.
CREATE VIEW identity.factor AS
  SELECT user_id, 'totp' AS kind, created_at, used_at FROM identity.authenticator_app
  UNION ALL
  SELECT user_id, 'passkey', created_at, last_used_at FROM identity.passkey;

-- A challenge that one response answers, in one browser and for one purpose; user_id is null where a sign-in begins, and
-- where a user has no account yet.
CREATE TABLE identity.passkey_challenge (
  hash text PRIMARY KEY,
  purpose text NOT NULL,
  browser_hash text NOT NULL,
  user_id text REFERENCES identity.account ON DELETE CASCADE,
  expires_at bigint NOT NULL
);
CREATE INDEX passkey_challenge_user_index ON identity.passkey_challenge (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX passkey_challenge_expiry_index ON identity.passkey_challenge (expires_at);

-- A new address of a user, which waits for the code that was mailed there, in the browser that requested it, while the
-- account has the address and the credentials that it had then.
CREATE TABLE identity.email_change (
  user_id text PRIMARY KEY REFERENCES identity.account ON DELETE CASCADE,
  previous_email text,
  credential_version uuid NOT NULL,
  email text NOT NULL,
  browser_hash text NOT NULL,
  challenge_hash text NOT NULL,
  code_hash text NOT NULL,
  wrong_codes integer NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL
);
CREATE INDEX email_change_expiry_index ON identity.email_change (expires_at);

-- A new phone number of a user, which waits for the code that was sent to it, in the browser and session that requested it.
CREATE TABLE identity.phone_change (
  user_id text PRIMARY KEY REFERENCES identity.account ON DELETE CASCADE,
  phone_number text NOT NULL,
  browser_hash text NOT NULL,
  challenge_hash text NOT NULL,
  code_hash text NOT NULL,
  wrong_codes integer NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL
);
CREATE INDEX phone_change_expiry_index ON identity.phone_change (expires_at);

-- A request for an account with this address; only the link mailed there completes it. Deleted when the link is used,
-- when the address gets an account otherwise, and when such an account is deleted.
CREATE TABLE identity.registration (
  hash text PRIMARY KEY,
  user_id text NOT NULL,
  passkey_user_handle text NOT NULL,
  email text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE UNIQUE INDEX registration_email_index ON identity.registration (lower(email));
CREATE INDEX registration_expiry_index ON identity.registration (expires_at);

-- Other identity providers that users sign in with. The settings hold no secret.
CREATE TABLE identity.connection (
  id text PRIMARY KEY,
  settings jsonb NOT NULL,
  enabled boolean GENERATED ALWAYS AS (coalesce((settings ->> 'enabled')::boolean, true)) STORED,
  -- The organization whose members sign in with it, which has one connection.
  organization_id text GENERATED ALWAYS AS (settings ->> 'organization') STORED UNIQUE
    REFERENCES identity.organization ON DELETE CASCADE,
  secret_sealed text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

-- A browser that was sent to a provider and is expected back, once. The hash is that of the parameter state.
CREATE TABLE identity.connection_flow (
  hash text PRIMARY KEY,
  connection_id text NOT NULL REFERENCES identity.connection ON DELETE CASCADE,
  browser_hash text NOT NULL,
  -- Sealed: nonce and PKCE verifier.
  flow_sealed text NOT NULL,
  -- Sealed: what the browser resumes.
  continuation text NOT NULL,
  -- Sealed: a response that was posted from the provider's site, so without the browser's cookies.
  response_sealed text,
  expires_at bigint NOT NULL
);
CREATE INDEX connection_flow_expiry_index ON identity.connection_flow (expires_at);
CREATE INDEX connection_flow_connection_index ON identity.connection_flow (connection_id);

-- Who a user is at a provider. Neither tokens nor claims of the provider are kept.
CREATE TABLE identity.linked_account (
  id uuid PRIMARY KEY,
  connection_id text NOT NULL REFERENCES identity.connection ON DELETE CASCADE,
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL REFERENCES identity.account ON DELETE CASCADE,
  email text,
  linked_at bigint NOT NULL,
  used_at bigint NOT NULL,
  UNIQUE (connection_id, issuer, subject)
);
CREATE INDEX linked_account_user_index ON identity.linked_account (user_id);

-- Through which account at a provider a session was signed in to: a logout there ends it. The ID token is kept, sealed, only
-- where signing out here signs out there too.
CREATE TABLE identity.provider_session (
  id uuid PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES identity.session ON DELETE CASCADE,
  link_id uuid NOT NULL REFERENCES identity.linked_account ON DELETE CASCADE,
  -- The session at the provider: the claim sid of its ID token.
  sid text,
  id_token_sealed text,
  signed_in_at bigint NOT NULL,
  UNIQUE (session_id, link_id)
);
CREATE INDEX provider_session_link_index ON identity.provider_session (link_id);

-- Messages to deliver after the commit: mails, recipients, logout tokens. Sealed, because they contain links and
-- addresses. Delivered by kind, so that one kind never waits for another.
CREATE TABLE identity.outbox (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  subject text NOT NULL,
  payload_sealed text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX outbox_due_index ON identity.outbox (kind, due_at);
CREATE INDEX outbox_expiry_index ON identity.outbox (expires_at);

-- How many notices of a kind a user got since the window began that ends at expires_at.
CREATE TABLE identity.message_count (
  subject text NOT NULL,
  kind text NOT NULL,
  count integer NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (subject, kind)
);
CREATE INDEX message_count_expiry_index ON identity.message_count (expires_at);

-- Security events, and changes made through management in any service: by which role, of what, and the changed members.
CREATE TABLE identity.audit_event (
  id uuid PRIMARY KEY,
  at bigint NOT NULL,
  type text NOT NULL,
  service text NOT NULL DEFAULT 'identity',
  actor text,
  role text,
  subject text,
  client_id text,
  address text,
  request_id text,
  action text,
  target_type text,
  target_id text,
  members_before jsonb,
  members_after jsonb,
  details jsonb NOT NULL
);
CREATE INDEX audit_event_at_index ON identity.audit_event (at, id);
CREATE INDEX audit_event_subject_index ON identity.audit_event (subject, at) WHERE subject IS NOT NULL;
CREATE INDEX audit_event_actor_index ON identity.audit_event (actor, id) WHERE actor IS NOT NULL;
CREATE INDEX audit_event_client_index ON identity.audit_event (client_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX audit_event_address_index ON identity.audit_event (address, id) WHERE address IS NOT NULL;
CREATE INDEX audit_event_request_index ON identity.audit_event (request_id) WHERE request_id IS NOT NULL;

-- Until when events were removed because they were kept long enough.
CREATE TABLE identity.audit_removal (
  id smallint PRIMARY KEY CHECK (id = 1),
  before bigint NOT NULL
);

-- Tiers and policies. Each version is a whole document and never changes; the highest one is active.
CREATE TABLE identity.limit_version (
  version integer PRIMARY KEY,
  document jsonb NOT NULL,
  origin text NOT NULL,
  author text,
  comment text NOT NULL,
  restored integer,
  created_at bigint NOT NULL
);

-- The limits of the configuration file as they were applied last: what an edit of the file is compared with.
CREATE TABLE identity.limit_file (
  id smallint PRIMARY KEY CHECK (id = 1),
  document jsonb
);

-- Another limit for one caller, until a time.
CREATE TABLE identity.limit_override (
  kind text NOT NULL,
  id text NOT NULL,
  policy text,
  factor double precision,
  reason text NOT NULL,
  author text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX limit_override_expiry_index ON identity.limit_override (expires_at);

-- Which version each process applies, as it reported last.
CREATE TABLE identity.limit_gateway (
  id text PRIMARY KEY,
  host text NOT NULL,
  services text[] NOT NULL,
  version integer NOT NULL,
  fault text,
  seen_at bigint NOT NULL,
  -- the client that reports it; empty for processes that run identity
  reporter text NOT NULL
);
CREATE INDEX limit_gateway_seen_index ON identity.limit_gateway (seen_at);

-- ---------------------------------------------------------------------------------------------------------------------
-- What was counted, by the minute and by the hour (`step`, in seconds). Labels are closed sets and hold nothing personal.

CREATE TABLE identity.stat (
  step integer,
  measure text,
  at timestamptz,
  labels jsonb,
  value bigint NOT NULL,
  PRIMARY KEY (step, measure, at, labels)
) WITH (fillfactor = 80);

-- The batches that were added in the last hour, so that one that is sent twice is added once.
CREATE TABLE identity.stat_batch (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL
);
