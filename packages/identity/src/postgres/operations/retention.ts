import { migrationTable, statTables, type TableBound } from '@gatehouse/kit'
import { defaultLifetimes } from '../../model/grants/lifetimes.ts'
import { maxLimitVersions } from '../../model/limit-settings.ts'
import { maxMemberRoles, maxOrganizationRoles } from '../../model/organization.ts'

/** A table whose rows are deleted once they have expired. */
export interface AgingTable extends TableBound {
  readonly key: readonly string[]
  /** The column that says when a row ends, or when it began (Unix milliseconds, or days); it has an index. */
  readonly age: string
  /** A row is deleted once its column is below this (SQL): `$1` is now, or what `from` says. */
  readonly before: string
  readonly from?: 'auditBefore'
}

/** How long expired codes are kept, so that a replay is recognized and a device learns the result. */
const codeKeptMs = 10 * 60_000
const dayMs = 86_400_000

const lifetimes = defaultLifetimes
const now = '$1::bigint'
const afterCode = `${now} - ${codeKeptMs}`

/** The tables with an age. Grants are deleted with the last token that was issued under them. */
export const agingTables: readonly AgingTable[] = [
  describeAgingTable('authorization_code', ['hash'], {
    before: afterCode,
    kept: `${formatSeconds(lifetimes.authorizationCode)}, and ten minutes`,
  }),
  describeAgingTable('device_code', ['hash'], {
    before: afterCode,
    kept: `${formatSeconds(lifetimes.deviceCode)}, and ten minutes`,
  }),
  describeAgingTable('pushed_request', ['hash'], {
    kept: `${formatSeconds(lifetimes.pushedRequest)}; two hours more, without its parameters, once a code was issued`,
  }),
  describeAgingTable('access_token', ['hash'], {
    setting: 'access_token_seconds',
    kept: formatSeconds(lifetimes.accessToken),
  }),
  describeAgingTable('refresh_family', ['grant_id'], {
    age: 'expires_day',
    before: `${now} / ${dayMs}`,
    setting: 'refresh_token_seconds',
    kept: `${formatSeconds(lifetimes.refreshToken)} after the last use, and the rest of that day`,
  }),
  describeAgingTable('session', ['id'], {
    setting: 'session_seconds',
    kept: `${formatSeconds(lifetimes.session)} after the last use`,
  }),
  describeAgingTable('retired_key', ['kid'], {
    setting: 'max_session_seconds',
    kept: `${formatSeconds(lifetimes.maxSession)} after its last token`,
  }),
  describeAgingTable('revocation', ['position'], { kept: 'as long as what it revokes' }),
  describeAgingTable('mailed_link', ['hash'], { kept: `at most ${formatSeconds(lifetimes.verifyLink)}` }),
  describeAgingTable('passkey_challenge', ['hash'], { kept: formatSeconds(lifetimes.interaction) }),
  describeAgingTable('connection_flow', ['hash'], { kept: '10 minutes' }),
  describeAgingTable('sign_in_link', ['hash'], { kept: `at most ${formatSeconds(lifetimes.signInLink)}` }),
  describeAgingTable('email_change', ['user_id'], { kept: formatSeconds(lifetimes.emailCode) }),
  describeAgingTable('phone_change', ['user_id'], { kept: formatSeconds(lifetimes.emailCode) }),
  describeAgingTable('registration', ['hash'], { kept: formatSeconds(lifetimes.verifyLink) }),
  describeAgingTable('remembered_device', ['id'], { kept: '30 days' }),
  describeAgingTable('invitation', ['organization_id', 'id'], { kept: formatSeconds(lifetimes.invitation) }),
  describeAgingTable('outbox', ['id'], { kept: 'as long as its message is of use' }),
  describeAgingTable('message_count', ['subject', 'kind'], { kept: 'at most a day' }),
  describeAgingTable('api_key', ['id'], { kept: 'until then; keys without an end until their owner deletes them' }),
  describeAgingTable('replay_cache', ['purpose', 'hash'], {
    kept: 'as long as what may be used once; a logout at a provider 11 minutes',
  }),
  describeAgingTable('limit_override', ['kind', 'id'], { kept: 'until it ends' }),
  describeAgingTable('limit_gateway', ['id'], {
    age: 'seen_at',
    before: `${now} - ${dayMs}`,
    kept: 'a day after its last report',
  }),
  describeAgingTable('audit_event', ['id'], {
    age: 'at',
    from: 'auditBefore',
    setting: 'audit_event_seconds',
    kept: formatSeconds(lifetimes.auditEvent),
  }),
]

