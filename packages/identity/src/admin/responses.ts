import { Type } from 'typebox'
import { ConnectionDeclaration } from '../config/connections.ts'
import { ClientPatch, UserPatch } from '../config/declarations.ts'

/*
 * The response schemas of management. A response is serialized by its schema, so it contains no member that the schema
 * does not name.
 */

export const text = Type.String()
export const texts = Type.Array(text)
export const instant = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] })
const anything = Type.Object({}, { additionalProperties: true })

export const lastUsed = Type.String({
  format: 'date-time',
  description: 'When it was used last, accurate to a minute. Absent: never.',
})

const client = {
  client_id: text,
  ...ClientPatch.properties,
  policy: Type.Optional(Type.String({ description: 'The tier or policy that counts its requests in place of tiers.' })),
  jwks: Type.Optional(Type.Object({ keys: Type.Array(anything) })),
  created_at: instant,
  updated_at: instant,
  last_used_at: Type.Optional(lastUsed),
  previous_secret_expires_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Until when the secret before a renewal is valid.' }),
  ),
}
/** A client. */
export const clientSchema = Type.Object(client, { title: 'OAuthClient', description: 'A client.' })

export const secret = Type.String({ description: 'Shown only in this response.' })
/** A client that was just registered, with its secret. */
export const newClientSchema = Type.Object(
  { ...client, client_secret: Type.Optional(secret) },
  { title: 'NewOAuthClient', description: 'The client, with its secret if it has one.' },
)
/** A new client secret. */
export const secretSchema = Type.Object(
  { client_id: text, client_secret: secret, previous_secret_expires_at: Type.Optional(instant) },
  { title: 'ClientSecret' },
)
/** A grant of a client. */
export const clientGrantSchema = Type.Object(
  { id: text, user_id: text, scopes: texts, resources: texts, created_at: instant, expires_at: instant },
  { title: 'ClientGrant' },
)
/** The plan of a client. */
export const planSchema = Type.Object({ id: text, plan: text }, { title: 'Plan' })

const { client_secret: _secret, private_key: _key, ...connection } = ConnectionDeclaration.properties
/** A connection. */
export const connectionSchema = Type.Object(
  {
    ...connection,
    callback_uri: Type.String({ description: 'The redirect URI to register at the provider.' }),
    backchannel_logout_uri: Type.String({ description: 'oidc: where the provider says that a session ended there.' }),
    post_logout_redirect_uri: Type.String({
      description: 'Where the provider sends the browser after a logout there.',
    }),
    created_at: instant,
    updated_at: instant,
  },
  { title: 'Connection', description: 'A connection to another identity provider, without its secrets.' },
)

const { username, email, plan } = UserPatch.properties
const user = {
  id: Type.String({ description: 'The subject identifier: the claim sub.' }),
  username,
  email,
  email_verified: Type.Boolean(),
  plan,
  roles: texts,
  claims: anything,
  locked: Type.Boolean(),
  created_at: instant,
  updated_at: instant,
  last_sign_in_at: Type.Optional(instant),
}
/** A user. */
export const userSchema = Type.Object(user, { title: 'User', description: 'A user.' })
/** A user that was just created, with the generated password. */
export const newUserSchema = Type.Object(
  {
    ...user,
    password: Type.Optional(Type.String({ description: 'The generated password, shown only in this response.' })),
  },
  { title: 'NewUser', description: 'The user, with the generated password if the request has none.' },
)

/** A consent of a user. */
export const consentSchema = Type.Object(
  { client_id: text, scopes: texts, resources: texts, claims: texts, granted_at: instant },
  { title: 'Consent' },
)
/** A session of a user. */
export const sessionSchema = Type.Object(
  {
    id: text,
    user_id: text,
    user_agent: text,
    address: text,
    amr: Type.Array(text, { description: 'How the user signed in (RFC 8176).' }),
    clients: Type.Array(text, { description: 'The clients that were used in it.' }),
    is_own: Type.Boolean({ description: 'Whether the caller signed in here.' }),
    new_address: Type.Boolean({ description: 'Whether the user had not signed in from this address before.' }),
    new_device: Type.Boolean({ description: 'Whether the user had not signed in with this browser before.' }),
    created_at: instant,
    seen_at: instant,
    expires_at: Type.String({ format: 'date-time', description: 'When it ends without further use.' }),
  },
  { title: 'Session' },
)
/** Sessions that were ended, or would be. */
export const endedSessionsSchema = Type.Object(
  {
    matched: Type.Integer({
      minimum: 0,
      description: 'How many sessions the filter selects; at most 1,000 at a time.',
    }),
    ended: Type.Integer({ minimum: 0, description: 'How many ended: none in a trial run.' }),
    skipped: Type.Integer({ minimum: 0, description: 'How many are of users whom the caller may not change.' }),
    more: Type.Boolean({ description: 'Whether there are further ones, for another request.' }),
  },
  { title: 'EndedSessions' },
)
/** A grant of a user: the access that a client has on one device. */
export const grantSchema = Type.Object(
  {
    id: text,
    client_id: text,
    session_id: Type.Optional(text),
    organization_id: Type.Optional(text),
    user_agent: text,
    scopes: texts,
    resources: texts,
    created_at: instant,
    last_used_at: Type.String({ format: 'date-time', description: 'When tokens were last issued under it.' }),
    expires_at: instant,
  },
  { title: 'Grant' },
)

