/*
 * The answers of the APIs, as far as the screens show them.
 */

/** A user of the identity service. */
export interface User {
  readonly id: string
  readonly username?: string
  readonly email?: string
  readonly email_verified: boolean
  readonly plan?: string
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
  readonly locked: boolean
  readonly created_at: string
  readonly updated_at: string
}

/** A browser that a user is signed in with. */
export interface Session {
  readonly id: string
  readonly user_agent: string
  readonly address: string
  readonly created_at: string
  readonly seen_at: string
}

/** Access that a user gave a client. */
export interface Consent {
  readonly client_id: string
  readonly scopes: readonly string[]
  readonly granted_at: string
}

/** The second factors of a user. */
export interface Factors {
  readonly factors: readonly { readonly kind: string; readonly created_at: string; readonly used_at?: string }[]
  readonly recovery_codes: number
  readonly remembered_devices: number
}

/** A registered client. */
export interface Client {
  readonly client_id: string
  readonly client_name?: string
  readonly token_endpoint_auth_method?: string
  readonly grant_types?: readonly string[]
  readonly redirect_uris?: readonly string[]
  readonly post_logout_redirect_uris?: readonly string[]
  readonly backchannel_logout_uri?: string
  readonly scopes?: readonly string[]
  readonly plan?: string
  readonly require_pkce?: boolean
  readonly require_pushed_authorization_requests?: boolean
  readonly skip_consent?: boolean
  readonly created_at: string
  readonly updated_at: string
}

/** An API key, without the key. */
export interface ApiKey {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly plan?: string
  readonly created_at: string
  readonly expires_at?: string
}

/** A key that signs or signed tokens. */
export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly created_at: string
  readonly activates_at: string
  readonly expires_at?: string
}

/** A management role with its scopes. */
export interface ManagementRole {
  readonly role: string
  readonly scopes: readonly string[]
}

/** A user with a management role. */
export interface RoleMember {
  readonly user_id: string
  readonly username: string
  readonly locked: boolean
}

/** An event of the audit trail. */
export interface AuditEvent {
  readonly id: string
  readonly at: string
  readonly type: string
  readonly service: string
  readonly actor?: string
  readonly role?: string
  readonly subject?: string
  readonly client_id?: string
  readonly address?: string
  readonly request_id?: string
  readonly action?: string
  readonly target?: { readonly type: string; readonly id: string }
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
  readonly details: Readonly<Record<string, unknown>>
}

/** A line of a notification's timeline. */
export interface TimelineEntry {
  readonly at: string
  readonly what: string
  readonly channel?: string
  readonly detail?: Readonly<Record<string, unknown>>
}

/** A notification with what became of it. */
export interface Notification {
  readonly id: string
  readonly user_id: string
  readonly event: string
  readonly priority: string
  readonly dedup_key?: string
  readonly accepted_at: string
  readonly expires_at?: string
  readonly deliveries: readonly Delivery[]
  readonly timeline: readonly TimelineEntry[]
}

/** A notification on one channel. */
export interface Delivery {
  readonly id?: string
  readonly channel: string
  readonly outcome: string
  readonly state?: string
  readonly provider?: string
  readonly ended?: string
}

/** What would happen to an event now. */
export interface Explanation {
  readonly channels: readonly ExplainedChannel[]
  readonly decisions: readonly Readonly<Record<string, unknown>>[]
  readonly cap: Readonly<Record<string, unknown>>
}

/** What would happen on one channel. */
export interface ExplainedChannel {
  readonly channel: string
  readonly outcome: string
  readonly reason_code?: string
  readonly reason?: string
  readonly until?: string
  readonly subject?: string
  readonly body?: string
  readonly locale?: string
}

/** A delivery that failed for good. */
export interface DeadLetter {
  readonly id: string
  readonly notification_id?: string
  readonly user_id?: string
  readonly channel?: string
  readonly event?: string
  readonly cause: string
  readonly detail: string
  readonly died_at: string
  readonly expires_at?: string
}

/** The readiness of a service. */
export interface ServiceStatus {
  readonly service: string
  readonly status: string
  readonly engines: Readonly<Record<string, unknown>>
}
