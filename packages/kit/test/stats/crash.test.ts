import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startPostgres, testWith } from '@gatehouse/testing'
import { type Database, openPostgres, type Queryable, Secret, silentLog } from '../../src/index.ts'
import type { CountingOrder } from '../support/counting-process.ts'

const tables = `CREATE SCHEMA counted;
  CREATE TABLE counted.stat (step integer, measure text, at timestamptz, labels jsonb, value bigint NOT NULL,
    PRIMARY KEY (step, measure, at, labels));
  CREATE TABLE counted.stat_batch (id uuid PRIMARY KEY, at timestamptz NOT NULL);`

/** Resolves when a process reports a step; rejects when it ends before. */
function reported(child: ChildProcess, step: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const listen = (what: unknown) => {
      if (what !== step) return
      child.off('message', listen).off('exit', end)
      resolve()
    }
    const end = () => reject(new Error(`it ended before it was ${step}`))
    child.on('message', listen).once('exit', end)
  })
}

async function startCounting(url: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, '../support/counting-process.ts'), [url])
  await reported(child, 'ready')
  return child
}

async function tell(child: ChildProcess, order: CountingOrder, step: string): Promise<void> {
  const done = reported(child, step)
  child.send(order)
  await done
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const sums = async (database: Database) => {
  const { rows } = await database.query<{ step: number; sum: number }>(
    'SELECT step, sum(value)::bigint AS sum FROM counted.stat GROUP BY step ORDER BY step',
  )
  return rows.map(({ sum }) => sum)
}

/** Writers of a batch that hold a lock or wait for one. */
async function writers(on: Queryable): Promise<number> {
  const { rows } = await on.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM pg_locks
      WHERE pid <> pg_backend_pid() AND relation = 'counted.stat_batch'::regclass`,
  )
  return rows[0]?.count ?? 0
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(20_000)
  while (!(await holds())) deadline.throwIfAborted()
}

testWith(
  'postgresql',
  'a process that is killed loses what it counted since its last write, and no more',
  async (t) => {
    const server = await startPostgres()
    const database = await openPostgres({ url: new Secret(server.url), log: silentLog, connections: 1 })
    const children: ChildProcess[] = []
    t.after(async () => {
      for (const child of children) child.kill('SIGKILL')
      await database.close()
      await server.stop()
    })
    for (const statement of tables.split(';\n')) await database.query(statement)
    const start = async () => {
      const child = await startCounting(server.url)
      children.push(child)
      return child
    }

    const first = await start()
    await tell(first, { count: 5 }, 'counted')
    await tell(first, 'write', 'written')
    await tell(first, { count: 3 }, 'counted')
    await kill(first)
    assert.deepEqual(await sums(database), [5, 5], 'a minute and an hour, of what was written')

    const second = await start()
    await tell(second, { count: 7 }, 'counted')
    await database.transaction(async (tx) => {
      await tx.query('LOCK TABLE counted.stat_batch IN ACCESS EXCLUSIVE MODE')
      await tell(second, 'write', 'writing')
      await until(async () => (await writers(tx)) === 1)
      await kill(second)
    })
    await until(async () => (await writers(database)) === 0)
    const [minutes = 0, hours] = await sums(database)
    assert.ok([5, 12].includes(minutes), `its last write counts once or not at all, not ${minutes}`)
    assert.equal(hours, minutes, 'a batch is written as a whole')

    const third = await start()
    await tell(third, { count: 2 }, 'counted')
    await tell(third, 'write', 'written')
    assert.deepEqual(await sums(database), [minutes + 2, minutes + 2], 'who comes after it adds its own')
    await kill(third)
  },
)
