import pg from 'pg'
import { type Database, databaseOver, typeParsers } from './database.ts'
import { keepListening } from './listening.ts'
import type { Log } from './log.ts'
import type { Secret } from './secret.ts'
import { StartError } from './start-error.ts'

export interface PostgresOptions {
  readonly url: Secret
  readonly log: Log
  /** Most connections of this process. Default 10. */
  readonly connections?: number
}

const oldestVersion = 15
const answerTimeoutMs = 10_000

/** Opens PostgreSQL 15 or newer. Throws {@link StartError} when it can't be reached or is too old. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const server = {
    connectionString: options.url.reveal(),
    connectionTimeoutMillis: 5_000,
    application_name: 'gatehouse',
  }
  const pool = new pg.Pool({ ...server, max: options.connections ?? 10, pipeline: true, types: typeParsers })
  pool.on('error', (error) => options.log.warn({ err: error }, 'an idle database connection broke'))
  const version = await serverVersion(pool)
  if (version < oldestVersion) {
    await pool.end()
    throw new StartError(`DATABASE_URL names PostgreSQL ${version}; ${oldestVersion} or newer is needed.`)
  }
  const client = () => new pg.Client({ ...server, keepAlive: true, query_timeout: answerTimeoutMs })
  return databaseOver(pool, {
    engine: 'postgres',
    listen: (channel, hearing) => keepListening(client, channel, hearing, options.log),
  })
}

async function serverVersion(pool: pg.Pool): Promise<number> {
  try {
    const { rows } = await pool.query<{ version: string }>("SELECT current_setting('server_version_num') AS version")
    return Math.floor(Number(rows[0]?.version) / 10_000)
  } catch (error) {
    await pool.end()
    throw new StartError(`PostgreSQL at DATABASE_URL can't be used: ${reasonOf(error)}.`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return (error as Error).message || String((error as { code?: string }).code)
}
