import pg from 'pg'
import type { PostgresServer } from './postgres.ts'

type Work = (client: pg.Client) => Promise<unknown>

/** A way in which a program loses its database; it is back when `lose` resolves. */
export interface WayToLose {
  readonly name: string
  /** It takes less than a second. */
  readonly isQuick: boolean
  readonly lose: () => Promise<void>
}

/** Runs `work` on a connection of its own that may write; false when the database is not there. */
export async function asAdministrator(url: string, work: Work): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'administrator' })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SET default_transaction_read_only = off')
    await work(client)
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** Ends a share of the program's connections, as they are, in the middle of whatever they do. */
export function endSome(share: number): Work {
  return (client) =>
    client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatehouse' AND random() < $1`,
      [share],
    )
}

const cancelAll: Work = (client) =>
  client.query(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatehouse'`)

/** As PostgreSQL fails where its disk is full: whatever is written. */
const fillDisk: Work = (client) =>
  client.query(`
    CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
    DO $$ DECLARE each record; BEGIN
      FOR each IN SELECT * FROM pg_tables WHERE schemaname IN ('notify', 'identity', 'limiter') LOOP
        EXECUTE format('CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON %I.%I EXECUTE FUNCTION public.full_disk()',
                       each.schemaname, each.tablename);
      END LOOP; END $$`)

const emptyDisk: Work = (client) => client.query('DROP FUNCTION IF EXISTS public.full_disk() CASCADE')

const readOnly =
  (value: 'on' | 'off'): Work =>
  async (client) => {
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await client.query('SELECT pg_reload_conf()')
  }

const lastingMs = 2_000
const connectionsOfAll = 70

export function waysToLose(server: PostgresServer, url: string): readonly WayToLose[] {
  const lasting = (name: string, begin: Work, end: Work): WayToLose => ({
    name,
    isQuick: false,
    async lose() {
      await insist(url, begin)
      await passing(lastingMs)
      await insist(url, end)
    },
  })
  const quick = (name: string, lose: () => Promise<unknown>): WayToLose => ({
    name,
    isQuick: true,
    lose: async () => void (await lose()),
  })
  return [
    quick('some connections ended', () => asAdministrator(url, endSome(0.4))),
    quick('all connections ended', () => asAdministrator(url, endSome(1))),
    quick('all statements cancelled', () => asAdministrator(url, cancelAll)),
    quick('crashed', () => server.restartImmediately()),
    lasting('read only', readOnly('on'), readOnly('off')),
    lasting('disk full', fillDisk, emptyDisk),
    { name: 'too many connections', isQuick: false, lose: () => crowd(url) },
    { name: 'frozen', isQuick: false, lose: () => freeze(server) },
  ]
}

async function freeze(server: PostgresServer): Promise<void> {
  server.process.kill('SIGSTOP')
  await passing(lastingMs)
  server.process.kill('SIGCONT')
}

/** Takes all connections that the server has, those of the program included. */
async function crowd(url: string): Promise<void> {
  const clients = Array.from({ length: connectionsOfAll }, () => new pg.Client({ connectionString: url }))
  for (const [index, client] of clients.entries()) {
    client.on('error', () => {})
    if (index % 20 === 0) await asAdministrator(url, endSome(1))
    await client.connect().catch(() => {})
  }
  await passing(lastingMs)
  await Promise.all(clients.map((client) => client.end().catch(() => {})))
}

const maxAttempts = 200

/** Until it is done: the database may be on its way back. */
async function insist(url: string, work: Work): Promise<void> {
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    if (await asAdministrator(url, work)) return
    await passing(50)
  }
  throw new Error('the database does not come back')
}

function passing(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}
