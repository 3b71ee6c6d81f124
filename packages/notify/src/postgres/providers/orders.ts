import type { Database } from '@gatehouse/kit'
import type { ProviderOrders } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'

/** The orders of providers on PostgreSQL. */
export function postgresProviderOrders(database: Database): ProviderOrders {
  return {
    async list() {
      const { rows } = await database.query<{ channel: string; providers: string[] }>(
        'SELECT channel, providers FROM notify.provider_order',
      )
      return new Map(rows.map(({ channel, providers }) => [channel, providers]))
    },
    async put(channel, names, now, expected) {
      const { rowCount } = await database.query(expected ? replaceSql : expected === null ? insertSql : upsertSql, [
        channel,
        names,
        timestamp(now),
        ...(expected ? [expected] : []),
      ])
      return rowCount > 0
    },
  }
}

const insert = 'INSERT INTO notify.provider_order (channel, providers, changed_at) VALUES ($1, $2::text[], $3)'
const insertSql = `${insert} ON CONFLICT (channel) DO NOTHING`
const upsertSql = `${insert}
  ON CONFLICT (channel) DO UPDATE SET providers = excluded.providers, changed_at = excluded.changed_at`
const replaceSql = `UPDATE notify.provider_order SET providers = $2::text[], changed_at = $3
  WHERE channel = $1 AND providers = $4::text[]`
