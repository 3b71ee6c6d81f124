import { createDatabase, type Database, typeParsers } from '@gatehouse/kit'
import { type Server, startPostgres } from '@gatehouse/testing'
import pg from 'pg'

/** A node of a plan as it ran. */
export interface RunNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly RunNode[]
}

/** A statement as it ran. */
export interface RunStatement {
  readonly 'Query Text': string
  readonly Plan: RunNode
}

/** A server that explains, the database of its one connection, and what ran on it. */
export interface ExplainingPostgres {
  readonly server: Server
  readonly database: Database
  readonly ran: RunStatement[]
}

/** A PostgreSQL that reports every statement as it ran, where `nested` is set those within functions too. */
export async function startExplainingPostgres({ nested = false } = {}): Promise<ExplainingPostgres> {
  const server = await startPostgres({
    settings: [
      'autovacuum=off',
      'shared_preload_libraries=auto_explain',
      'auto_explain.log_min_duration=0',
      'auto_explain.log_analyze=on',
      'auto_explain.log_buffers=on',
      'auto_explain.log_timing=off',
      'auto_explain.log_format=json',
      ...(nested ? ['auto_explain.log_nested_statements=on'] : []),
      'auto_explain.log_level=notice',
    ],
  })
  const ran: RunStatement[] = []
  const pool = new pg.Pool({ connectionString: server.url, max: 1, pipeline: true, types: typeParsers })
  pool.on('connect', (client) =>
    client.on('notice', ({ message = '' }) => {
      const at = message.indexOf('{')
      if (at >= 0) ran.push(JSON.parse(message.slice(at)) as RunStatement)
    }),
  )
  const listen = () => {
    throw new Error('nobody listens here')
  }
  return { server, database: createDatabase(pool, { engine: 'postgres', listen }), ran }
}

/** The pages that statements read, in memory or not. */
export function buffersOf(ran: readonly RunStatement[]): number {
  return ran.reduce((sum, { Plan }) => sum + Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'], 0)
}
