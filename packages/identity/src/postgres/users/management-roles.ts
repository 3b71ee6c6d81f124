import { isDeepStrictEqual } from 'node:util'
import type { Database } from '@gatehouse/kit'
import { commitMarginMs, type RevocationTimes, revokedBefore } from '../../model/grants/revocation-times.ts'
import type { ChangedRoles } from '../../model/management-roles.ts'
import type { ManagementRoles, RoleChange } from '../../store/index.ts'
import { appendRevocations, lockRevocations } from '../tokens/revocations.ts'

interface RoleRow {
  readonly role: string
  readonly scopes: string[]
}

/** Changed roles in `identity.management_role`; there are as many as roles at most. */
export class PostgresManagementRoles implements ManagementRoles {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listChanged(): Promise<ChangedRoles> {
    const text = 'SELECT role, scopes FROM identity.management_role'
    const { rows } = await this.#database.query<RoleRow>({ name: 'identity changed roles', text, values: [] })
    return new Map(rows.map(({ role, scopes }) => [role, scopes]))
  }

  /**
   * The first lock makes two changes follow one another also where there is no row yet. That of the revocation feed is
   * waited for before the time is read.
   */
  change(
    { role, scopes, expected, narrows }: RoleChange,
    times: () => RevocationTimes,
  ): Promise<'changed' | 'outdated'> {
    return this.#database.transaction(async (tx) => {
      await tx.query('LOCK TABLE identity.management_role IN SHARE ROW EXCLUSIVE MODE')
      if (narrows) await lockRevocations(tx)
      const end = times()
      const text = 'SELECT role, scopes FROM identity.management_role WHERE role = $1'
      const [found] = (await tx.query<RoleRow>(text, [role])).rows
      if (!isDeepStrictEqual(found?.scopes, expected)) return 'outdated'
      await tx.query(
        `INSERT INTO identity.management_role (role, scopes, updated_at) VALUES ($1, $2, $3)
         ON CONFLICT (role) DO UPDATE SET scopes = excluded.scopes, updated_at = excluded.updated_at`,
        [role, scopes, end.now],
      )
      if (!narrows) return 'changed'
      const members = await tx.query<{ id: string }>(
        'SELECT id FROM identity.account WHERE roles @> ARRAY[$1::text] ORDER BY id',
        [role],
      )
      const before = revokedBefore(end.now + commitMarginMs)
      const revocations = members.rows.map(({ id }) => ({ subject: id, before }))
      await appendRevocations(tx, revocations, end)
      return 'changed'
    })
  }
}
