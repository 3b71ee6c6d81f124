import type { Database } from '@gatehouse/kit'
import type { LimitGateway, LimitGateways } from '../../store/index.ts'
import { orUndefined } from '../rows.ts'

interface GatewayRow {
  readonly id: string
  readonly host: string
  readonly services: string[]
  readonly version: number
  readonly fault: string | null
  readonly seen_at: number
  readonly reporter: string
}

const maxGateways = 200

/** What processes report, in `identity.limit_gateway`. */
export class PostgresLimitGateways implements LimitGateways {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async report(gateway: LimitGateway, liveSince: number): Promise<boolean> {
    const { id, host, services, version, fault, seenAt, reporter } = gateway
    const { rowCount } = await this.#database.query(
      `INSERT INTO identity.limit_gateway AS known (id, host, services, version, fault, seen_at, reporter)
       SELECT $1, $2, $3, $4, $5, $6, $7
        WHERE (SELECT count(*) FROM identity.limit_gateway
                WHERE reporter = $7 AND id <> $1 AND seen_at >= $8) < ${maxGateways}
       ON CONFLICT (id) DO UPDATE SET host = excluded.host, services = excluded.services, version = excluded.version,
         fault = excluded.fault, seen_at = excluded.seen_at, reporter = excluded.reporter
        WHERE known.reporter = excluded.reporter OR known.seen_at < $8`,
      [id, host, services, version, fault ?? null, seenAt, reporter, liveSince],
    )
    return rowCount === 1
  }

  async list(seenSince: number): Promise<LimitGateway[]> {
    const text = 'SELECT * FROM identity.limit_gateway WHERE seen_at >= $1 ORDER BY host, id LIMIT $2'
    const { rows } = await this.#database.query<GatewayRow>(text, [seenSince, maxGateways])
    return rows.map(({ fault, seen_at: seenAt, ...row }) => ({ ...row, fault: orUndefined(fault), seenAt }))
  }
}