/** The second factors of a user. */
export const factorsSchema = Type.Object(
  {
    factors: Type.Array(
      Type.Object({
        kind: Type.String({ description: 'totp, an authenticator app; or passkey.' }),
        created_at: instant,
        used_at: Type.Optional(instant),
      }),
    ),
    recovery_codes: Type.Integer({ description: 'How many are left.' }),
    remembered_devices: Type.Integer(),
    must_enrol: Type.Boolean({ description: 'Whether the next sign-in requires a new factor, after a reset.' }),
  },
  { title: 'SecondFactors' },
)

/** A passkey of a user. */
export const passkeySchema = Type.Object(
  {
    id: text,
    name: text,
    synced: Type.Boolean({ description: 'Whether it can be copied to other devices of the user.' }),
    transports: texts,
    aaguid: Type.String({ description: 'The model of the authenticator, as it says itself.' }),
    created_at: instant,
    last_used_at: Type.Optional(instant),
    last_user_agent: Type.Optional(text),
    counter_regressed_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When a sign-in was rejected that looked like that of a copy.' }),
    ),
  },
  { title: 'Passkey' },
)

/** An account at another identity provider that a user signs in with. */
export const linkedProviderSchema = Type.Object(
  {
    id: Type.String({ description: 'The identifier of the link.' }),
    connection: text,
    issuer: text,
    subject: Type.String({ description: 'The identifier of the user at the provider.' }),
    email: Type.Optional(Type.String({ description: 'The address there when it was linked.' })),
    linked_at: instant,
    used_at: instant,
  },
  { title: 'LinkedProvider' },
)
/** What is left after a link was removed. */
export const removedProviderSchema = Type.Object(
  {
    remaining_ways: Type.Integer({
      minimum: 0,
      description: 'In how many ways the user can still sign in: password, passkeys and linked providers. 0: in none.',
    }),
  },
  { title: 'RemovedProvider' },
)

/** A management role with its scopes. */
export const roleSchema = Type.Object(
  {
    role: text,
    scopes: Type.Array(text, { description: 'What the role allows, with the scopes that these include.' }),
    granted_scopes: Type.Array(text, { description: 'The scopes themselves: what a change replaces.' }),
    default_scopes: Type.Array(text, { description: 'The scopes that the role comes with.' }),
    assignable_scopes: Type.Array(text, {
      description: 'The scopes that the role can be changed to have; none for the owners, whose role stays as it is.',
    }),
  },
  { title: 'ManagementRole' },
)
/** A user with a management role. */
export const memberSchema = Type.Object(
  { user_id: text, username: text, locked: Type.Boolean(), last_sign_in_at: Type.Optional(instant) },
  { title: 'RoleMember' },
)
/** The caller of management. */
export const callerSchema = Type.Object(
  {
    user: Type.Optional(text),
    client: Type.Optional(text),
    roles: texts,
    scopes: Type.Array(text, { description: 'The scopes that the caller has now, with those that they include.' }),
    auth_time: Type.Optional(Type.Integer({ description: 'When the person signed in, in Unix seconds.' })),
  },
  { title: 'ManagementCaller' },
)
/** Revealed members of a user. */
export const revealedSchema = Type.Object({}, { additionalProperties: true, title: 'RevealedFields' })

/** An event of the audit trail. */
export const auditEventSchema = Type.Object(
  {
    id: text,
    at: instant,
    type: text,
    service: Type.String({ description: 'identity, notify or gateway.' }),
    actor: Type.Optional(text),
    role: Type.Optional(Type.String({ description: 'The management role that allowed the action.' })),
    subject: Type.Optional(text),
    client_id: Type.Optional(text),
    address: Type.Optional(text),
    request_id: Type.Optional(text),
    action: Type.Optional(Type.String({ description: 'The change, such as `users.update`.' })),
    target: Type.Optional(Type.Object({ type: text, id: text })),
    before: Type.Optional(anything),
    after: Type.Optional(anything),
    details: anything,
  },
  { title: 'AuditEvent' },
)
