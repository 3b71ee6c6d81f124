import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, temporaryFolder, testWith } from '@gatehouse/testing'
import { type EventLoad, loadConfiguration, sendEvents, shopToken, writeTemplate } from '../support/load.ts'
import { launch, type Program, root, started } from '../support/program.ts'

/** Migrations of a version to come, by package and name. */
type Migrations = Readonly<Record<string, string>>

const compatible: Migrations = {
  'notify/9000-a-note.sql': "ALTER TABLE notify.notification ADD COLUMN note text NOT NULL DEFAULT '';",
  'notify/9001-by-event.sql':
    "CREATE INDEX CONCURRENTLY notification_event ON notify.notification (bucket, event, id) WHERE note <> 'x';",
  'identity/9000-a-note.sql': 'ALTER TABLE identity.session ADD COLUMN note text;',
}
const breaking: Migrations = {
  ...compatible,
  'notify/9002-no-note.sql': '-- breaks older versions\nALTER TABLE notify.notification DROP COLUMN note;',
}

/** A copy of this program that knows migrations of its own. */
function versionWith(migrations: Migrations): string {
  const folder = temporaryFolder('version')
  const left = new Set(['node_modules', '.git', 'data'])
  for (const name of readdirSync(root))
    if (!left.has(name))
      cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => basename(path) !== 'test' })
  mkdirSync(join(folder, 'node_modules/@gatehouse'), { recursive: true })
  const installed = join(root, 'node_modules')
  for (const name of readdirSync(installed))
    if (!['@gatehouse', '.cache'].includes(name)) symlinkSync(join(installed, name), join(folder, 'node_modules', name))
  cpSync(join(installed, '@gatehouse'), join(folder, 'node_modules/@gatehouse'), {
    recursive: true,
    verbatimSymlinks: true,
  })
  for (const [path, sql] of Object.entries(migrations)) {
    const [name = '', migration = ''] = path.split('/')
    writeFileSync(join(folder, 'packages', name, 'src/postgres/migrations', migration), sql)
  }
  return folder
}

describe('two versions of the program on one database', () => {
  let server: Server | undefined
  let database: Database
  let env: Readonly<Record<string, string>>
  before(async () => {
    server = await startPostgres().catch(() => undefined)
    if (!server) return
    database = await postgresDatabase(server)
    const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
    const path = join(temporaryFolder('versions'), 'gatehouse.yaml')
    writeFileSync(path, loadConfiguration)
    env = {
      GATEHOUSE_CONFIG: path,
      DATABASE_URL: server.url.replace(/[^/]+$/, rows[0]?.name ?? ''),
      ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
    }
  })
  after(async () => {
    await database?.close()
    await server?.stop()
  })

  testWith(
    'postgresql',
    'an older one works beside a newer one, and again after a rollback, and loses nothing',
    async (t) => {
      const newSource = versionWith(compatible)
      const older = await started({ env })
      await writeTemplate(older, 'parcel.moved')
      const first = produce(older, 'first')
      const newer = await started({ env, source: newSource })
      assert.deepEqual(await unfinished(database), [], 'the newer one has migrated under load')
      const second = produce(newer, 'second')
      await accepted([first, second], 100)
      const counts = [await first.stop()]
      assert.equal((await older.stop()).code, 0)
      const third = produce(newer, 'third')
      await accepted([second, third], 100)
      const again = await started({ env })
      t.after(() => again.stop('SIGKILL'))
      const fourth = produce(again, 'fourth')
      await accepted([second, third, fourth], 100)
      counts.push(await second.stop(), await third.stop())
      assert.equal((await newer.stop()).code, 0)
      await accepted([fourth], 100)
      counts.push(await fourth.stop())
      const sum = counts.reduce((all, count) => all + count, 0)
      t.diagnostic(`${sum} events accepted by the two versions`)
      await sent(database, sum)
      await again.stop()
      const { rows } = await database.query<{ items: number; users: number }>(
        'SELECT count(*) AS items, count(DISTINCT user_id) AS users FROM notify.inbox',
      )
      assert.deepEqual(rows, [{ items: sum, users: sum }], 'each event is in the inbox of its user once')
    },
  )

  testWith(
    'postgresql',
    'an older one does not start after a migration that breaks older versions, and says so',
    async () => {
      const newer = await started({ env, source: versionWith(breaking) })
      const older = await launch({ env })
      const { code, stderr } = await older.ended
      assert.equal(code, 1)
      assert.match(stderr, /schema notify is too new for this program: 9002-no-note\.sql breaks older versions/)
      assert.equal((await newer.stop()).code, 0)
    },
  )
})

/** What of the compatible migrations is missing. */
async function unfinished(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT 'notify/' || name AS name FROM notify.migration UNION SELECT 'identity/' || name FROM identity.migration
      UNION SELECT 'valid' FROM pg_index WHERE indexrelid = to_regclass('notify.notification_event') AND indisvalid`,
  )
  const done = new Set(rows.map(({ name }) => name))
  return [...Object.keys(compatible), 'valid'].filter((name) => !done.has(name))
}

interface Load {
  /** Events accepted so far. @throws whatever a producer failed with */
  count(): number
  /** Answers how many events were accepted when all that were sent are answered. */
  stop(): Promise<number>
}

/** A steady load: what is accepted while a version starts is delivered before the test ends. */
const pauseOfProducerMs = 20

/** Sends events, each of a user of its own, until it is stopped; any answer but 202 is an error. */
function produce(program: Program, run: string): Load {
  let [count, stopping] = [0, false]
  let failed: unknown
  const load = (token: string): EventLoad => ({
    token,
    producers: 2,
    isStopped: () => stopping,
    eventAt: (index) => ({ event: 'parcel.moved', user_id: `${run}-${index}`, data: {} }),
    async onResponse(answer) {
      assert.equal(answer.status, 202, `${run}: ${await answer.text()}`)
      count++
      await pause(pauseOfProducerMs)
    },
  })
  const running = shopToken(program).then((token) => sendEvents(program, load(token)))
  running.catch((error) => {
    failed = error
  })
  return {
    count() {
      if (failed) throw failed
      return count
    },
    async stop() {
      stopping = true
      await running
      return count
    },
  }
}

/** Resolves when each of these has had so many events more accepted. */
async function accepted(loads: readonly Load[], more: number): Promise<void> {
  const until = loads.map((load) => load.count() + more)
  while (loads.some((load, index) => load.count() < (until[index] ?? 0))) await new Promise(setImmediate)
}

/** Resolves when so many deliveries stand as sent and none is under way. */
async function sent(database: Database, count: number): Promise<void> {
  const state = `SELECT (SELECT count(*) FROM notify.delivery_queue) AS waiting,
                        (SELECT count(*) FROM notify.delivery WHERE state = 'sent') AS sent`
  for (;;) {
    const { rows } = await database.query<{ waiting: number; sent: number }>(state)
    if (rows[0]?.waiting === 0) return assert.equal(rows[0].sent, count)
  }
}
