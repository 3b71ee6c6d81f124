import { createDatabase, type Database, typeParsers } from '@gatehouse/kit'
import { type Server, startPostgres } from '@gatehouse/testing'
import pg from 'pg'

/** A node of a plan as it ran. */
export interface RunNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly RunNode[]
}

/** A statement as it ran. */
export interface RunStatement {
  readonly 'Query Text': string
  readonly Plan: RunNode
}

/** A PostgreSQL that reports every statement as it ran, on the one connection of `database`. */
export async function startExplainingPostgres(): Promise<{ server: Server; database: Database; ran: RunStatement[] }> {
  const server = await startPostgres({
    settings: [
      'autovacuum=off',
      'shared_preload_libraries=auto_explain',
      'auto_explain.log_min_duration=0',
      'auto_explain.log_analyze=on',
      'auto_explain.log_buffers=on',
      'auto_explain.log_timing=off',
      'auto_explain.log_format=json',
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
