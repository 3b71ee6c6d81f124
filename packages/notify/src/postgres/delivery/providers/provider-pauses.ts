import type { Database } from '@gatehouse/kit'
import type { ProviderPauses, StoredHealth } from '../../../store/store.ts'
import { optionalTimestamp, timestamp, withoutNulls } from '../../sql/columns.ts'

interface HealthRow {
  readonly provider: string
  readonly since: number
  readonly calls: number
  readonly failures: number
  readonly open_until: number | null
  readonly paused_until: number | null
  readonly misconfigured: string | null
}

/** Pauses of providers on PostgreSQL. */
export function postgresProviderPauses(database: Database): ProviderPauses {
  return {
    async list() {
      const { rows } = await database.query<HealthRow>(
        'SELECT provider, since, calls, failures, open_until, paused_until, misconfigured FROM notify.provider_health',
      )
      return rows.map(({ open_until: openUntil, paused_until: pausedUntil, misconfigured, ...row }): StoredHealth => {
        return { ...row, ...withoutNulls({ openUntil, pausedUntil, misconfigured }) }
      })
    },
    async set(provider, until, now, expected) {
      const { rowCount } = await database.query(
        `INSERT INTO notify.provider_health (provider, since, calls, failures, paused_until) VALUES ($1, $2, 0, 0, $3)
         ON CONFLICT (provider) DO UPDATE SET paused_until = excluded.paused_until
          WHERE $4::boolean OR provider_health.paused_until IS NOT DISTINCT FROM $5::timestamptz`,
        [provider, timestamp(now), optionalTimestamp(until), expected === undefined, optionalTimestamp(expected)],
      )
      return rowCount > 0
    },
  }
}