/** The bound of every table of the schema `identity`. */
export const identityTables: readonly TableBound[] = [
  ...agingTables,
  {
    table: 'grant_record',
    bound: '`expires_at`, and the last that was issued under it',
    setting: 'lifetimes.refresh_token_seconds',
    kept: `${formatSeconds(lifetimes.refreshToken)} after the last use`,
  },
  {
    table: 'signing_key',
    bound: '`expires_at`: the lifetime of what it signed, after the next key took over',
    setting: 'lifetimes.signing_key_seconds',
    kept: `${formatSeconds(lifetimes.signingKey)}, and an access token’s`,
  },
  { table: 'session_client', bound: 'one for each client used in a session; goes with the session' },
  { table: 'subject', bound: 'one for each user and client' },
  { table: 'account', bound: 'one for each user' },
  { table: 'management_role', bound: 'one for each management role' },
  { table: 'last_sign_in', bound: 'one for each user who signed in' },
  { table: 'authenticator_app', bound: 'one for each user' },
  { table: 'recovery_code', bound: 'ten for each user with a second factor' },
  { table: 'factor_reset', bound: 'one for each user whose factors were reset, until one is enrolled' },
  { table: 'passkey', bound: 'at most 20 for each user' },
  { table: 'client', bound: 'one for each client' },
  { table: 'client_logo', bound: 'one for each client with a logo, at most 64 KiB' },
  { table: 'connection', bound: 'one for each other identity provider' },
  { table: 'linked_account', bound: 'one for each account at another provider that a user connected' },
  { table: 'provider_session', bound: 'one for each account at a provider used in a session; goes with the session' },
  { table: 'consent', bound: 'one for each consent page that a user agreed to, for each client' },
  { table: 'organization', bound: 'one for each organization' },
  { table: 'membership', bound: 'one for each member of an organization' },
  { table: 'former_member', bound: 'one for each member who was removed or left, until added again' },
  { table: 'former_upstream', bound: 'one for each account of a former member at the provider, until added again' },
  { table: 'organization_role', bound: `at most ${maxOrganizationRoles} for each organization, and the templates` },
  {
    table: 'protected_permission',
    bound: 'one for each scope that a template, or a role of an organization, has or had',
  },
  { table: 'membership_role', bound: `at most ${maxMemberRoles} for each member` },
  { table: 'invitation_role', bound: 'those of an invitation; go with it' },
  { table: 'organization_domain', bound: 'one for each domain of an organization' },
  { table: 'limit_version', bound: `the last ${maxLimitVersions}` },
  { table: 'limit_file', bound: 'one' },
  { table: 'audit_removal', bound: 'one' },
  { table: 'declared', bound: 'one for each entry of the file' },
  ...statTables,
  migrationTable,
]

type Aging = Pick<TableBound, 'kept' | 'setting'> & Partial<Pick<AgingTable, 'age' | 'before' | 'from'>>

function describeAgingTable(
  table: string,
  key: readonly string[],
  { age = 'expires_at', before = now, setting, ...rest }: Aging,
): AgingTable {
  const named = setting === undefined ? {} : { setting: `lifetimes.${setting}` }
  return { table, key, age, before, bound: `\`${age}\``, ...named, ...rest }
}

/** Formats whole days, minutes or seconds. */
function formatSeconds(count: number): string {
  const units = [
    [86_400, 'days'],
    [60, 'minutes'],
    [1, 'seconds'],
  ] as const
  const [size, unit] = units.find(([size]) => count > size && count % size === 0) ?? [1, 'seconds']
  return `${count / size} ${unit}`
}
