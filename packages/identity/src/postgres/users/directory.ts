import type { Database } from '@gatehouse/kit'
import type { User } from '../../model/user.ts'
import type { UserDirectory, UserFilter } from '../../store/index.ts'
import { type UserRow, userColumns, userOf } from '../rows.ts'

/** Finds users by the indexes of `identity.account`. */
export class PostgresUserDirectory implements UserDirectory {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async search(filter: UserFilter, after: string, limit: number): Promise<User[]> {
    const values: unknown[] = [after]
    const bind = (value: unknown) => `$${values.push(value)}`
    const conditions = listConditions(filter, bind)
    // Planned for these very values: a common prefix is read in the order of the ids, a rare one by its index.
    const text = `SELECT ${userColumns} FROM identity.account JOIN identity.subject USING (id)
      WHERE ${['account.id > $1', ...conditions].join(' AND ')} ORDER BY account.id LIMIT ${bind(limit)}`
    return (await this.#database.query<UserRow>(text, values)).rows.map(userOf)
  }

  async findLastSignIns(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (ids.length === 0) return new Map()
    const { rows } = await this.#database.query<{ user_id: string; at: number }>(
      'SELECT user_id, at FROM identity.last_sign_in WHERE user_id = ANY($1::text[])',
      [ids],
    )
    return new Map(rows.map((row) => [row.user_id, row.at]))
  }
}

/** The conditions of the members that the filter has, in the form of the indexes. */
function listConditions(
  { prefix, isMasked, email, phoneNumber, plan, role, locked, verified }: UserFilter,
  bind: (value: unknown) => string,
): string[] {
  const conditions: string[] = []
  if (prefix !== undefined) {
    const shown = isMasked ? ` AND username !~ ${bind(maskedUsername)}` : ''
    const byName = `username LIKE ${bind(patternOf(prefix.username))}${shown}`
    conditions.push(`(account.id LIKE ${bind(patternOf(prefix.id))} OR (${byName}))`)
  }
  if (email !== undefined) conditions.push(`lower(email) = ${bind(email)}`)
  if (phoneNumber !== undefined) conditions.push(`identity.phone_number_of(claims) = ${bind(phoneNumber)}`)
  if (plan !== undefined) conditions.push(`subject.plan = ${bind(plan)}`)
  if (role !== undefined) conditions.push(`roles @> ARRAY[${bind(role)}::text]`)
  if (locked !== undefined) conditions.push(`locked_at IS ${locked ? 'NOT ' : ''}NULL`)
  if (verified !== undefined) conditions.push(verified ? 'email_verified' : 'NOT email_verified')
  return conditions
}

/** Usernames that are masked, and some that only look like one: addresses of mail and of IP, numbers. */
const maskedUsername = '[@:]|^[+]|^[0-9]{1,3}([.][0-9]{1,3}){3}$'

/** The pattern of LIKE for texts that begin so. */
function patternOf(prefix: string): string {
  return `${prefix.replaceAll(/[\\%_]/g, '\\$&')}%`
}
