import { readFileSync } from 'node:fs'
import type { Queryable } from '@gatehouse/kit'
import type { DeviceRequest } from '../store/index.ts'

declare const row: unique symbol

/** A statement of the folder `queries` that returns rows of the type `Row`. */
export interface Statement<Row extends object> {
  readonly text: string
  readonly name?: string
  readonly [row]?: Row
}

/** A refresh family as it was when its lock was acquired, and whether the statement rotated it. */
export interface LockedFamilyRow {
  readonly grant_id: string
  readonly generation: number
  readonly current_hash: string
  readonly previous_hash: string | null
  readonly successor_sealed: string | null
  readonly rotated_at: number
  readonly rotated: boolean
}

/** A row of `identity.device_code`. */
export interface DeviceCodeRow {
  readonly hash: string
  readonly user_code_hash: string
  readonly client_id: string
  readonly scopes: string[]
  readonly resources: string[]
  readonly state: DeviceRequest['state']
  readonly claimed_by: string | null
  readonly grant_id: string | null
  readonly interval_ms: number
  readonly polled_at: number | null
  readonly address: string
  readonly user_agent: string
  readonly organization_id: string | null
  readonly created_at: number
  readonly expires_at: number
}

/** The result of one step through the expired grants. */
export interface ExpiredGrantsRow {
  readonly examined: number
  readonly deleted: number
  readonly last_expiry: number | null
  readonly last_id: string | null
}

/** A membership with its permissions. */
export interface MembershipRow {
  readonly organization_id: string
  readonly name: string
  readonly require_mfa: boolean
  readonly user_id: string
  readonly roles: string[]
  readonly permissions: string[]
  readonly assignable: string[]
}

/** Every statement of the folder `queries`. One with a name is prepared once per connection. */
export const queries = {
  addConsent: readStatement<object>('add-consent.sql'),
  addWaitingRoles: readStatement<object>('add-waiting-roles.sql'),
  deleteExpiredGrants: readStatement<ExpiredGrantsRow>('delete-expired-grants.sql'),
  findMembership: readStatement<MembershipRow>('find-membership.sql', 'identity membership'),
  listMemberships: readStatement<MembershipRow>('list-memberships.sql', 'identity memberships'),
  pollDeviceCode: readStatement<DeviceCodeRow>('poll-device-code.sql'),
  putBoundMessage: readStatement<object>('put-bound-message.sql'),
  putMailedLink: readStatement<object>('put-mailed-link.sql'),
  rotateRefreshFamilies: readStatement<LockedFamilyRow>('rotate-refresh-families.sql', 'identity rotate'),
  writeAccount: readStatement<{ readonly created: boolean }>('write-account.sql'),
} as const

/** Runs a statement of {@link queries}. */
export function runStatement<Row extends object>(
  on: Queryable,
  statement: Statement<Row>,
  values: readonly unknown[],
): Promise<{ readonly rows: Row[]; readonly rowCount: number }> {
  return on.query<Row>({ ...statement, values })
}

/** Reads a statement once, when the module is loaded, without its comments. */
function readStatement<Row extends object>(file: string, name?: string): Statement<Row> {
  const text = readFileSync(new URL(`queries/${file}`, import.meta.url), 'utf8')
    .replaceAll(/^--.*\n/gm, '')
    .trim()
  return name === undefined ? { text } : { text, name }
}
